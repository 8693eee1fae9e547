"""RTL coverage: lines and branches of algorithms' Verilog that runs reach, by Verilator."""
