"""Widths of the variables of a kernel's intermediate form, by interval analysis.

Every record field lies within its declared range when an event begins
(firmware.proof.field_ranges, firmware.proof.parameter_bounds, the bounds of the algorithm's state);
a state field without declared bounds has 64 bits. Operations follow the bounds of the proofs
(firmware.proof.interval_analysis). An operation that may exceed an int64 has 64 bits and wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from firmware.compiler.intermediate_form import (
    COMPARISONS,
    Constant,
    Field,
    If,
    KernelForm,
    Leave,
    Load,
    Loop,
    Node,
    Operation,
    Scope,
    Store,
    Value,
    Variable,
    used_fields,
)
from firmware.proof.field_ranges import ANSWERS, ENTITY, LFSR, NOW, RECORDS
from firmware.proof.interval_analysis import hull, operation_bounds
from firmware.proof.parameter_bounds import record_of
from firmware.proof.term_graph import INT64_RANGE, LEAST, MOST, Interval
from orchestrator.algorithm import Algorithm

WORD: Interval = (0, (1 << 32) - 1)
STEPS = tuple((1 << bits) - 1 for bits in (8, 16, 24, 32, 40, 48, 56, 62, 63))
"""Upper bounds that a growing variable of a loop is widened to."""
MOST_ROUNDS = 1 << 20
"""A loop that may have more rounds counts as one without a bound."""
ROUNDS = 3
"""Rounds of a loop before its variables are widened."""
SEEDS = ("lfsr", "lfsr_alike")
FieldBounds = Callable[[Field], Interval]
Place = Variable | Field


def bits_of(bounds: Interval) -> int:
    """Bits of a signed number within bounds."""
    return max(one.bit_length() if one >= 0 else (~one).bit_length() for one in bounds) + 1


def field_bounds(algorithm: Algorithm) -> FieldBounds:
    """Declared bounds of the fields that an algorithm's kernels use."""
    parameters, entity = record_of(algorithm.params), ENTITY[algorithm.kind]

    def bounds(accessed: Field) -> Interval:
        record, name = accessed.record, accessed.name
        if record == "params":
            return parameters.bounds(name)
        if record == "state":
            if name in SEEDS:
                return LFSR.bounds
            return algorithm.bounds.get(name, INT64_RANGE)
        if record in ("frame", "message"):
            declared = RECORDS["frame"][1][name].bounds
            return hull(declared, ANSWERS[name].bounds) if name in ANSWERS else declared
        if record == entity:
            return RECORDS[record][1][name].bounds
        return INT64_RANGE

    return bounds


@dataclass
class Facts:
    """Bounds of variables and fields at one point, and the operations of comparisons."""

    bounds: dict[Place, Interval] = field(default_factory=dict)
    tests: dict[Variable, Operation] = field(default_factory=dict)

    def copy(self) -> Facts:
        return Facts(dict(self.bounds), dict(self.tests))

    def assign(self, place: Place, bounds: Interval) -> None:
        self.bounds[place] = bounds
        stale = [v for v, test in self.tests.items() if place == v or place in test.operands]
        for variable in stale:
            del self.tests[variable]


def joined(one: Facts | None, other: Facts | None) -> Facts | None:
    """Facts that hold behind both points; None: not reached."""
    if one is None or other is None:
        return other if one is None else one
    bounds = dict(one.bounds)
    for place, interval in other.bounds.items():
        bounds[place] = hull(interval, bounds.get(place, interval))
    tests = {v: test for v, test in one.tests.items() if other.tests.get(v) is test}
    return Facts(bounds, tests)


@dataclass
class KernelBounds:
    """Bounds of a kernel's variables, and of its fields while it runs."""

    initial: FieldBounds
    reached: dict[Place, Interval] = field(default_factory=dict)
    exits: dict[int, list[Facts]] = field(default_factory=dict)

    def width(self, place: Place) -> int:
        """Bits of a variable or field."""
        return bits_of(self.bounds(place))

    def bounds(self, place: Place) -> Interval:
        default = self.initial(place) if isinstance(place, Field) else (0, 0)
        return self.reached.get(place, default)

    def rounds(self, loop: Loop) -> int | None:
        """Rounds of a loop at the most; None where no bound is known."""
        if loop.span is None:
            return None
        begin, end, step = loop.span
        (low, high), (least, most) = (
            (v.value, v.value) if isinstance(v, Constant) else self.bounds(v) for v in (begin, end)
        )
        span = most - low if step > 0 else high - least
        longest = max(-(-span // abs(step)), 0)
        return longest if longest <= MOST_ROUNDS else None

    def run(self, form: KernelForm) -> None:
        facts = Facts()
        self._assign(facts, form.now, NOW.bounds)
        for accessed in used_fields(form.body):
            if not accessed.size:
                facts.bounds[accessed] = self.initial(accessed)
        self._block(form.body, facts)

    def _assign(self, facts: Facts, place: Place, bounds: Interval) -> None:
        facts.assign(place, bounds)
        known = self.initial(place) if isinstance(place, Field) else bounds
        self.reached[place] = hull(bounds, self.reached.get(place, known))

    def _of(self, facts: Facts, value: Value) -> Interval:
        if isinstance(value, Constant):
            return value.value, value.value
        return facts.bounds.get(value, self.reached.get(value, INT64_RANGE))

    def _block(self, nodes: tuple[Node, ...], facts: Facts | None) -> Facts | None:
        for node in nodes:
            if facts is None:
                return None
            facts = self._node(node, facts)
        return facts

    def _node(self, node: Node, facts: Facts) -> Facts | None:
        if isinstance(node, Operation):
            bounds = self._operation(node, [self._of(facts, one) for one in node.operands])
            self._assign(facts, node.target, bounds)
            if node.op in COMPARISONS or node.op == "bitand":
                facts.tests[node.target] = node
        elif isinstance(node, Load):
            inside = facts.bounds if node.index is None else {}
            self._assign(facts, node.target, inside.get(node.field, self.initial(node.field)))
        elif isinstance(node, Store):
            if node.index is None:
                self._assign(facts, node.field, self._of(facts, node.value))
        elif isinstance(node, If):
            return self._if(node, facts)
        elif isinstance(node, Scope):
            self.exits[node.label] = []
            behind = self._block(node.body, facts)
            for left in self.exits[node.label]:
                behind = joined(behind, left)
            return behind
        elif isinstance(node, Loop):
            self._loop(node, facts)
            return None
        elif isinstance(node, Leave):
            self.exits[node.label].append(facts)
            return None
        return facts

    def _operation(self, node: Operation, given: list[Interval]) -> Interval:
        if node.op == "copy":
            return given[0]
        if node.op == "select":
            return hull(given[1], given[2])
        if node.op == "table":
            return min(node.table), max(node.table)
        if node.op == "lfsr":
            return WORD if given[0][0] >= 0 and given[0][1] <= WORD[1] else INT64_RANGE
        if node.op in COMPARISONS:
            return 0, 1
        low, high = operation_bounds(node.op, *given)
        return (low, high) if LEAST <= low <= high <= MOST else INT64_RANGE

    def _if(self, node: If, facts: Facts) -> Facts | None:
        branches = []
        for truth, body in ((True, node.body), (False, node.orelse)):
            inside = facts.copy()
            if isinstance(node.test, Variable) and not self._assume(inside, node.test, truth):
                continue  # this branch is never taken
            branches.append(self._block(body, inside))
        result: Facts | None = None
        for branch in branches:
            result = joined(result, branch)
        return result

    def _loop(self, node: Loop, facts: Facts) -> None:
        lengths = {label: len(left) for label, left in self.exits.items()}
        reached = dict(self.reached)

        def round_from(head: Facts) -> Facts | None:
            for label, left in self.exits.items():
                del left[lengths.get(label, 0) :]
            self.reached.clear()
            self.reached.update(reached)
            return self._block(node.body, head.copy())

        head, number = facts, 0
        while True:
            after = joined(facts, round_from(head))
            assert after is not None
            grown = {p: b for p, b in after.bounds.items() if _outside(b, head.bounds.get(p))}
            if not grown:
                break
            number += 1
            for place, bounds in grown.items() if number > ROUNDS else ():
                after.bounds[place] = _widened(bounds, head.bounds.get(place, bounds))
            for place, bounds in head.bounds.items():
                after.bounds[place] = hull(after.bounds[place], bounds)
            head = after
        for _ in range(2):  # narrow again what was widened
            after = joined(facts, round_from(head))
            assert after is not None
            head = after
        round_from(head)

    def _assume(self, facts: Facts, test: Variable, truth: bool) -> bool:
        """Narrow bounds by a test; False where the test contradicts them."""
        operation = facts.tests.get(test)
        if operation is None:
            return True
        one, other = operation.operands
        if operation.op == "bitand":
            logical = all(self._of(facts, v) in ((0, 0), (0, 1), (1, 1)) for v in (one, other))
            if not truth or not logical:
                return True
            return all(
                self._assume(facts, v, True) for v in (one, other) if isinstance(v, Variable)
            )
        op, (a, b), (c, d) = operation.op, self._of(facts, one), self._of(facts, other)
        if op == ("eq" if truth else "ne"):
            narrow = (max(a, c), min(b, d)), (max(a, c), min(b, d))
        elif op in ("eq", "ne"):
            return not (a == b == c == d)
        else:
            if not truth:  # not one < other: other <= one
                one, other, (a, b), (c, d) = other, one, (c, d), (a, b)
                op = "le" if op == "lt" else "lt"
            gap = int(op == "lt")
            narrow = (a, min(b, d - gap)), (max(c, a + gap), d)
        for value, (low, high) in zip((one, other), narrow, strict=True):
            if low > high:
                return False
            if isinstance(value, Variable):
                facts.bounds[value] = low, high
        return True


def _outside(bounds: Interval, inner: Interval | None) -> bool:
    return inner is None or bounds[0] < inner[0] or bounds[1] > inner[1]


def _widened(bounds: Interval, before: Interval) -> Interval:
    low, high = bounds
    if low < before[0]:
        low = 0 if low >= 0 else LEAST
    if high > before[1]:
        high = next(step for step in STEPS if step >= high)
    return low, high


def kernel_bounds(algorithm: Algorithm, form: KernelForm) -> KernelBounds:
    """Bounds of all variables and fields of a kernel."""
    found = KernelBounds(field_bounds(algorithm))
    found.run(form)
    return found
