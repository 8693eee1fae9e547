"""Log-linear histograms of times: 3 % resolution from 1 ns to minutes, a fixed small memory.

A time in ps is counted in units of 1024 ps. The first STEPS bins are one unit wide each; after
that every factor of two is cut into STEPS equal bins. The last word holds the exact maximum.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import compiled

UNIT_SHIFT = 10
STEP_BITS = 5
STEPS = 1 << STEP_BITS
OCTAVES = 33
"""Factors of two above the linear part: up to 2^48 ps, five minutes."""
BINS = STEPS * (OCTAVES + 1)


def new_histogram() -> np.ndarray:
    """An empty histogram, int64[BINS + 1]."""
    return np.zeros(BINS + 1, np.int64)


@compiled
def bin_of(value_ps: int) -> int:
    """The bin of a time; what is negative falls in the first bin, what is too long in the last."""
    units = max(value_ps, 0) >> UNIT_SHIFT
    octave = 0
    shifted = units >> STEP_BITS
    for width in (32, 16, 8, 4, 2, 1):  # octave = number of bits of `shifted`
        if shifted >> width != 0:
            shifted >>= width
            octave += width
    octave += shifted
    if octave > 0:
        units = (units >> (octave - 1)) + STEPS * (octave - 1)
    return min(units, BINS - 1)


@compiled
def add(histogram: np.ndarray, value_ps: int) -> None:
    """Count one time."""
    histogram[bin_of(value_ps)] += 1
    if value_ps > histogram[BINS]:
        histogram[BINS] = value_ps


def edges_ps() -> np.ndarray:
    """The lower edge of every bin, then the upper edge of the last, int64[BINS + 1]."""
    linear = np.arange(STEPS, dtype=np.int64)
    octaves = [(STEPS + linear) << octave for octave in range(OCTAVES)]
    units = np.concatenate([linear, *octaves, [2 * STEPS << (OCTAVES - 1)]])
    return np.asarray(units << UNIT_SHIFT, np.int64)


def mean_ps(histogram: np.ndarray) -> float:
    """The mean of all counted times, each taken for the upper edge of its bin; 0 for none."""
    counts = histogram[:BINS]
    return float((counts * edges_ps()[1:].astype(float)).sum() / max(int(counts.sum()), 1))


def percentile_ps(histogram: np.ndarray, share: float) -> int:
    """A time that at least `share` of all counted times do not exceed; 0 when nothing was counted.

    The upper edge of the bin in question, or the maximum if that is lower: never too favourable.
    """
    counts = histogram[:BINS]
    total = int(counts.sum())
    if total == 0:
        return 0
    wanted = max(1, int(np.ceil(share * total)))
    index = int(np.searchsorted(np.cumsum(counts), wanted))
    return min(int(edges_ps()[index + 1]), int(histogram[BINS]))


def share_above(histogram: np.ndarray, time_ps: int) -> float:
    """The share of counted times above `time_ps`; all of its bin counts: never too favourable."""
    total = int(histogram[:BINS].sum())
    if total == 0 or histogram[BINS] <= time_ps:
        return 0.0
    return int(histogram[bin_of(time_ps) : BINS].sum()) / total
