"""Registers, declared once: see declaration, maps, verilog, page, window."""
