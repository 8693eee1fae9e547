"""The controller: the inventory, plans mapped onto machines, runs across them."""
