"""The figure of the papers: queue over time, utilisation below it, and the sources' rates.

After NetFPGA-QCN, figures 8 to 13 (queue size and utilisation); the rates are ours.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from traces.figures import marks
from traces.figures.style import BLUE, DASHES, GREEN, INK, SERIES, VERMILLION, stacked, styled
from traces.metrics.table import PS, WHOLE_RUN, Table
from traces.results import Expectation
from traces.runs import Run
from traces.series import envelope, rate_bps, utilization, window_rows

MAX_PORTS = 4
"""Figures of one run at most: the ports with the longest queues."""
MAX_LINES = len(SERIES)
"""Sources that are drawn one by one; more become a band with their median."""
UTILIZATION_PS = 20 * 10**9
RATES_PS = 50 * 10**9
FEWEST_WINDOWS = 100
"""Short runs get shorter windows, so that there is still a curve."""
KB = 1000.0


def bottlenecks(run: Run) -> list[str]:
    """The ports worth a figure: with a set point if any has one, the longest mean queue first."""
    table = run.table
    mean = {port: float(table.column(port, "queue_bytes").mean()) for port in queues(table)}
    aimed = [port for port in mean if port in run.set_points and mean[port] > 0]
    busy = aimed or [port for port in mean if mean[port] > 0] or list(mean)[:1]
    return sorted(busy, key=lambda port: -mean[port])[:MAX_PORTS]


def queues(table: Table) -> list[str]:
    """Entities with a sampled queue."""
    return list(table.entities("queue_bytes"))


def window_ps(run: Run, wanted: int) -> int:
    """Window that is used for a curve: `wanted`, or a hundredth of a short run."""
    return min(wanted, max(int(run.times_ps[-1] - run.times_ps[0]) // FEWEST_WINDOWS, 1))


def paper_figure(run: Run, port: str) -> Figure:
    """Queue, utilisation and per-source rates of one port of a run."""
    table = run.table
    with styled():
        figure, panels = stacked((2.1, 1.35, 1.9), title=f"{run.label}: {port}")
        spans = run.phases
        marks.phases(panels, spans)
        if table.has(port, "service_rate"):
            marks.steps(panels, table, port, "service_rate")
        wanted = [e for e in run.result.expectations if e.of == port]
        whole = {WHOLE_RUN: (int(run.times_ps[0]), int(run.times_ps[-1]))}
        _queue(panels[0], run, port)
        marks.bands(
            panels[0], _about(wanted, "queue_bytes.mean"), whole | spans, "expected mean", KB
        )
        _utilization(panels[1], run, port)
        marks.bands(panels[1], _about(wanted, "utilization"), whole | spans, "expected")
        _rates(panels[2], run)
        panels[0].set_xlim(run.times_ps[0] / PS, run.times_ps[-1] / PS)
        legend(panels[0], over_phases=bool(spans))
        legend(panels[1])
        legend(panels[2])
    return figure


def _about(expectations: list[Expectation], metric: str) -> list[Expectation]:
    return [one for one in expectations if one.metric == metric]


def legend(panel: Axes, *, over_phases: bool = False) -> None:
    """A legend in one row above the panel's right end, where no curve is."""
    entries = panel.get_legend_handles_labels()[1]
    if not entries:
        return
    panel.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.075 if over_phases else 0.985),
        ncols=min(len(entries), MAX_LINES),
        borderaxespad=0.1,
        columnspacing=1.1,
        handletextpad=0.45,
    )


def _queue(panel: Axes, run: Run, port: str) -> None:
    times, queue = envelope(run.times_ps, run.table.column(port, "queue_bytes"))
    panel.plot(times / PS, queue / KB, color=BLUE, linewidth=0.8, label="queue", zorder=2)
    top = float(queue.max(initial=0)) / KB
    if port in run.set_points:
        aim = run.set_points[port] / KB
        marks.set_point(panel, aim, f"set point {aim:g} KB")
        top = max(top, aim)
    panel.set_ylim(0, top * 1.08 or 1)
    panel.set_ylabel("queue (KB)")


def _utilization(panel: Axes, run: Run, port: str) -> None:
    table = run.table
    if table.has(port, "service_rate") and table.has(port, "bytes_out"):
        rows = window_rows(table, window_ps(run, UTILIZATION_PS))
        times, share = utilization(table, port, rows)
        times, share = envelope(times, share)
        panel.plot(times, share, color=VERMILLION, linewidth=0.9, zorder=2)
    panel.set_ylim(0, 1.1)
    panel.set_yticks([0, 0.5, 1])
    panel.set_ylabel("utilisation (ratio)")


def _rates(panel: Axes, run: Run) -> None:
    """Throughput of each flow at its sink."""
    table = run.table
    flows = list(table.entities("bytes_received"))
    panel.set_ylabel("received (Mb/s)")
    if not flows:
        return
    rows = window_rows(table, window_ps(run, RATES_PS))
    curves = [rate_bps(table, flow, "bytes_received", rows) for flow in flows]
    times, rates = curves[0][0], np.array([rate for _, rate in curves]) / 1e6
    if len(flows) <= MAX_LINES:
        for index, (flow, rate) in enumerate(zip(flows, rates, strict=True)):
            dashes = DASHES[index % 2]
            colour = SERIES[index]
            panel.plot(*envelope(times, rate), color=colour, linestyle=dashes, label=flow)
    else:
        low, high = rates.min(axis=0), rates.max(axis=0)
        panel.fill_between(
            times, low, high, color=GREEN, alpha=0.35, linewidth=0, label=f"all {len(flows)} flows"
        )
        panel.plot(times, np.median(rates, axis=0), color=INK, linewidth=1.0, label="median")
    panel.set_ylim(0, float(rates.max(initial=0)) * 1.08 or 1)
