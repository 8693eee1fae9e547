"""Shift of a quantity between a plan and a mutant of it, beside what seeds do.

A quantity has shifted when its mean over the seeds differs by more than `ERRORS` standard errors of
the difference, and by more than `SHARE` of the larger mean.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

ERRORS, SHARE = 3.0, 0.05

Values = Sequence[float | None]


@dataclass(frozen=True)
class Shift:
    """How far a quantity moved: means without and with the mutant; None: it has no value."""

    before: float | None
    after: float | None

    @property
    def share(self) -> float:
        """Change by the larger of both means, -1 to 1 for numbers of one sign; an infinity where
        one of both has no value."""
        if self.before is None or self.after is None:
            return math.inf
        return (self.after - self.before) / max(abs(self.before), abs(self.after))


def shift_between(before: Values, after: Values) -> Shift | None:
    """Shift from the values of some seeds to those of a mutant's; None: not more than seeds do.

    A quantity that has a value with every seed of one side and with none of the other has shifted;
    one that has a value with some seeds has not.
    """
    own, other = _finite(before), _finite(after)
    if len(own) == len(before) and not other:
        return Shift(statistics.fmean(own), None)
    if len(other) == len(after) and not own:
        return Shift(None, statistics.fmean(other))
    if len(own) < len(before) or len(other) < len(after):
        return None
    found = Shift(statistics.fmean(own), statistics.fmean(other))
    assert found.before is not None
    assert found.after is not None
    distance = abs(found.after - found.before)
    error = math.sqrt(_variance(own) / len(own) + _variance(other) / len(other))
    largest = max(abs(found.before), abs(found.after))
    return found if distance > ERRORS * error and distance > SHARE * largest else None


def _finite(values: Values) -> list[float]:
    return [float(value) for value in values if value is not None and math.isfinite(value)]


def _variance(values: list[float]) -> float:
    return statistics.variance(values) if len(values) > 1 else 0.0
