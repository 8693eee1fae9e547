"""Recovery time of a port's throughput after a change."""

from __future__ import annotations

import numpy as np

from traces.metrics.table import PS, Window

TRAILING_PS = 20 * 10**9
"""Throughput is taken over the 20 ms that end at a sample."""
FULL = 0.95
"""Share of the service rate at which a port counts as recovered."""


def recovery_s(window: Window, entity: str) -> float | None:
    """Seconds from the window's start until throughput first reaches 95 % of the service rate.

    0 when it is there at the start; None when it never is within the window. The trailing 20 ms
    may begin before the window, never before the run.
    """
    table = window.table
    if window.last <= window.first:
        return None
    rows = slice(window.first, window.last + 1)
    times = table.times_ps
    ends = times[rows]
    sent = table.column(entity, "bytes_out")
    if not sent[window.last]:  # nothing ever left it
        return None
    earlier = np.interp(ends - TRAILING_PS, times, sent)
    bits = (sent[rows] - earlier) * 8
    rate = table.column(entity, "service_rate")[rows].astype(float)
    rate[0] = rate[:2].max()  # a sample on the boundary may be from before a step up
    reached = np.flatnonzero((bits >= FULL * rate * (TRAILING_PS / PS)) & (rate > 0))
    return int(ends[reached[0]] - times[window.first]) / PS if len(reached) else None
