"""Comparison of two or more runs: metrics, queue distributions, time of divergence."""

from traces.compare.compare import compare
from traces.compare.found import Comparison
from traces.compare.text import show

__all__ = ["Comparison", "compare", "show"]
