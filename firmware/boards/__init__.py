"""Boards that the gateware is built for, in the vendors' flows, next to the shells' sources."""
