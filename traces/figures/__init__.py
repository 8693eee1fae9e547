"""Figures of runs, with matplotlib's objects (no global state, no window system)."""

import traces.figures.lean_matplotlib  # noqa: F401  # before anything else imports matplotlib
from traces.figures.completion_figure import completion_figure
from traces.figures.plan_figures import draw, draw_plots, Drawn, planned, queue_panels
from traces.figures.run_overlay import overlay_figure
from traces.figures.queue_figure import bottlenecks, paper_figure
from traces.figures.state_figure import columns_with_values, state_figure
from traces.figures.figure_style import inline, pdf, png, svg
from traces.figures.paper_table import caption, rows_of

__all__ = [
    "Drawn",
    "bottlenecks",
    "caption",
    "completion_figure",
    "draw",
    "draw_plots",
    "inline",
    "queue_panels",
    "overlay_figure",
    "paper_figure",
    "pdf",
    "planned",
    "png",
    "rows_of",
    "columns_with_values",
    "state_figure",
    "svg",
]
