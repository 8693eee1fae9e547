"""Comparison of an algorithm's own Verilog with its kernels on random sequences of events."""
