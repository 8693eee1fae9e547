"""Two or more runs side by side: every metric, the queues' distributions, where they part."""

from traces.compare.compare import compare
from traces.compare.found import Comparison
from traces.compare.text import show

__all__ = ["Comparison", "compare", "show"]
