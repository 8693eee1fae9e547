"""Panel of a figure: its curves or bars, the paper's published values, its axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from orchestrator.plan.drawable_metrics import OF, SCALES, scale_of, unit_of, value_of
from orchestrator.plan.figure_tables import Figure, Published
from orchestrator.plan.metric_registry import SECONDS, axis_label
from orchestrator.plan.units import DURATION
from traces.figures import curves
from traces.figures.companion_runs import CompanionRuns
from traces.figures.figure_style import DASHES, INK, SERIES
from traces.metrics.sample_table import PS, RUN_PHASE
from traces.run_reader import Run
from traces.time_series import envelope

POINTS = 600
"""Buckets of a curve: a figure in a column has fewer pixels across than a page."""
PAPER = ", paper"
"""Suffix of the labels of published values."""


@dataclass(frozen=True)
class Series:
    """One curve, or the bars of one label: values in SI units; NaN where there is none."""

    label: str
    x: np.ndarray
    y: np.ndarray

    @property
    def called(self) -> str:
        """The label, with a note where the series has no values."""
        return self.label if np.isfinite(self.y).any() or not self.label else f"{self.label}: none"


@dataclass(frozen=True)
class Panel:
    """A panel of one run."""

    figure: Figure
    run: Run
    title: str
    series: list[Series]
    places: list[str]
    """Names of the places along the axis, unless it is time or a value."""

    @property
    def over_time(self) -> bool:
        """True if time is along its axis."""
        return self.figure.kind == "lines" and self.figure.x == "time"


def of(figure: Figure, run: Run, title: str, companions: CompanionRuns) -> Panel:
    """A panel with its values; entities that the run lacks have none."""
    found = [companions.split(text) for text in figure.of]
    labels = list(figure.labels) or ([""] if figure.x == "of" else list(figure.of))
    if figure.x == "time":
        draw = _distributed if figure.kind == "cdf" else _timed
        series = [
            Series(label, *draw(figure, other, name))
            for label, (other, name) in zip(labels, found, strict=True)
        ]
        return Panel(figure, run, title, series, [])
    phases = list(figure.phases) or list(run.phases)
    each = len(found) // max(len(labels), 1) if figure.x == "of" else 1
    rows = [found[at * each : (at + 1) * each] for at in range(len(labels))]
    across = phases if figure.x == "phase" else [figure.phase]
    x = np.arange(len(across) * each, dtype=float)
    series = [
        Series(label, x, np.array([_measured(figure, o, n, p) for p in across for o, n in row]))
        for label, row in zip(labels, rows, strict=True)
    ]
    default = phases if figure.x == "phase" else [text.partition(OF)[0] for text in figure.of]
    return Panel(figure, run, title, series, list(figure.levels) or default[: len(x)])


def _timed(figure: Figure, run: Run | None, name: str) -> curves.Curve:
    if run is None:
        return curves.NOTHING
    curve = curves.over_time(run, name, figure.y, figure.window)
    if figure.phase != RUN_PHASE:
        curve = curves.within(curve, curves.span_of(run, figure.phase))
    return curve


def _distributed(figure: Figure, run: Run | None, name: str) -> curves.Curve:
    if run is None:
        return curves.NOTHING
    return curves.distribution(run, name, figure.y, figure.phase)


def _measured(figure: Figure, run: Run | None, name: str, phase: str) -> float:
    return float("nan") if run is None else curves.metric(run, name, figure.y, phase)


def description(figure: Figure) -> str:
    """Description of the panel's values."""
    return figure.y_label or axis_label(figure.y)


def line_style(index: int) -> dict[str, Any]:
    """Colour and dashes of a curve: no two of 32 look alike."""
    dashes = DASHES[(index // len(SERIES)) % len(DASHES)]
    return {"color": SERIES[index % len(SERIES)], "linestyle": dashes}


def common_labels(shown: Sequence[Panel]) -> list[str]:
    """The labels of one legend for all panels; none where they would mean different curves."""
    plots = [panel for panel in shown if panel.figure.kind != "table"]
    curves_of = [[one.label for one in panel.series] for panel in plots]
    if not plots or any(labels != curves_of[0] for labels in curves_of):
        return []
    found = list(dict.fromkeys(label for panel in plots for label in labels(panel)))
    return found if len(found) > 1 else []


def line_styles(places: Sequence[Axes]) -> dict[str, Any]:
    """Label -> how it is drawn, in some axes; the first where several are called the same."""
    found: dict[str, Any] = {}
    for axes in places:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return found


def labels(panel: Panel) -> list[str]:
    """Legend labels of a panel."""
    drawn = [one.called for one in panel.series if one.label]
    return drawn + [published_label(one) for one in panel.figure.published]


def published_label(one: Published) -> str:
    """Legend label of the paper's published values."""
    return f"{one.label or one.note}{PAPER}" if one.label or one.note else PAPER.strip(", ")


def unit_name(panel: Panel) -> tuple[str, float]:
    """(name, SI units of one) of the unit that the panel's values are shown in."""
    unit = unit_of(panel.figure)
    if panel.figure.y_unit:
        return panel.figure.y_unit, SCALES[unit.symbol][panel.figure.y_unit]
    values = [one.x if panel.figure.kind == "cdf" else one.y for one in panel.series]
    tops = [float(np.nanmax(v)) for v in values if np.isfinite(v).any()]
    ends = [value_of(end, unit) for end in (panel.figure.y_range or ())[1:]]
    return scale_of(unit, max([*ends, *([] if ends else tops)], default=0.0))


def with_unit(text: str, unit: str) -> str:
    """An axis' label."""
    return f"{text} ({unit.replace('us', 'µs')})" if unit else text


def draw(axes: Axes, panel: Panel) -> None:
    """Draw a panel that is no table."""
    unit, one = unit_name(panel)
    kind = panel.figure.kind
    if kind == "cdf":
        _cdf(axes, panel, unit, one)
    else:
        if panel.over_time:
            _over_time(axes, panel, one)
        else:
            _draw_named_points(axes, panel, one)
        axes.set_ylabel(with_unit(description(panel.figure), unit))
        _bounds(axes, panel, one)


def _bounds(axes: Axes, panel: Panel, one: float) -> None:
    if panel.figure.y_range is not None:
        unit = unit_of(panel.figure)
        axes.set_ylim(*(value_of(end, unit) / one for end in panel.figure.y_range))
        return
    top = max((float(np.nanmax(s.y)) for s in panel.series if np.isfinite(s.y).any()), default=0.0)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.02 if top > 0 else 1)


def _over_time(axes: Axes, panel: Panel, one: float) -> None:
    begin, end = (time / PS for time in curves.span_of(panel.run, panel.figure.phase))
    if panel.figure.x_range is not None:
        begin, end = (DURATION.parse(value) / PS for value in panel.figure.x_range)
    name = panel.figure.x_unit or scale_of(SECONDS, end)[0]
    second = SCALES[SECONDS.symbol][name]
    for index, series in enumerate(panel.series):
        times, values = _shown(series)
        ink = line_style(index)
        axes.plot(times / second, values / one, label=series.called, linewidth=0.9, zorder=2, **ink)
    unit = unit_of(panel.figure)
    for said in panel.figure.published:
        value = value_of(said.values[0], unit) / one
        place = said.from_ / PS if said.from_ is not None else begin
        until = said.to / PS if said.to is not None else end
        ink, label = _ink(panel, said), published_label(said)
        axes.plot([place / second, until / second], [value] * 2, label=label, **ink, **BESIDE)
    axes.set_xlim(begin / second, end / second)
    axes.set_xlabel(with_unit(panel.figure.x_label or "time", name))


BESIDE: dict[str, Any] = {"linestyle": (0, (1, 1)), "linewidth": 1.5, "alpha": 0.85, "zorder": 3}
"""A published value over time: dots that no curve has."""
MARK: dict[str, Any] = {"linestyle": "none", "marker": "D", "markersize": 4.5, "zorder": 4}
"""Published values at places."""


def _shown(series: Series) -> curves.Curve:
    """A curve cut down; where it has gaps, every value is kept instead."""
    if np.isfinite(series.y).all():
        return envelope(series.x, series.y, POINTS)
    return series.x, series.y


def _ink(panel: Panel, said: Published) -> dict[str, Any]:
    labels = [series.label for series in panel.series]
    return {"color": SERIES[labels.index(said.label) % len(SERIES)] if said.label else INK}


def _draw_named_points(axes: Axes, panel: Panel, one: float) -> None:
    """Bars, or lines with a mark, at named places."""
    count, drawn = len(panel.places), max(len(panel.series), 1)
    width = 0.8 / drawn
    shift = {
        series.label: (index - (drawn - 1) / 2) * width if panel.figure.kind == "bars" else 0.0
        for index, series in enumerate(panel.series)
    }
    for index, series in enumerate(panel.series):
        ink = line_style(index)
        if panel.figure.kind == "bars":
            face = to_rgba(ink["color"], 0.75)
            x = series.x + shift[series.label]
            axes.bar(x, series.y / one, width * 0.92, color=face, label=series.called, zorder=2)
            for place in x[series.y == 0]:  # a bar of no height is invisible
                axes.annotate("0", (place, 0), (0, 1), textcoords="offset points", ha="center")
        else:
            axes.plot(
                series.x, series.y / one, marker="o", markersize=4, label=series.called, **ink
            )
    unit = unit_of(panel.figure)
    for said in panel.figure.published:
        values = [value_of(value, unit) / one for value in said.values]
        spots = [place + shift.get(said.label, 0.0) for place in range(count)]
        ink = _ink(panel, said)
        label = published_label(said)
        axes.plot(spots, values, label=label, markerfacecolor="none", **ink, **MARK)
    axes.set_xticks(range(count), panel.places)
    axes.set_xlim(-0.6, count - 0.4)
    default = "phase" if panel.figure.x == "phase" and not panel.figure.levels else ""
    axes.set_xlabel(panel.figure.x_label or default)


def _cdf(axes: Axes, panel: Panel, unit: str, one: float) -> None:
    for index, series in enumerate(panel.series):
        step = max(len(series.x) // POINTS, 1)
        x, share = series.x[step - 1 :: step], series.y[step - 1 :: step]
        axes.step(x / one, share, where="post", label=series.called, **line_style(index))
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.03)
    axes.set_ylabel("share not larger")
    axes.set_xlabel(with_unit(description(panel.figure), unit))
