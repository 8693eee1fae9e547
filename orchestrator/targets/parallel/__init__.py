"""Parallel simulation of one run on several cores."""
