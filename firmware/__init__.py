"""Gateware for QCN: Verilog, its registers, and the tools that simulate and synthesise it."""
