"""Verilated nodes: built once and kept, joined by links, clocked in batches."""
