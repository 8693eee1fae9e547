"""Fairness over time: Jain's index in trailing windows of a phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from traces.metrics.sample_table import PS, Window

Number = int | float | None
Spans = Mapping[str, Sequence[tuple[int, int]] | None]
"""Flow -> when its source was on, in ps; None: always."""
STEPS = 200
"""The phase is looked at so many times at most."""
WINDOWS_PER_PHASE = 20
"""A window is so small a part of the phase."""
FEWEST = 40
"""Fewest samples for a result."""
COUNTED = 0.5
"""Share of a window that a flow's source is on at least for the flow to count in it."""
FAIR = 0.95
NAMES = ("fairness.window_mean", "fairness.window_min", "fairness.settling_s")


def fairness_series(window: Window, flows: Spans) -> tuple[np.ndarray, np.ndarray]:
    """(end of each window in ps, Jain's index in it); NaN where fewer than two flows were on.

    Windows are trailing ones of a twentieth of the phase. A flow's rate is what was received of it
    over the time that its source was on. None are there where samples are too few.
    """
    rows = window.grid
    if len(rows) < FEWEST:
        return np.zeros(0, np.int64), np.zeros(0)
    rows = rows[:: max(len(rows) // STEPS, 1)]
    size = max(len(rows) // WINDOWS_PER_PHASE, 1)
    times = window.table.times_ps[rows]
    length = (times[size:] - times[:-size]).astype(float)
    total, squares, count = (np.zeros(len(length)) for _ in range(3))
    for flow, spans in flows.items():
        received = window.table.column(flow, "bytes_received")[rows].astype(float)
        share = _time_on(times, spans, size) / length
        counts = share >= COUNTED
        rate = np.where(counts, received[size:] - received[:-size], 0.0)
        rate /= np.where(counts, share, 1.0)
        total += rate
        squares += rate * rate
        count += counts
    known = (count > 1) & (squares > 0)
    index = np.full(len(length), np.nan)
    index[known] = total[known] ** 2 / (count[known] * squares[known])
    return times[size:], index


def fairness_over_time(window: Window, flows: Spans) -> dict[str, Number]:
    """Mean and least index of the windows, and when it is FAIR for good."""
    ends, index = fairness_series(window, flows)
    known = ~np.isnan(index)
    if not known.any():
        return dict.fromkeys(NAMES)
    ends, index = ends[known], index[known]
    unfair = np.flatnonzero(index < FAIR)
    begun = int(window.table.times_ps[window.first])
    settled: Number = 0.0
    if len(unfair):
        first = int(unfair[-1]) + 1
        settled = (int(ends[first]) - begun) / PS if first < len(ends) else None
    return dict(zip(NAMES, (float(index.mean()), float(index.min()), settled), strict=True))


def _time_on(times: np.ndarray, spans: Sequence[tuple[int, int]] | None, size: int) -> np.ndarray:
    """Time in each window for which a source was on, in ps."""
    if spans is None:
        return (times[size:] - times[:-size]).astype(float)
    so_far = np.zeros(len(times))
    for begin, end in spans:
        so_far += np.clip(times, begin, max(end, begin)) - begin
    return so_far[size:] - so_far[:-size]
