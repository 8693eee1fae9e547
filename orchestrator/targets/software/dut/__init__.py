"""Devices under test (DUT) between the nodes of a run: interfaces, probes, losses."""
