"""Interval analysis: bounds of a term, given the assumptions of its path.

Every operation is monotonic in its operands or bounded by their bits, so bounds come from the
corners. A comparison on a path narrows the two compared terms, and the operands of their additions
and subtractions. Relations between two operands narrow further (firmware.proof.relational_bounds).
"""

from __future__ import annotations

from firmware.proof.relational_bounds import relational_bounds
from firmware.proof.term_graph import INT64_RANGE, Interval, Term
from firmware.proof.time_limit import check_limits


def hull(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), max(a[1], b[1])


class PathFacts:
    """Facts of a path: assumptions, and the bounds that they imply."""

    def __init__(self) -> None:
        self.assumed: list[Term] = []
        self._held: dict[int, bool] = {}
        """Truth of assumed conditions."""
        self._narrow: dict[int, tuple[Term, Interval]] = {}
        self._memo: dict[int, Interval] = {}
        self.shares: dict[tuple[int, int], int] = {}
        """Numerator and denominator of a ratio -> its maximum."""

    def copy(self) -> PathFacts:
        other = PathFacts()
        other.assumed = list(self.assumed)
        other._held = dict(self._held)
        other._narrow = dict(self._narrow)
        other.shares = self.shares
        return other

    def holds(self, condition: Term) -> bool:
        """Return whether a condition was assumed."""
        return self._held.get(id(condition), False)

    def note(self, condition: Term) -> None:
        """Record a condition whose bounds are already known."""
        self.assumed.append(condition)
        self._held[id(condition)] = True
        if condition.op == "not":
            self._held[id(condition.args[0])] = False

    def narrowed(self) -> list[tuple[Term, Interval]]:
        """Terms whose bounds the path narrows."""
        return list(self._narrow.values())

    def narrow(self, term: Term, bounds: Interval) -> None:
        """Narrow a term to these bounds."""
        before = self._narrow.get(id(term), (term, bounds))[1]
        self._narrow[id(term)] = term, (max(before[0], bounds[0]), min(before[1], bounds[1]))
        self._memo.clear()

    def bounds(self, term: Term) -> Interval:
        """The bounds of a number. An empty interval (low above high): the path cannot be taken."""
        found = self._memo.get(id(term))
        if found is None:
            found = self._bounds(term)
            if id(term) in self._narrow:
                narrow = self._narrow[id(term)][1]
                found = max(found[0], narrow[0]), min(found[1], narrow[1])
            self._memo[id(term)] = found
        return found

    def exact(self, term: Term) -> Interval:
        """Bounds of the operation's result, without the facts about the term itself. A variable has
        the bounds of its facts."""
        return self.bounds(term) if term.op in ("var", "call") else self._bounds(term)

    def decide(self, condition: Term) -> bool | None:
        """Truth of a condition on this path; None: undecided."""
        check_limits()
        if condition.op == "truth":
            return bool(condition.value)
        if id(condition) in self._held:
            return self._held[id(condition)]
        if condition.op == "not":
            inner = self.decide(condition.args[0])
            return None if inner is None else not inner
        if condition.op in ("and", "or"):
            one, other = (self.decide(arg) for arg in condition.args)
            stops = condition.op == "or"
            if one is stops or other is stops:
                return stops
            return (not stops) if one is not None and other is not None else None
        left, right = condition.args
        (low, high), (least, most) = self.bounds(left), self.bounds(right)
        if condition.op == "eq":
            if low == high == least == most or left is right:
                return True
            return False if high < least or most < low else None
        strict = condition.op == "lt"
        if high < least or (not strict and (high <= least or left is right)):
            return True
        if low > most or (strict and (low >= most or left is right)):
            return False
        return None

    def assume(self, condition: Term) -> bool:
        """Assume a condition; False when that contradicts the facts."""
        if condition.op == "truth":
            return bool(condition.value)
        if self.decide(condition) is False:
            return False
        self.note(condition)
        if condition.op == "and":
            one, other = condition.args
            return self.assume(one) and self.assume(other)
        truth = condition.op != "not"
        inner = condition if truth else condition.args[0]
        if inner.op == "or" and not truth:
            one, other = inner.args
            return self._assume_not(one) and self._assume_not(other)
        if inner.op in ("lt", "le", "eq"):
            for _ in range(2):
                self._compare(inner.op, truth, *inner.args)
        return True

    def _assume_not(self, condition: Term) -> bool:
        return self.assume(Term("not", (condition,)))

    def _compare(self, op: str, truth: bool, left: Term, right: Term) -> None:
        (low, high), (least, most) = self.bounds(left), self.bounds(right)
        if op == "eq":
            if truth:
                both = max(low, least), min(high, most)
                self._set(left, both)
                self._set(right, both)
            elif least == most:
                self._set(left, (low + (low == least), high - (high == least)))
            elif low == high:
                self._set(right, (least + (least == low), most - (most == low)))
            return
        if not truth:  # a < b is false: b <= a
            left, right = right, left
            (low, high), (least, most) = (least, most), (low, high)
            op = "le" if op == "lt" else "lt"
        gap = int(op == "lt")
        self._set(left, (low, min(high, most - gap)))
        self._set(right, (max(least, low + gap), most))

    def _set(self, term: Term, bounds: Interval) -> None:
        before = self.bounds(term)
        after = max(before[0], bounds[0]), min(before[1], bounds[1])
        if after == before or term.op == "const":
            return
        self._narrow[id(term)] = (term, after)
        self._memo.clear()
        low, high = after
        if term.op in ("add", "sub") and after[0] <= after[1]:
            one, other = term.args
            (a, b), (c, d) = self.bounds(one), self.bounds(other)
            if term.op == "add":
                self._set(one, (low - d, high - c))
                self._set(other, (low - b, high - a))
            else:
                self._set(one, (low + c, high + d))
                self._set(other, (a - high, b - low))
        elif term.op == "max":
            for arg in term.args:
                self._set(arg, (INT64_RANGE[0], high))
        elif term.op == "min":
            for arg in term.args:
                self._set(arg, (low, INT64_RANGE[1]))

    def _bounds(self, term: Term) -> Interval:
        check_limits()
        if term.op == "const":
            return term.value, term.value
        if term.op in ("var", "call"):
            return term.bounds
        if term.op == "ite":
            condition = self.decide(term.args[0])
            if condition is not None:
                return self.bounds(term.args[1 if condition else 2])
            return hull(self.bounds(term.args[1]), self.bounds(term.args[2]))
        if term.is_condition:
            known = self.decide(term)
            return (0, 1) if known is None else (int(known), int(known))
        found = operation_bounds(term.op, *(self.bounds(arg) for arg in term.args))
        if term.op in ("add", "sub", "mul", "div"):
            low, high = relational_bounds(self, term)
            found = max(found[0], low), min(found[1], high)
        return found


def operation_bounds(op: str, left: Interval, right: Interval) -> Interval:
    """Bounds of the exact result of an operation, by the bounds of its operands."""
    (a, b), (c, d) = left, right
    if a > b or c > d:
        return 1, 0
    if op == "add":
        return a + c, b + d
    if op == "sub":
        return a - d, b - c
    if op == "mul":
        return _corners(x * y for x in left for y in right)
    if op == "min":
        return min(a, c), min(b, d)
    if op == "max":
        return max(a, c), max(b, d)
    if op in ("shl", "shr"):
        shifts = [min(max(s, 0), 63) for s in right]
        shifted = [x << s if op == "shl" else x >> s for x in left for s in shifts]
        return _corners(shifted)
    if op == "div":
        divisors = [s for s in (c, d, -1, 1) if c <= s <= d and s != 0]
        return _corners(x // y for x in left for y in divisors) if divisors else INT64_RANGE
    if op == "mod":
        if c > 0:
            return (a, b) if a >= 0 and b < c else (0, d - 1 if a < 0 else min(d - 1, b))
        return (min(c + 1, 0), max(d - 1, 0))
    return _bits(op, left, right)


def _corners(values: object) -> Interval:
    found = list(values)  # type: ignore[call-overload]
    return min(found), max(found)


def _bits(op: str, left: Interval, right: Interval) -> Interval:
    (a, b), (c, d) = left, right
    width = max(x.bit_length() if x >= 0 else (~x).bit_length() for x in (a, b, c, d))
    if op == "bitand" and (a >= 0 or c >= 0):
        return 0, min([high for low, high in (left, right) if low >= 0])
    if a >= 0 and c >= 0:
        return (max(a, c) if op == "bitor" else 0), (1 << width) - 1
    return -(1 << width), (1 << width) - 1
