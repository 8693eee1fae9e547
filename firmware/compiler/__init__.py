"""Compiler of kernels to Verilog: intermediate form, widths, state machine."""
