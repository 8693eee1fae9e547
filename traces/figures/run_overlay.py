"""Overlay of several runs: queue and utilisation of one port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from orchestrator.plan.drawable_metrics import scale_of
from orchestrator.plan.metric_registry import BYTES
from orchestrator.terminal.format_output import quantity
from traces.figures import annotations as figures_annotations
from traces.figures.curves import window_ps
from traces.figures.figure_style import DASHES, INK, SERIES, stacked, styled, time_axis
from traces.figures.queue_figure import UTILIZATION_PS, legend
from traces.metrics.sample_table import PS
from traces.run_reader import Run
from traces.time_series import envelope, utilization, window_rows


def overlay_figure(
    runs: Sequence[Run], port: str, labels: Sequence[str], parting_ps: int | None = None
) -> Figure:
    """Queue and utilisation of `port` in all runs; `parting_ps` is marked when given."""
    with styled():
        figure, panels = stacked((2.6, 1.8), title=f"{port}: {len(runs)} runs")
        figures_annotations.phases(panels, runs[0].phases)
        if runs[0].table.has(port, "service_rate"):
            figures_annotations.steps(panels, runs[0].table, port, "service_rate")
        top = max(float(run.table.column(port, "queue_bytes").max(initial=0)) for run in runs)
        unit, one = scale_of(BYTES, top)
        for index, (run, label) in enumerate(zip(runs, labels, strict=True)):
            look: dict[str, Any] = {
                "color": SERIES[index % len(SERIES)],
                "alpha": 0.85,
                "zorder": 2 + index / 100,
            }
            times, queue = envelope(run.times_ps, run.table.column(port, "queue_bytes"), 600)
            panels[0].plot(times / PS, queue / one, linewidth=0.8, label=label, **look)
            if run.table.has(port, "service_rate") and run.table.has(port, "bytes_out"):
                rows = window_rows(run.table, window_ps(run, UTILIZATION_PS))
                curve = envelope(*utilization(run.table, port, rows))
                look |= {"linestyle": DASHES[index % len(DASHES)]}  # such curves often coincide
                panels[1].plot(*curve, linewidth=1.0, **look)
        if port in runs[0].set_points:
            aim = runs[0].set_points[port]
            figures_annotations.set_point(panels[0], aim / one, f"set point {quantity(aim, 'B')}")
        if parting_ps is not None:
            for panel in panels:
                panel.axvline(parting_ps / PS, color=INK, linewidth=1.2, zorder=1)
            panels[1].annotate(
                "they part here",
                (parting_ps / PS, 0.06),
                xycoords=panels[1].get_xaxis_transform(),
                xytext=(4, 0),
                textcoords="offset points",
                size=8.5,
            )
        panels[0].set_ylim(0, top / one * 1.08 or 1)
        panels[0].set_ylabel(f"queue ({unit})")
        panels[1].set_ylim(0, 1.1)
        panels[1].set_ylabel("utilisation (ratio)")
        end = max(int(run.times_ps[-1]) for run in runs)
        panels[0].set_xlim(runs[0].times_ps[0] / PS, end / PS)
        time_axis(panels[-1], end / PS)
        legend(panels[0], over_phases=bool(runs[0].phases))
    return figure
