"""Runs on several machines: agents host nodes, a controller runs plans across them."""
