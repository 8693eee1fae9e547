"""Devices of others between the nodes of a run: interfaces, probes, what came of them."""
