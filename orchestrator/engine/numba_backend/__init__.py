"""numba back end: the only package that depends on internals of numba.

`compiler` is its interface; `llvm_attributes` names fields in LLVM's code for other packages.
"""
