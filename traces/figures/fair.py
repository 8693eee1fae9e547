"""Fairness panel: Jain's index of a port's flows over time, below their rates."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from orchestrator.assembly.sources import sources_on
from orchestrator.errors import BadInput
from orchestrator.registry import Registry
from traces.figures.style import INK, PURPLE
from traces.figures.through import flows_through
from traces.metrics.fair_windows import FAIR, fairness_series
from traces.metrics.table import PS
from traces.runs import Run

Curve = tuple[np.ndarray, np.ndarray]
"""(end of each window in ps, Jain's index in it; NaN where fewer than two sources were on)."""


def fairness_at(run: Run, port: str) -> Curve | None:
    """Jain's index of the flows through a port over the whole run, as the metrics of the phase
    `run` have it. None where there are never two, and where nothing tells when sources were on."""
    flows = flows_through(run, port)
    if len(flows) < 2:
        return None
    try:
        on = sources_on(run.whole_plan().check(Registry.load()))
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
