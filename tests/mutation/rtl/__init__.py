"""Mutants of the Verilog cores: `mutate` of yosys, tried by the cores' own benches.

Yosys changes single bits between the cells of a module, not its text: a bit is stuck at 0 or 1, is
inverted, or is inverted where another bit of the same port is 0 or 1. All changes are in one
design, of which a number chooses one: it is compiled once.
"""
