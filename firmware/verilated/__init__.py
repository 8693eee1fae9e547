"""Verilated nodes: built once and cached, joined by links, clocked in batches."""
