"""`tailback prove`: kernels as terms, what of them can run over, and RTL beside them."""
