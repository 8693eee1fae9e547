"""Figures of runs, with matplotlib's objects (no global state, no window system)."""

import traces.figures.quick  # noqa: F401  # before anything else imports matplotlib
from traces.figures.completion import completion_figure
from traces.figures.drawing import Drawn, draw, draw_plots, of_queue, planned
from traces.figures.overlay import overlay_figure
from traces.figures.paper import bottlenecks, paper_figure
from traces.figures.state import shown, state_figure
from traces.figures.style import inline, pdf, png, svg
from traces.figures.tabled import caption, rows_of

__all__ = [
    "Drawn",
    "bottlenecks",
    "caption",
    "completion_figure",
    "draw",
    "draw_plots",
    "inline",
    "of_queue",
    "overlay_figure",
    "paper_figure",
    "pdf",
    "planned",
    "png",
    "rows_of",
    "shown",
    "state_figure",
    "svg",
]
