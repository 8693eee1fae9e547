"""Message figure: slowdown by size (median and p99), distribution of completion times."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from orchestrator.recording import MessageTable
from traces.figures.figure_style import BLUE, DASHES, FAINT, INK, SERIES, VERMILLION, styled
from traces.metrics.sample_statistics import percentile
from traces.run_reader import Run

GROUPS = 8
MOST_POINTS = 4000
"""Messages that are drawn one by one; of more, every so many-th."""
MOST_ENTRIES = len(SERIES)


def completion_figure(run: Run) -> Figure:
    """Two panels side by side. The run has messages."""
    table = run.messages
    assert table is not None
    with styled():
        figure = Figure(figsize=(9.0, 3.4))
        left = figure.add_axes((0.08, 0.15, 0.4, 0.68))
        right = figure.add_axes((0.57, 0.15, 0.4, 0.68))
        completed = int((table.done_ps >= 0).sum())
        title = f"{run.label}: {completed} of {len(table.size)} messages completed"
        figure.text(0.08, 0.95, title, va="center", weight="bold", size=10.5)
        _slowdown(left, table)
        _distribution(right, table)
    return figure


def _slowdown(panel: Axes, table: MessageTable) -> None:
    done = table.done_ps >= 0
    sizes, slowdown = table.size[done], table.slowdown()[done]
    step = max(1, len(sizes) // MOST_POINTS)
    panel.scatter(sizes[::step], slowdown[::step], s=3, color=FAINT, alpha=0.5, linewidths=0)
    groups = [g for g in np.array_split(np.argsort(sizes, kind="stable"), GROUPS) if len(g)]
    for share, name, colour in ((0.5, "median", BLUE), (0.99, "p99", VERMILLION)):
        curve = [(np.median(sizes[g]), percentile(slowdown[g], share)) for g in groups]
        panel.plot(*zip(*curve, strict=True), color=colour, marker="o", markersize=3, label=name)
    panel.axhline(1.0, color=INK, linewidth=0.8, linestyle=DASHES[2])
    panel.set_xlabel("size (B)")
    panel.set_ylabel("slowdown (ratio)")
    if groups:  # without a message that completed there is no range to scale
        panel.set_xscale("log")
        panel.set_yscale("log")
        _short_numbers(panel.yaxis)
        panel.legend(loc="lower right", bbox_to_anchor=(1.0, 0.985), ncols=2)


def _distribution(panel: Axes, table: MessageTable) -> None:
    """The share of an entry's messages that took no longer; what never came is missing at 1."""
    entries = np.array([entry for _, entry in table.flows], dtype=object)[table.flow]
    fct = table.fct_s()
    for place, entry in enumerate(list(dict.fromkeys(entries.tolist()))[:MOST_ENTRIES]):
        mine = np.sort(fct[(entries == entry) & (table.done_ps >= 0)])
        share = np.arange(len(mine) + 1) / max(int((entries == entry).sum()), 1)
        look: dict[str, Any] = {"color": SERIES[place], "linestyle": DASHES[place % len(DASHES)]}
        risen = np.append(mine[:1], mine)
        panel.step(risen, share[: len(risen)], where="post", label=entry, **look)
    if (table.done_ps >= 0).any():
        panel.set_xscale("log")
        _short_numbers(panel.xaxis)
    panel.set_ylim(0, 1.05)
    panel.set_xlabel("completion time (s)")
    panel.set_ylabel("share of messages")
    panel.legend(loc="lower right")


def _short_numbers(axis: Axis) -> None:
    """Numbers beside a logarithmic axis of less than a decade as `1.2` and `5e-04`."""
    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
