"""Intrinsics for numba and LLVM, imported when a function is compiled."""
