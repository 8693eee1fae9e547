"""Figures that a plan defines: each of a paper's figures with its panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from orchestrator.plan.drawable_metrics import OF
from orchestrator.plan.figure_tables import Figure
from traces.figures import panels, paper_table
from traces.figures.companion_runs import CompanionRuns
from traces.figures.figure_style import styled
from traces.figures.flows_through_port import flows_through
from traces.figures.panels import Panel
from traces.figures.queue_figure import names
from traces.metrics.sample_table import RUN_PHASE
from traces.run_reader import Run

WIDTH = 7.0
"""Inches, by default."""
TWO_COLUMNS = 5.5
"""Inches from which four panels or more stand in two columns."""
SMALL = 4.5
"""Inches below which text is a point smaller, as a column of a paper has it."""
HEIGHT, LOWEST = 0.42, 1.65
"""Of a panel: share of its width; at least, in inches."""
LINE = 0.2
"""Inches of one line of a legend."""
MOST_CURVES = 8
"""Flows that a general figure draws one by one."""
PER_LETTER, PER_ENTRY = 0.075, 0.45
"""Inches that a legend takes, for how many entries fit side by side."""


@dataclass(frozen=True)
class Drawn:
    """One figure of the paper."""

    title: str
    caption: str
    panels: list[Panel]
    notes: list[str] = field(default_factory=list)
    """Notes on what is not drawn, with the command that changes that."""

    @property
    def tables(self) -> list[Panel]:
        """The panels that are tables."""
        return [panel for panel in self.panels if panel.figure.kind == "table"]

    @property
    def plots(self) -> list[Panel]:
        """The others."""
        return [panel for panel in self.panels if panel.figure.kind != "table"]

    @property
    def called(self) -> str:
        """Entity of each label, where they differ."""
        pairs = {
            (label, text)
            for panel in self.panels
            if len(panel.figure.labels) == len(panel.figure.of)
            for label, text in zip(panel.figure.labels, panel.figure.of, strict=True)
            if label != text and OF not in text
        }
        said = ", ".join(f"{label} is {text}" for label, text in sorted(pairs))
        return f"In results {said}." if said else ""

    @property
    def label(self) -> str:
        """Alternative text of the figure."""
        shown = dict.fromkeys(panels.description(panel.figure) for panel in self.panels)
        return f"{self.title}: {', '.join(shown)}"


def planned(run: Run) -> list[Drawn]:
    """The figures of the run's plan, in order; panels of one title are one figure."""
    groups: dict[str, list[Figure]] = {}
    for figure in run.figures:
        title = figure.title or str(run.plan.get("paper") or run.plan.get("title") or "")
        groups.setdefault(title or run.result.plan, []).append(figure)
    return [_gathered(run, title, figures) for title, figures in groups.items()]


def _gathered(run: Run, title: str, figures: list[Figure]) -> Drawn:
    companions = CompanionRuns(run)
    found = [panel for figure in figures for panel in _panels(run, figure, companions)]
    caption = " ".join(dict.fromkeys(figure.caption for figure in figures if figure.caption))
    return Drawn(title, caption, found, companions.missing + companions.foreign)


def _panels(run: Run, figure: Figure, companions: CompanionRuns) -> list[Panel]:
    """A panel of this run; or one of each run that the figure is drawn of."""
    if not figure.with_:
        return [panels.of(figure, run, figure.panel, companions)]
    plans = list(figure.with_)
    names = list(figure.variants) or plans
    if run.result.plan not in plans:
        plans, names = [run.result.plan, *plans], [run.label, *names]
    found = []
    for plan, name in zip(plans, names, strict=True):
        other = companions.of(plan)
        if other is not None:
            title = f"{figure.panel} {name}".strip()
            found.append(panels.of(figure, other, title, CompanionRuns(other)))
    return found


def queue_panels(run: Run, port: str) -> Drawn:
    """The general figure of a port, or of an input, by the same means: it takes any width."""
    companions = CompanionRuns(run)
    asked = [Figure(y="queue_bytes", of=[port])]
    if run.table.has(port, "service_rate"):
        asked.append(Figure(y="utilization", of=[port]))
    flows = flows_through(run, port)[:MOST_CURVES]
    if flows:
        called = names(run)
        labels = [called.get(flow, flow) for flow in flows]
        asked.append(Figure(y="throughput_bps", of=flows, labels=labels))
    shown = [panels.of(figure, run, "", companions) for figure in asked]
    return Drawn(f"queue of {port}", "", shown)


def metric_bars(run: Run, metric: str) -> Canvas | None:
    """Bars of a metric by phase, of the entities with the largest values; None without a value."""
    phases = [phase for phase in run.phases if phase in run.result.metrics] or [RUN_PHASE]
    largest: dict[str, float] = {}
    for phase in phases:
        for entity, metrics in run.result.metrics.get(phase, {}).items():
            value = metrics.get(metric)
            if value is not None:
                largest[entity] = max(abs(float(value)), largest.get(entity, 0.0))
    if not largest:
        return None
    of = sorted(largest, key=lambda entity: (-largest[entity], entity))[:MOST_CURVES]
    if phases == [RUN_PHASE]:
        figure = Figure(kind="bars", x="of", y=metric, of=of)
    else:
        figure = Figure(kind="bars", x="phase", y=metric, of=of, phases=phases)
    return _laid_out([panels.of(figure, run, "", CompanionRuns(run))], WIDTH)


def draw(drawn: Drawn, width: float | None = None) -> Canvas:
    """All panels of a figure, `width` inches wide."""
    width = width or WIDTH
    return _laid_out(drawn.panels, width)


def draw_plots(drawn: Drawn, width: float = WIDTH) -> Canvas:
    """The panels that are no tables: for pages that have tables of their own."""
    return _laid_out(drawn.plots, width)


def _laid_out(shown: Sequence[Panel], width: float) -> Canvas:
    below = panels.common_labels(shown)
    columns = 2 if len(shown) >= 4 and width >= TWO_COLUMNS and below else 1
    rows = math.ceil(len(shown) / columns)
    each = [_height(panel, width / columns) for panel in shown]
    if not below:
        each = [
            one + _lines(panels.labels(p), width) * LINE for p, one in zip(shown, each, strict=True)
        ]
    heights = [max(each[row * columns :][:columns]) for row in range(rows)]
    with styled(7.5 if width < SMALL else 9.0):
        tall = sum(heights) + _lines(below, width) * LINE
        figure = Canvas(figsize=(width, tall), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, height_ratios=heights)
        places: list[Axes] = [axes for row in grid for axes in row]
        for axes in places[len(shown) :]:
            axes.set_axis_off()
        _fill(places[: len(shown)], shown, width / columns, legends=not below)
        _same_axis(places[: len(shown)], columns)
        if below:
            looks = panels.line_styles(places)
            figure.legend(
                [looks[label] for label in below if label in looks],
                [label for label in below if label in looks],
                loc="outside lower center",
                ncols=_columns(below, width),
            )
    return figure


def _fill(places: Sequence[Axes], shown: Sequence[Panel], width: float, *, legends: bool) -> None:
    """Draw every panel; with `legends` the first of each set of labels has one above it."""
    explained: list[list[str]] = []
    for axes, panel in zip(places, shown, strict=True):
        if panel.figure.kind == "table":
            paper_table.draw(axes, panel)
            continue
        panels.draw(axes, panel)
        looks = panels.line_styles([axes])
        if legends and len(looks) > 1 and list(looks) not in explained:
            explained.append(list(looks))
            axes.legend(
                list(looks.values()),
                list(looks),
                title=panel.title,
                alignment="left",
                loc="lower left",
                bbox_to_anchor=(-0.02, 1.0),
                ncols=_columns(list(looks), width),
            )
        else:
            axes.set_title(panel.title, loc="left")


def _same_axis(places: Sequence[Axes], columns: int) -> None:
    """Remove axis labels that repeat: of stacked panels with one axis the lowest has the label."""
    for above, below in zip(places, places[columns:], strict=False):
        same = above.get_xlabel() == below.get_xlabel() and above.get_xlim() == below.get_xlim()
        if same and above.lines and below.lines and not below.get_legend():
            above.set_xlabel("")


def _height(panel: Panel, width: float) -> float:
    if panel.figure.kind == "table":
        return paper_table.height(panel)
    return max(HEIGHT * width, LOWEST) * (1.0 if panel.figure.y != "utilization" else 0.75)


def _columns(labels: Sequence[str], width: float) -> int:
    """Number of legend entries that fit side by side."""
    longest = max(len(label) for label in labels)
    return max(min(int(width / (PER_LETTER * longest + PER_ENTRY)), len(labels)), 1)


def _lines(labels: Sequence[str], width: float) -> int:
    """Lines that a legend below takes."""
    return math.ceil(len(labels) / _columns(labels, width)) if len(labels) > 1 else 0
