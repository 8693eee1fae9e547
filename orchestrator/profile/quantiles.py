"""Distribution of times as a short table: quantiles at fixed shares, denser in the tail."""

from __future__ import annotations

import numpy as np

SHARES = (
    *(0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    *(0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 1.0),
)
"""Values between two of them are drawn evenly from between their times."""


def quantiles(times: np.ndarray) -> list[int]:
    """The times at SHARES, in rising order, whole; none for no times."""
    if not len(times):
        return []
    found = np.quantile(np.asarray(times, float), SHARES)
    return [int(value) for value in np.maximum.accumulate(np.rint(found))]


def mean(table: list[int]) -> float:
    """The mean of what is drawn from a table; 0 of none."""
    if not table:
        return 0.0
    widths = np.diff(SHARES)
    return float((widths * (np.array(table[:-1]) + np.array(table[1:])) / 2).sum())
