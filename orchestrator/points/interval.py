"""Mean of a few seeds, and the confidence interval of the mean over all seeds."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

LEVEL = 0.95
LEAST = 3
"""Seeds that say something of their spread."""


def mean_and_half(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean, and half the width of its 95 % interval (Student's t); None where they say nothing.

    The interval is that of independent values of about normal distribution; of one value there is
    none.
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
    """Of Student's t with so many degrees of freedom: what 97.5 % do not exceed."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
