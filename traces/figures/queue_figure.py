"""Queue figure: queue length, utilisation, rates of the flows, and their fairness over time.

After NetFPGA-QCN, figures 8 to 13 (queue size and utilisation); the rest is ours. What a plan
itself has drawn is in `drawing`.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orchestrator.assembly.source_activity import sources_on
from orchestrator.errors import BadInput
from orchestrator.plan.drawable_metrics import OF, scale_of
from orchestrator.plan.metric_registry import BITS_PER_SECOND, BYTES
from orchestrator.registry import Registry
from orchestrator.terminal.format_output import quantity
from traces.figures import annotations as figures_annotations
from traces.figures.curves import RATES_PS, window_ps
from traces.figures.figure_style import (
    BLUE,
    DASHES,
    GREEN,
    INK,
    PURPLE,
    SERIES,
    VERMILLION,
    stacked,
    styled,
    time_axis,
)
from traces.figures.flows_through_port import flows_through
from traces.metrics.fairness_windows import FAIR, fairness_series
from traces.metrics.sample_table import PS, RUN_PHASE, Table
from traces.result_schema import Expectation
from traces.run_reader import Run
from traces.time_series import envelope, rate_bps, utilization, window_rows

Curve = tuple[np.ndarray, np.ndarray]
"""(end of each window in ps, Jain's index in it; NaN where fewer than two sources were on)."""


def fairness_at(run: Run, port: str) -> Curve | None:
    """Jain's index of the flows through a port over the whole run, as the metrics of the phase
    `run` have it. None where there are never two, and where nothing tells when sources were on."""
    flows = flows_through(run, port)
    if len(flows) < 2:
        return None
    try:
        on = sources_on(run.parsed_plan().check(Registry.load()))
    except BadInput:  # of a plugin that is not installed here
        return None
    window = run.table.window(int(run.times_ps[0]), int(run.times_ps[-1]))
    spans = {flow: on.get(flow.partition("@")[0]) for flow in flows}
    times, index = fairness_series(window, spans)
    return None if np.isnan(index).all() else (times, index)


def draw_fairness(panel: Axes, curve: Curve) -> None:
    """The index, and the line above which it counts as fair."""
    times, index = curve
    panel.axhline(FAIR, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), label=f"fair: {FAIR:g}")
    panel.plot(times / PS, index, color=PURPLE, linewidth=0.9, zorder=2)
    panel.set_ylim(0, 1.1)
    panel.set_yticks([0, 0.5, 1])
    panel.set_ylabel("fairness (Jain)")


MAX_PORTS = 4
"""Figures of one run at most: the ports with the longest queues."""
MAX_LINES = len(SERIES)
"""Sources that are drawn one by one; more become a band with their median."""
UTILIZATION_PS = 20 * 10**9


def bottlenecks(run: Run) -> list[str]:
    """The ports worth a figure, of each kind the longest mean queue first.

    Those that the plan has drawn, then those that it judges, then those with a set point; where
    there are none of these, all.
    """
    mean = {p: float(run.table.column(p, "queue_bytes").mean()) for p in queues(run.table)}
    drawn = {text.partition(OF)[0] for figure in run.figures for text in figure.of}
    judged = {one.of for one in run.result.expectations}
    kinds = (drawn, judged, set(run.set_points))
    busy = [port for port in mean if mean[port] > 0]
    wanted = [port for port in busy if any(port in kind for kind in kinds)]
    chosen = wanted or busy or list(mean)[:1]
    rank = {port: [port not in kind for kind in kinds] for port in chosen}
    return sorted(chosen, key=lambda port: (rank[port], -mean[port]))[:MAX_PORTS]


def queues(table: Table) -> list[str]:
    """Entities with a sampled queue."""
    return list(table.entities("queue_bytes"))


def paper_figure(run: Run, port: str) -> Figure:
    """Queue, utilisation and per-source rates of one port of a run; where several flows share
    an output, how evenly they are served."""
    table = run.table
    used = table.has(port, "service_rate") and table.has(port, "bytes_out")
    fair = fairness_at(run, port) if used else None
    with styled():
        heights = [2.1, *([1.35] if used else []), 1.9, *([1.1] if fair else [])]
        figure, panels = stacked(heights, title=f"{run.label}: {port}")
        spans = run.phases
        figures_annotations.phases(panels, spans)
        if used:
            figures_annotations.steps(panels, table, port, "service_rate")
        wanted = [e for e in run.result.expectations if e.of == port]
        whole = {RUN_PHASE: (int(run.times_ps[0]), int(run.times_ps[-1]))}
        one = _queue(panels[0], run, port)
        figures_annotations.bands(
            panels[0], _about(wanted, "queue_bytes.mean"), whole | spans, "expected mean", one
        )
        if used:
            _utilization(panels[1], run, port)
            figures_annotations.bands(
                panels[1], _about(wanted, "utilization"), whole | spans, "expected"
            )
        _rates(panels[1 + used], run, port)
        if fair:
            draw_fairness(panels[-1], fair)
        panels[0].set_xlim(run.times_ps[0] / PS, run.times_ps[-1] / PS)
        time_axis(panels[-1], run.times_ps[-1] / PS)
        legend(panels[0], over_phases=bool(spans))
        for panel in panels[1:]:
            legend(panel)
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


def _queue(panel: Axes, run: Run, port: str) -> float:
    """Draws the queue; gives the octets that one of the axis stands for."""
    times, queue = envelope(run.times_ps, run.table.column(port, "queue_bytes"))
    top = max(float(queue.max(initial=0)), float(run.set_points.get(port, 0)))
    unit, one = scale_of(BYTES, top)
    panel.plot(times / PS, queue / one, color=BLUE, linewidth=0.8, label="queue", zorder=2)
    if port in run.set_points:
        aim = run.set_points[port]
        figures_annotations.set_point(panel, aim / one, f"set point {quantity(aim, 'B')}")
    panel.set_ylim(0, top / one * 1.08 or 1)
    panel.set_ylabel(f"queue ({unit})")
    return one


def _utilization(panel: Axes, run: Run, port: str) -> None:
    rows = window_rows(run.table, window_ps(run, UTILIZATION_PS))
    times, share = envelope(*utilization(run.table, port, rows))
    panel.plot(times, share, color=VERMILLION, linewidth=0.9, zorder=2)
    panel.set_ylim(0, 1.1)
    panel.set_yticks([0, 0.5, 1])
    panel.set_ylabel("utilisation (ratio)")


def _rates(panel: Axes, run: Run, port: str) -> None:
    """Throughput of each flow that passes the port, at its sink."""
    table = run.table
    flows = flows_through(run, port)
    if not flows:
        panel.set_ylabel("received")
        return
    rows = window_rows(table, window_ps(run, RATES_PS))
    curves = [rate_bps(table, flow, "bytes_received", rows) for flow in flows]
    times, rates = curves[0][0], np.array([rate for _, rate in curves])
    unit, one = scale_of(BITS_PER_SECOND, float(rates.max(initial=0)))
    rates /= one
    panel.set_ylabel(f"received ({unit})")
    called = names(run)
    if len(flows) <= MAX_LINES:
        for index, (flow, rate) in enumerate(zip(flows, rates, strict=True)):
            dashes = DASHES[index % 2]
            colour, label = SERIES[index], called.get(flow, flow)
            panel.plot(*envelope(times, rate), color=colour, linestyle=dashes, label=label)
    else:
        low, high = rates.min(axis=0), rates.max(axis=0)
        panel.fill_between(
            times, low, high, color=GREEN, alpha=0.35, linewidth=0, label=f"all {len(flows)} flows"
        )
        panel.plot(times, np.median(rates, axis=0), color=INK, linewidth=1.0, label="median")
    panel.set_ylim(0, float(rates.max(initial=0)) * 1.08 or 1)


def names(run: Run) -> dict[str, str]:
    """Entity -> how the paper calls it, where the plan's figures say so in one voice."""
    found: dict[str, set[str]] = {}
    for figure in run.figures:
        if figure.x == "time" and len(figure.labels) == len(figure.of):
            for text, label in zip(figure.of, figure.labels, strict=True):
                found.setdefault(text.partition(OF)[0], set()).add(label)
    said = {entity: labels.pop() for entity, labels in found.items() if len(labels) == 1}
    every = list(said.values())
    return {entity: label for entity, label in said.items() if every.count(label) == 1}
