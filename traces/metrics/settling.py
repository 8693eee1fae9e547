"""Settling time of a limiter's rate."""

from __future__ import annotations

import numpy as np

from traces.metrics.table import PS, Window

TAIL = 10
"""The rate that it stays at: the mean over the last tenth of the phase."""
NEAR = 0.10
"""It is reached when the rate first lies within 10 % of that."""


def settling_s(window: Window, entity: str) -> float | None:
    """Seconds from the phase's start until the limiter's rate is first near its final one.

    A limiter that is not active has no rate. None when the phase is too short for a tenth, or when
    the limiter is not active at its end.
    """
    rows = window.grid
    tail = len(rows) // TAIL
    if not tail:
        return None
    rate = window.gauge(entity, "current_rate").astype(float)
    rate[window.gauge(entity, "active") == 0] = np.nan
    final = rate[-tail:].mean()
    reached = np.flatnonzero(np.abs(rate - final) <= NEAR * final)
    if np.isnan(final) or not len(reached):
        return None
    times = window.table.times_ps
    return int(times[rows[reached[0]]] - times[window.first]) / PS
