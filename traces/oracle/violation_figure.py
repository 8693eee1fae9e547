"""Figure of a deviation: states of the reference, and the captured frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orchestrator.engine.records import DATA
from traces.figures.figure_style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    VERMILLION,
    png,
    stacked,
    styled,
    svg,
)
from traces.figures.lean_matplotlib import Axes, Figure
from traces.oracle.node_check import Expected, SeenFrame
from traces.oracle.rule_violation import Finding

BEFORE_S, AFTER_S = 5e-3, 1e-3
KB, MB = 1e3, 1e6


def violation_figure(finding: Finding) -> Figure | None:
    """The figure of a finding; None where nothing was traced."""
    if finding.trace is None or not len(finding.trace[1]):
        return None
    kind, trace = finding.trace
    at = finding.time_ns / 1e9
    with styled():
        figure, panels = stacked(
            (2.4, 1.0), title=f"{finding.departure.node}: {finding.rule} at {at:.6f} s"
        )
        times = trace["time"] / 1e12
        rows = (times > at - BEFORE_S) & (times <= at + AFTER_S)
        before = np.flatnonzero(times <= at - BEFORE_S)
        rows[before[-1:]] = True  # what held when the picture begins
        if kind == "queues":
            _queue(panels[0], times[rows], trace[rows])
        else:
            _limiter(panels[0], times[rows], trace[rows], at)
        _frames(panels[1], finding)
        for panel in panels:
            panel.axvline(at, color=VERMILLION, linewidth=0.9, linestyle=(0, (4, 2)))
        panels[0].set_xlim(max(at - BEFORE_S, 0), at + AFTER_S)
        panels[0].legend(loc="upper left", ncols=3)
    return figure


def _queue(panel: Axes, times: np.ndarray, trace: np.ndarray) -> None:
    panel.step(times, trace["queue"] / KB, where="post", color=BLUE, label="queue, reconstructed")
    panel.set_ylabel("queue (KB)")
    panel.set_ylim(bottom=0)


def _limiter(panel: Axes, times: np.ndarray, trace: np.ndarray, at: float) -> None:
    ends = np.append(times, max(at + AFTER_S, times[-1]))
    for name, colour in (("target", ORANGE), ("rate", BLUE)):
        values = np.append(trace[name], trace[name][-1]) / MB
        panel.step(ends, values, where="post", color=colour, label=f"{name}, predicted")
    panel.set_ylabel("rate (Mb/s)")
    panel.set_ylim(bottom=0)


def _frames(panel: Axes, finding: Finding) -> None:
    """Expected above, seen below; messages are larger than data."""
    departure = finding.departure
    expected = [one for one in (departure.expected, *departure.expected_next) if one is not None]
    seen = [one for one in (*departure.before, departure.seen, *departure.seen_next) if one]
    for row, ones, colour in ((1, expected, INK), (0, seen, GREEN)):
        for data, mark, size in ((True, "|", 7), (False, "D", 5)):
            times = [_time(one) for one in ones if (int(one.frame["kind"]) == DATA) == data]
            panel.plot(times, [row] * len(times), mark, color=colour, markersize=size)
    panel.set_yticks([0, 1], ["seen", "expected"])
    panel.set_ylim(-0.6, 1.6)


def _time(one: Expected | SeenFrame) -> float:
    return one.due_ps / 1e12 if isinstance(one, Expected) else one.time_ns / 1e9


def write(folder: Path, findings: list[Finding]) -> list[Path]:
    """Draw every finding into a folder, as SVG and PNG."""
    written = []
    for finding in findings:
        figure = violation_figure(finding)
        if figure is None:
            continue
        stem = f"departure-{finding.departure.node}"
        written += [folder / f"{stem}.svg", folder / f"{stem}.png"]
        written[-2].write_text(svg(figure), encoding="utf-8")
        written[-1].write_bytes(png(figure))
    return written
