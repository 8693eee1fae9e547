"""Figures of runs, with matplotlib's objects (no global state, no window system)."""

from traces.figures.completion import completion_figure
from traces.figures.overlay import overlay_figure
from traces.figures.paper import bottlenecks, paper_figure
from traces.figures.style import inline, png, svg

__all__ = [
    "bottlenecks",
    "completion_figure",
    "inline",
    "overlay_figure",
    "paper_figure",
    "png",
    "svg",
]
