"""Targets on which the nodes of a plan run: one module per target."""
