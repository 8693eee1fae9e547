"""Statistics of one series of samples. None where a number would have no meaning.

A statistic over time (of a gauge that was sampled within a phase) takes FEWEST_SAMPLES, and so does
a standard deviation; an index of fairness compares FEWEST_FLOWS.
"""

from __future__ import annotations

import math

import numpy as np

FEWEST_SAMPLES = 2
"""One sample tells nothing of a phase: a quantity may have had any value before and after it."""
FEWEST_FLOWS = 2


def over_time(samples: np.ndarray) -> np.ndarray:
    """The samples of a gauge within a phase; none where they are too few for a statistic."""
    return samples if len(samples) >= FEWEST_SAMPLES else samples[:0]


def percentile(samples: np.ndarray, share: float) -> float | None:
    """The smallest sample that at least `share` of all samples do not exceed (nearest rank)."""
    if not len(samples):
        return None
    rank = max(int(np.ceil(round(share * len(samples), 9))) - 1, 0)
    return float(np.partition(samples, rank)[rank])


def moments(samples: np.ndarray) -> tuple[float | None, float | None]:
    """Mean and standard deviation (of the population) of the samples.

    One sample has no deviation. To the last bit what `samples.std()` is, which would work out the
    mean again.
    """
    if not len(samples):
        return None, None
    mean = float(samples.mean())
    if len(samples) < FEWEST_SAMPLES:
        return mean, None
    off = samples - mean
    return mean, math.sqrt(float(np.add.reduce(np.multiply(off, off, out=off))) / len(off))


def histogram_percentile(
    counts: np.ndarray, edges: np.ndarray, share: float, seen: np.ndarray | None = None
) -> float | None:
    """A percentile of binned values: linear within the bin that holds it.

    `counts` int64[b]; bin i holds values in [edges[i], edges[i + 1]). `seen`: the running sum of
    the counts, of whom has it already.
    """
    if seen is None:
        seen = np.cumsum(counts)
    total = int(seen[-1]) if len(seen) else 0
    if not total:
        return None
    wanted = share * total
    index = int(np.searchsorted(seen, wanted))
    before = int(seen[index - 1]) if index else 0
    low, high = float(edges[index]), float(edges[index + 1])
    return low + (high - low) * (wanted - before) / int(counts[index])


def jain(rates: np.ndarray) -> float | None:
    """Jain's fairness index (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n at worst.

    None for fewer than FEWEST_FLOWS: one flow is neither fair nor unfair.
    """
    if len(rates) < FEWEST_FLOWS:
        return None
    squares = float(np.dot(rates, rates))
    return float(rates.sum()) ** 2 / (len(rates) * squares) if squares else None


def spread(rates: np.ndarray) -> float | None:
    """The largest over the smallest; None when that is 0, or for fewer than FEWEST_FLOWS."""
    if len(rates) < FEWEST_FLOWS or rates.min() <= 0:
        return None
    return float(rates.max() / rates.min())
