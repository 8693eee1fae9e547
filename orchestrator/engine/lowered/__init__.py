"""What numba and LLVM have to be told to compile functions: imported when one is compiled."""
