"""State figure: state columns of algorithms over time, a panel for each, a curve for each
entity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from orchestrator.plan.drawable_metrics import scale_of as axis_scale
from orchestrator.plan.metric_registry import RATIO, Unit
from orchestrator.plan.observables import scale_of, unit_of
from orchestrator.recording import Column
from traces.figures import annotations as figures_annotations
from traces.figures.figure_style import SERIES, stacked, styled, time_axis
from traces.figures.queue_figure import legend
from traces.metrics.sample_table import PS
from traces.run_reader import Run
from traces.time_series import envelope

MOST_CURVES = len(SERIES)
"""Places that are drawn of each: those that move the most."""
HEIGHT = 1.5


def columns_with_values(run: Run) -> dict[str, list[Column]]:
    """Name of what is shown -> its columns that ever are anything but 0."""
    found: dict[str, list[Column]] = {}
    for column in run.table.brought.values():
        if run.table.column(column.entity, column.quantity).any():
            found.setdefault(column.metric, []).append(column)
    return found


def state_figure(run: Run) -> Figure:
    """All that `columns_with_values` gives; the run has some."""
    every = columns_with_values(run)
    with styled():
        figure, panels = stacked([HEIGHT] * len(every), title=f"{run.label}: state of algorithms")
        figures_annotations.phases(panels, run.phases)
        for panel, (metric, columns) in zip(panels, every.items(), strict=True):
            unit = unit_of_columns(metric, columns)
            curves = {column.entity: _values(run, column) for column in most_variable(run, columns)}
            top = max(float(values.max()) for _, values in curves.values())
            name, one = axis_scale(unit, top)
            for place, (entity, (times, values)) in enumerate(curves.items()):
                ink = SERIES[place]
                panel.plot(times, values / one, color=ink, linewidth=0.8, label=entity, zorder=2)
            panel.set_ylabel(f"{metric.partition('.')[2]} ({name})" if name else metric)
            legend(panel, over_phases=panel is panels[0] and bool(run.phases))
        panels[0].set_xlim(run.times_ps[0] / PS, run.times_ps[-1] / PS)
        time_axis(panels[-1], run.times_ps[-1] / PS)
    return figure


def most_variable(run: Run, columns: Sequence[Column]) -> list[Column]:
    """Those `MOST_CURVES` columns whose values have the widest range, in their order."""

    def swing(column: Column) -> int:
        values = run.table.column(column.entity, column.quantity)
        return int(values.max()) - int(values.min())

    chosen = sorted(columns, key=swing, reverse=True)[:MOST_CURVES]
    return [column for column in columns if column in chosen]


def _values(run: Run, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """(s, value in SI units), as many as a figure shows."""
    times, values = envelope(*gauge_samples(run, column))
    return times / PS, values * scale_of(column.unit)


def gauge_samples(run: Run, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """(ps, value in the column's unit) from where the gauge is known on."""
    times, values = run.times_ps, run.table.column(column.entity, column.quantity)
    known = run.table.validity(column.entity, column.quantity)
    if known is not None and known.any():
        times, values = times[known], values[known]
    return times, values


def unit_of_columns(metric: str, columns: Sequence[Column]) -> Unit:
    """Unit of the axis of what `columns_with_values` gives."""
    return RATIO if columns[0].unit not in ("1", "B", "ps", "bit/s") else unit_of(metric)
