"""Longest continuous pause of a sender."""

from __future__ import annotations

import numpy as np

from traces.metrics.table import PS, Window


def longest_s(window: Window, entity: str) -> float:
    """The longest time held, in seconds; 0 when it never was.

    What the counter of time held grew by over samples in a row in which it grew: exact for PAUSEs
    that lie two sampling intervals apart; closer ones may count as one.
    """
    if not window.count(entity, "paused_ps"):
        return 0.0
    held = window.table.column(entity, "paused_ps")[window.first : window.last + 1]
    grew = np.diff(held)
    total = np.concatenate([[0], np.cumsum(grew)])
    at_rest = np.concatenate([[0], np.flatnonzero(grew == 0), [len(grew)]])
    return int(np.diff(total[at_rest]).max()) / PS
