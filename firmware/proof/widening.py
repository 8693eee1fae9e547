"""Widening of bounds: the change of a number from one event or loop round to the next.

A value that is its old one plus an increment grows by a bounded step each time; over a bounded
number of times it stays bounded, although no bound is inductive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from firmware.proof.interval_analysis import PathFacts, hull
from firmware.proof.term_graph import LEAST, MOST, Interval, Term

NEVER, MOST_NOW = 1 << 62, 3600 * 10**12
BITS = (16, 24, 32, 36, 40, 44, 48, 52, 56, 60)
STEPS = sorted(
    {0, 1, 63, 255, *((1 << bits) - 1 for bits in BITS), MOST_NOW, NEVER, NEVER + MOST_NOW}
)
"""Thresholds of the widening, among them the latest time of a run, times set from it, and NEVER."""

SHORT_STEP = 1 << 12
"""Largest range of an increment that depends on the old value itself and still counts as a step;
beyond it the bounds of the result are more precise."""


@dataclass(frozen=True)
class BoundsChange:
    """Change of a value: to its old one plus `more`, or to another value within `apart`."""

    more: Interval | None
    apart: Interval | None

    def joined(self, other: BoundsChange) -> BoundsChange:
        return BoundsChange(_join(self.more, other.more), _join(self.apart, other.apart))


def _moved(one: Interval | None, by: Interval) -> Interval | None:
    return None if one is None else (one[0] + by[0], one[1] + by[1])


def _join(one: Interval | None, other: Interval | None) -> Interval | None:
    if one is None or other is None:
        return one or other
    return hull(one, other)


def change(after: Term, before: Term, known: PathFacts) -> BoundsChange:
    """Change from `before` to `after`: bounds of the increment, or of the new value."""
    memo: dict[int, BoundsChange] = {}

    def of(term: Term) -> BoundsChange:
        if id(term) not in memo:
            memo[id(term)] = look(term)
        return memo[id(term)]

    def look(term: Term) -> BoundsChange:
        if term is before:
            return BoundsChange((0, 0), None)
        if term.op in ("add", "sub"):
            left, right = term.args
            for one, other, sign in ((left, right, 1), (right, left, 1)):
                if term.op == "sub":
                    if one is right:
                        break
                    sign = -1
                mine = of(one)
                low, high = known.bounds(other)
                apart = _mentions(other, before) and high - low > SHORT_STEP
                if mine.more is not None and not apart:
                    by = (low, high) if sign > 0 else (-high, -low)
                    return BoundsChange(_moved(mine.more, by), _moved(mine.apart, by))
        if term.op in ("min", "max"):
            return of(term.args[0]).joined(of(term.args[1]))
        if term.op == "ite":
            return of(term.args[1]).joined(of(term.args[2]))
        return BoundsChange(None, known.bounds(term))

    return of(after)


def _mentions(term: Term, wanted: Term) -> bool:
    seen, waiting = set[int](), [term]
    while waiting:
        one = waiting.pop()
        if one is wanted:
            return True
        if id(one) not in seen:
            seen.add(id(one))
            waiting += one.args
    return False


def bounds_after(start: Interval, changes: BoundsChange, times: int) -> Interval | None:
    """Bounds after that many changes; None when they exceed an int64."""
    low, high = start if changes.apart is None else hull(start, changes.apart)
    if changes.more is not None:
        low, high = low + min(changes.more[0], 0) * times, high + max(changes.more[1], 0) * times
    return (low, high) if low >= LEAST and high <= MOST else None


def widened(bounds: Interval, skipped: int = 0, clamps: Sequence[int] = ()) -> Interval:
    """Widen bounds to the next thresholds, so that the search terminates; `skipped` thresholds
    further, so that it terminates soon. The first time, to the next of `clamps` above: bounds of
    parameters, which kernels clamp to."""
    low, high = bounds
    further = [clamp for clamp in clamps if high < clamp] if skipped == 0 else []
    if further and low >= 0:
        return low if low > 0 else 0, min(further)
    above = [*(step for step in STEPS if high <= step), MOST]
    below = [*(-step for step in STEPS if low >= -step), LEAST]
    most = above[min(skipped, len(above) - 1)]
    least = 0 if low >= 0 else below[min(skipped, len(below) - 1)]
    return (low if low > 0 else least, most)
