"""An algorithm's own Verilog against its kernels: random sequences of events, run on both."""
