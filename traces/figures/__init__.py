"""Figures of runs, with matplotlib's objects (no global state, no window system)."""

import traces.figures.lean_matplotlib  # noqa: F401  # before anything else imports matplotlib
from traces.figures.completion_figure import completion_figure
from traces.figures.figure_style import inline, pdf, png, svg
from traces.figures.marking_figure import marking_figure
from traces.figures.paper_table import caption, rows_of
from traces.figures.plan_figures import Drawn, draw, draw_plots, metric_bars, planned, queue_panels
from traces.figures.queue_figure import bottlenecks, paper_figure
from traces.figures.run_overlay import overlay_figure
from traces.figures.state_figure import columns_with_values, state_figure

__all__ = [
    "Drawn",
    "bottlenecks",
    "caption",
    "columns_with_values",
    "completion_figure",
    "draw",
    "draw_plots",
    "inline",
    "marking_figure",
    "metric_bars",
    "overlay_figure",
    "paper_figure",
    "pdf",
    "planned",
    "png",
    "queue_panels",
    "rows_of",
    "state_figure",
    "svg",
]
