"""Target `gateware`: nodes in Verilog, as Verilated models in virtual time."""
