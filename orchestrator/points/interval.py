"""Mean of a few seeds, and the confidence interval of the mean over all seeds."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

LEVEL = 0.95
LEAST = 3
"""Least number of seeds for an interval."""


def mean_and_half(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean, and half the width of its 95 % interval (Student's t); None without enough values.

    The interval assumes independent values of about normal distribution; one value has none.
    """
    count = len(values)
    if not count:
        return None, None
    mean = math.fsum(values) / count
    if count < 2:
        return mean, None
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, quantile(count - 1) * math.sqrt(variance / count)


@functools.cache
def quantile(freedom: int) -> float:
    """97.5 % quantile of Student's t with so many degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
