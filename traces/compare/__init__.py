"""Comparison of two or more runs: metrics, queue distributions, time of divergence."""

from traces.compare.comparison_result import Comparison
from traces.compare.comparison_text import show
from traces.compare.run_comparison import compare

__all__ = ["Comparison", "compare", "show"]
