"""The figures that a plan asks for, drawn: each of a paper's figures with its panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orchestrator.plan.figures import Figure
from traces.figures import panels, tabled
from traces.figures.beside import Beside
from traces.figures.panels import Panel
from traces.figures.style import styled
from traces.runs import Run

WIDTH = 7.0
"""Inches, where nobody says otherwise."""
TWO_COLUMNS = 5.5
"""Inches from which four panels or more stand in two columns."""
SMALL = 4.5
"""Inches below which text is a point smaller, as a column of a paper has it."""
HEIGHT, LOWEST = 0.42, 1.35
"""Of a panel: share of its width; at least, in inches."""
PER_LETTER, PER_ENTRY = 0.075, 0.45
"""Inches that a legend takes, for how many entries fit side by side."""


@dataclass(frozen=True)
class Drawn:
    """One figure of the paper."""

    title: str
    caption: str
    panels: list[Panel]
    notes: list[str] = field(default_factory=list)
    """What is not drawn, and the command that changes that."""

    @property
    def tables(self) -> list[Panel]:
        """The panels that are tables."""
        return [panel for panel in self.panels if panel.figure.kind == "table"]

    @property
    def plots(self) -> list[Panel]:
        """The others."""
        return [panel for panel in self.panels if panel.figure.kind != "table"]

    @property
    def label(self) -> str:
        """What it shows, for those who do not see it."""
        shown = dict.fromkeys(panels.words(panel.figure) for panel in self.panels)
        return f"{self.title}: {', '.join(shown)}"


def planned(run: Run) -> list[Drawn]:
    """The figures of the run's plan, in order; panels of one title are one figure."""
    groups: dict[str, list[Figure]] = {}
    for figure in run.figures:
        title = figure.title or str(run.plan.get("paper") or run.plan.get("title") or "")
        groups.setdefault(title or run.result.plan, []).append(figure)
    return [_gathered(run, title, figures) for title, figures in groups.items()]


def _gathered(run: Run, title: str, figures: list[Figure]) -> Drawn:
    beside = Beside(run)
    found = [panel for figure in figures for panel in _panels(run, figure, beside)]
    caption = " ".join(dict.fromkeys(figure.caption for figure in figures if figure.caption))
    return Drawn(title, caption, found, beside.missing + beside.foreign)


def _panels(run: Run, figure: Figure, beside: Beside) -> list[Panel]:
    """A panel of this run; or one of each run that the figure is drawn of."""
    if not figure.with_:
        return [panels.of(figure, run, figure.panel, beside)]
    plans = list(figure.with_)
    names = list(figure.variants) or plans
    if run.result.plan not in plans:
        plans, names = [run.result.plan, *plans], [run.label, *names]
    found = []
    for plan, name in zip(plans, names, strict=True):
        other = beside.of(plan)
        if other is not None:
            title = f"{figure.panel} {name}".strip()
            found.append(panels.of(figure, other, title, Beside(other)))
    return found


def draw(drawn: Drawn, width: float | None = None) -> Canvas:
    """All panels of a figure, `width` inches wide."""
    width = width or WIDTH
    return _laid_out(drawn.panels, width)


def draw_plots(drawn: Drawn, width: float = WIDTH) -> Canvas:
    """The panels that are no tables: for pages that have tables of their own."""
    return _laid_out(drawn.plots, width)


def _laid_out(shown: Sequence[Panel], width: float) -> Canvas:
    columns = 2 if len(shown) >= 4 and width >= TWO_COLUMNS else 1
    rows = math.ceil(len(shown) / columns)
    legend = panels.common_legend(shown)
    heights = [
        max(_height(panel, width / columns) for panel in shown[row * columns :][:columns])
        for row in range(rows)
    ]
    with styled(7.5 if width < SMALL else 9.0):
        below = _lines(legend, width) * 0.2
        figure = Canvas(figsize=(width, sum(heights) + below), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, height_ratios=heights)
        places: list[Axes] = [axes for row in grid for axes in row]
        handles: dict[str, object] = {}
        for axes, panel in zip(places, shown, strict=False):
            if panel.figure.kind == "table":
                tabled.draw(axes, panel)
                continue
            panels.draw(axes, panel)
            mine = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
            handles |= mine
            if not legend and len(mine) > 1:
                axes.legend(ncols=_columns(list(mine), width / columns), loc="best")
        for axes in places[len(shown) :]:
            axes.set_axis_off()
        if len(handles) > 1 and legend:
            figure.legend(
                list(handles.values()),
                list(handles),
                loc="outside lower center",
                ncols=_columns(list(handles), width),
            )
    return figure


def _height(panel: Panel, width: float) -> float:
    if panel.figure.kind == "table":
        return tabled.height(panel)
    return max(HEIGHT * width, LOWEST) * (1.0 if panel.figure.y != "utilization" else 0.75)


def _columns(labels: Sequence[str], width: float) -> int:
    """How many entries of a legend fit side by side."""
    longest = max(len(label) for label in labels)
    return max(min(int(width / (PER_LETTER * longest + PER_ENTRY)), len(labels)), 1)


def _lines(labels: Sequence[str], width: float) -> int:
    """Lines that a legend below takes."""
    return math.ceil(len(labels) / _columns(labels, width)) if len(labels) > 1 else 0
