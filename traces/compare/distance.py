"""Distances of two samples as distributions (Kolmogorov-Smirnov, Wasserstein); exact with ties."""

from __future__ import annotations

import numpy as np


def _shares(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All distinct values, and each sample's share that is at most that value."""
    values = np.unique(np.concatenate([first, second]))
    shares = [
        np.searchsorted(np.sort(samples), values, side="right") / len(samples)
        for samples in (first, second)
    ]
    return values, shares[0], shares[1]


def kolmogorov_smirnov(first: np.ndarray, second: np.ndarray) -> float | None:
    """The largest difference of the two distribution functions, 0 to 1."""
    if not len(first) or not len(second):
        return None
    _, one, other = _shares(first, second)
    return float(np.abs(one - other).max())


def wasserstein(first: np.ndarray, second: np.ndarray) -> float | None:
    """1-Wasserstein (earth mover's) distance, in the unit of the samples.

    The area between the two distribution functions: by how much a value must be moved on average
    to turn one sample's distribution into the other's.
    """
    if not len(first) or not len(second):
        return None
    values, one, other = _shares(first, second)
    return float(np.dot(np.abs(one - other)[:-1], np.diff(values)))
