"""Which lines and branches of algorithms' Verilog runs reach, by Verilator's own counters."""
