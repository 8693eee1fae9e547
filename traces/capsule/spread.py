"""Comparison of seed means on real frames, against the spread of the seeds.

No two runs on real frames are equal to the digit. The seeds of both sides show how far runs of a
plan lie apart; by that their means are compared (Student's t, one variance for both sides). With
many figures some would differ by chance, so all of them together do in one of 100 verifications.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.points.columns import parts_of
from traces.capsule.figures import METRIC, Count, Figure
from traces.compare import rule

LEVEL = 0.99
Seed = Mapping[str, float]
"""Column -> number of one seed."""


def of_spread(packed: Sequence[Seed], here: Sequence[Seed], units: Mapping[str, str]) -> Count:
    """Comparison of every number that either side has."""
    names = list(dict.fromkeys(name for seed in (*packed, *here) for name in seed))
    count = Count()
    for figure in _figures(names, packed, here, units):
        count.add(figure)
    return count


def _figures(
    names: Sequence[str], packed: Sequence[Seed], here: Sequence[Seed], units: Mapping[str, str]
) -> Iterator[Figure]:
    judged = max(len(names), 1)
    for name in names:
        theirs, ours = ([seed[name] for seed in side if name in seed] for side in (packed, here))
        unit, means = units.get(name, ""), (_mean(theirs), _mean(ours))
        if means[0] is None or means[1] is None:
            whole = len(theirs) == len(packed) or len(ours) == len(here)
            yield Figure(METRIC, name, *means, False if whole else None, unit)
            continue
        room = within(theirs, ours, 1 - (1 - LEVEL) / judged)
        yield Figure(METRIC, name, *means, _alike(name, (means[0], means[1]), room), unit, room)


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _alike(name: str, means: Sequence[float], room: float | None) -> bool | None:
    """True if two means are equal; None if there is no evidence."""
    metric = parts_of(name)[0]
    if means[0] == means[1] or (metric in rule.RULES and rule.RULES[metric](means)):
        return True
    if room is None:
        return False if metric in rule.RULES else None
    return abs(means[0] - means[1]) <= room + 1e-12 * max(map(abs, means))


def within(one: Sequence[float], other: Sequence[float], level: float) -> float | None:
    """Largest distance of the means of two samples of one distribution, at a level; None where
    neither shows its spread: a few seeds of which a metric has one value alone (a queue of whole
    frames, say) do not say that a single run beside them had no other."""
    from scipy.special import stdtrit

    freedom = len(one) + len(other) - 2
    if freedom < 1:
        return None
    squares = sum(_squares(side) for side in (one, other))
    if squares == 0 and min(len(one), len(other)) == 1:
        return None
    error = math.sqrt(squares / freedom * (1 / len(one) + 1 / len(other)))
    return float(stdtrit(freedom, (1 + level) / 2)) * error


def _squares(values: Sequence[float]) -> float:
    mean = statistics.fmean(values)
    return math.fsum((value - mean) ** 2 for value in values)


def same_expectation(packed: dict[str, Any], here: dict[str, Any]) -> bool:
    """Same band and same outcome; None where an error bar holds a bound, and where seeds of one
    side do not agree with each other."""
    bands = all(packed.get(key) == here.get(key) for key in ("min", "max", "of_seeds"))
    open_ = any(row.get("uncertain") or 0 < row["met_in"] < row["count"] for row in (packed, here))
    return bands and (open_ or packed["met"] == here["met"])
