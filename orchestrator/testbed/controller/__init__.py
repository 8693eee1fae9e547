"""Controller: inventory, placement of plans on machines, runs across them."""
