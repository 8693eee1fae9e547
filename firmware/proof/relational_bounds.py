"""Relational bounds: relations between a term's operands, where intervals are too wide.

Examples are a share of a number, the rest after subtracting a share, a step from one number towards
another, and a mean of two. Each rule holds for integer division rounded down.
"""

from __future__ import annotations

from typing import Protocol

from firmware.proof.term_graph import Interval, Term
from firmware.proof.time_limit import check_limits

FAR = 1 << 200
UNBOUNDED: Interval = (-FAR, FAR)
MOST_DEPTH = 6
"""Most nested terms that a comparison of two terms examines."""


class BoundsOfPath(Protocol):
    """Facts of a path (firmware.proof.interval_analysis)."""

    assumed: list[Term]
    shares: dict[tuple[int, int], int]

    def bounds(self, term: Term) -> Interval:
        """Bounds of a term."""


def relational_bounds(known: BoundsOfPath, term: Term) -> Interval:
    """Bounds of an operation beyond those of its operands."""
    if term.op == "add":
        return _step(known, *term.args, *term.args[::-1])
    if term.op == "sub":
        return _left(known, *term.args)
    if term.op == "mul":
        return _multiple(known, *term.args)
    whole, den = term.args
    if whole.op == "mul":
        return _share(known, whole, den)
    return _mean(known, whole, den) if whole.op == "add" else UNBOUNDED


def at_most(known: BoundsOfPath, one: Term, other: Term, deep: int = MOST_DEPTH) -> bool:
    """Return whether the structure of two terms implies one <= other, for a non-negative other."""
    check_limits()
    if one is other or known.bounds(one)[1] <= known.bounds(other)[0]:
        return True
    if _assumed(known, one, other):
        return True
    if deep == 0:
        return False
    if other.op == "max" and any(at_most(known, one, arg, deep - 1) for arg in other.args):
        return True
    if other.op == "add":
        for part, rest in (other.args, other.args[::-1]):
            if known.bounds(rest)[0] >= 0 and at_most(known, one, part, deep - 1):
                return True
    if one.op == "min":
        return any(at_most(known, arg, other, deep - 1) for arg in one.args)
    if one.op == "max":
        return all(at_most(known, arg, other, deep - 1) for arg in one.args)
    if known.bounds(other)[0] < 0:
        return False
    if one.op == "sub":
        return known.bounds(one.args[1])[0] >= 0 and at_most(known, one.args[0], other, deep - 1)
    if one.op not in ("div", "shr"):
        return False
    first, by = one.args
    whole = known.bounds(first)[0] >= 0 and known.bounds(by)[0] >= (1 if one.op == "div" else 0)
    if whole and at_most(known, first, other, deep - 1):
        return True
    for part, factor in (first.args, first.args[::-1]) if first.op == "mul" else ():
        if known.bounds(part)[0] < 0 or not at_most(known, part, other, deep - 1):
            continue
        if one.op == "div" and _most_share(known, factor, by) == 1:
            return True
        if one.op == "shr" and by.op == "const" and known.bounds(factor)[1] <= 1 << by.value:
            return True
    return False


def _assumed(known: BoundsOfPath, one: Term, other: Term) -> bool:
    """Return whether the path assumes one <= other."""
    for condition in known.assumed:
        if condition.op in ("lt", "le") and condition.args == (one, other):
            return True
        inner = condition.args[0] if condition.op == "not" else None
        if inner is not None and inner.op in ("lt", "le") and inner.args == (other, one):
            return True
    return False


def _most_share(known: BoundsOfPath, num: Term, den: Term) -> int | None:
    """Maximum of num / den; None where it is unknown, or either is negative."""
    declared = known.shares.get((id(num), id(den)))
    if declared is not None:
        return declared
    positive = known.bounds(num)[0] >= 0 and known.bounds(den)[0] > 0
    return 1 if positive and at_most(known, num, den) else None


def _share(known: BoundsOfPath, whole: Term, den: Term) -> Interval:
    """x * num // den, num / den at most so much, is no further from 0 than that much of x."""
    for one, num in (whole.args, whole.args[::-1]):
        most = _most_share(known, num, den)
        if most is not None:
            low, high = known.bounds(one)
            return min(low * most, 0), max(high * most, 0)
    return UNBOUNDED


def _multiple(known: BoundsOfPath, one: Term, other: Term) -> Interval:
    """n * (x // m) is no more than x where n is no more than m; min(.., x // m) neither."""
    high = FAR
    for part, times in ((one, other), (other, one)):
        for share in part.args if part.op == "min" else (part,):
            if share.op != "div" or known.bounds(times)[0] < 0 or known.bounds(part)[0] < 0:
                continue
            whole, by = share.args
            if known.bounds(by)[0] > 0 and at_most(known, times, by):
                high = min(high, known.bounds(whole)[1])
    return -FAR, high


def _left(known: BoundsOfPath, whole: Term, part: Term) -> Interval:
    """x - y is not negative where y is no more than x; x - max(x - c, ..) is no more than c."""
    low = 0 if at_most(known, part, whole) else -FAR
    high = FAR
    if part.op == "max":
        for one in part.args:
            if one.op == "sub" and one.args[0] is whole:
                high = min(high, known.bounds(one.args[1])[1])
    for ends in whole.args if whole.op == "min" else (whole,):  # min(.., y + c) - y is c at most
        if ends.op == "add":
            for one, rest in (ends.args, ends.args[::-1]):
                if one is part:
                    high = min(high, known.bounds(rest)[1])
    for condition in known.assumed:  # the path assumes b < a + c for a - b
        high = min(high, _compared_difference(known, condition, whole, part))
    return low, high


def _compared_difference(known: BoundsOfPath, condition: Term, whole: Term, part: Term) -> int:
    """Maximum of `whole` - `part`, from a comparison of `whole` with `part` + c."""
    truth = condition.op != "not"
    inner = condition if truth else condition.args[0]
    if inner.op not in ("lt", "le"):
        return FAR
    smaller, larger = inner.args if truth else inner.args[::-1]
    strict = (inner.op == "lt") is truth
    if smaller is whole and larger.op == "add":
        for one, rest in (larger.args, larger.args[::-1]):
            if one is part and rest.op in ("const", "var"):
                return known.bounds(rest)[1] - int(strict)
    return FAR


def _step(known: BoundsOfPath, *pairs: Term) -> Interval:
    """a + (b - a) * num // den, num / den at most 1, lies between a and b, and so does
    a + (b - a) // n; a + min(b - a, ..) is no more than b."""
    for begin, step in (pairs[:2], pairs[2:]):
        if step.op == "min":
            ends = [one.args[0] for one in step.args if one.op == "sub" and one.args[1] is begin]
            if ends:
                return -FAR, min(known.bounds(one)[1] for one in ends)
        if step.op != "div":
            continue
        way, den = step.args
        ways = [way]
        if way.op == "mul":
            ways = [
                one for one, num in (way.args, way.args[::-1]) if _most_share(known, num, den) == 1
            ]
        elif known.bounds(den)[0] < 1:
            continue
        for one in ways:
            if one.op == "sub" and one.args[1] is begin:
                (a, b), (c, d) = known.bounds(begin), known.bounds(one.args[0])
                return min(a, c), max(b, d)
    return UNBOUNDED


def _mean(known: BoundsOfPath, whole: Term, den: Term) -> Interval:
    """((den - n) * a + n * b) // den, n from 0 to den, lies between a and b."""
    for one, other in (whole.args, whole.args[::-1]):
        if one.op != "mul" or other.op != "mul":
            break
        for rest, a in (one.args, one.args[::-1]):
            for part, b in (other.args, other.args[::-1]):
                left = rest.op == "sub" and rest.args[0] is den and rest.args[1] is part
                if left and _most_share(known, part, den) == 1:
                    (low, high), (least, most) = known.bounds(a), known.bounds(b)
                    return min(low, least), max(high, most)
    return UNBOUNDED
