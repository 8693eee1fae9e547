"""Host side of the gateware: finds windows through their chain, sets and reads nodes."""
