"""Longest continuous pause of a sender."""

from __future__ import annotations

import numpy as np

from traces.metrics.table import PS, Window


def longest_s(window: Window, entity: str) -> float:
    """The longest time held, in seconds; 0 when it never was.

    Where the data path measures each hold (`longest_hold_ps`): the longest that went on in the
    window, from its beginning, which may lie before the window. Else, as of gateware, what the
    counter of time held grew by over samples in a row in which it grew: holds closer than two
    sampling intervals may count as one.
    """
    if window.table.has(entity, "longest_hold_ps"):
        longest = window.table.column(entity, "longest_hold_ps")
        return int(longest[window.first + 1 : window.last + 1].max(initial=0)) / PS
    if not window.count(entity, "paused_ps"):
        return 0.0
    held = window.table.column(entity, "paused_ps")[window.first : window.last + 1]
    grew = np.diff(held)
    total = np.concatenate([[0], np.cumsum(grew)])
    at_rest = np.concatenate([[0], np.flatnonzero(grew == 0), [len(grew)]])
    return int(np.diff(total[at_rest]).max()) / PS
