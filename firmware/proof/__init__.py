"""`tailback prove`: overflow proofs of kernels, and equivalence proofs of RTL and kernels."""
