"""The host's side of the gateware: windows found through their chain, nodes set and read."""
