"""Terms: a kernel's computation as a graph of operations on integers.

A term is exact (no wrapping): whether it fits an int64 is a separate obligation of every operation
(firmware.proof.symbolic_execution). The same graph becomes vectors or integers for a solver
(firmware.proof.smt_encoding), and can be evaluated on numbers. Terms that are alike are one object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""Range of an int64."""
Interval = tuple[int, int]
INT64_RANGE: Interval = (LEAST, MOST)
ORDERS = ("lt", "le", "eq")
LOGIC = ("not", "and", "or")


@dataclass(frozen=True, eq=False)
class Term:
    """An operation. `value` is of a constant, `name` and `bounds` of a variable or a call."""

    op: str
    args: tuple[Term, ...] = ()
    value: int = 0
    name: str = ""
    bounds: Interval = INT64_RANGE
    function: Callable[..., int] | None = None

    @property
    def is_condition(self) -> bool:
        return self.op in ORDERS or self.op in LOGIC or self.op == "truth"

    def __repr__(self) -> str:
        if self.op in ("const", "truth"):
            return str(self.value)
        if self.op == "var":
            return self.name
        return f"{self.op}({', '.join(map(repr, self.args))})"


@dataclass
class Terms:
    """Factory of the terms of one proof; makes each once and folds constants."""

    known: dict[tuple[object, ...], Term] = field(default_factory=dict)

    def const(self, value: int) -> Term:
        return self._interned(("const", value), lambda: Term("const", value=value))

    def truth(self, value: bool) -> Term:
        return self._interned(("truth", value), lambda: Term("truth", value=int(value)))

    def var(self, name: str, bounds: Interval) -> Term:
        """The variable of this name; its bounds are those of its first mention."""
        return self._interned(("var", name), lambda: Term("var", name=name, bounds=bounds))

    def is_worth(self, value: int, op: str, *args: Term) -> None:
        """Define this operation's result as a constant from here on."""
        self.known[op, *map(id, args)] = self.const(value)

    def call(self, function: Callable[..., int], args: tuple[Term, ...], bounds: Interval) -> Term:
        """Result of a function under contract, within `bounds`."""
        if all(arg.op == "const" for arg in args):
            return self.const(int(function(*(arg.value for arg in args))))
        key = ("call", function, *map(id, args))
        return self._interned(
            key,
            lambda: Term("call", args, name=function.__name__, bounds=bounds, function=function),
        )

    def make(self, op: str, *args: Term) -> Term:
        """An operation; a constant where all its operands are and it is defined."""
        if all(arg.op in ("const", "truth") for arg in args):
            value = apply(op, [arg.value for arg in args])
            if value is not None:
                logic = op in ORDERS or op in LOGIC
                return self.truth(bool(value)) if logic else self.const(value)
        for one, other in (args, args[::-1]) if op in ("mul", "add") else ():
            if one.op == "const" and one.value == 0:
                return one if op == "mul" else other
            if one.op == "const" and one.value == 1 and op == "mul":
                return other
        if op == "not" and args[0].op == "not":
            return args[0].args[0]
        if op == "ite" and args[0].op == "truth":
            return args[1] if args[0].value else args[2]
        if op == "ite" and args[1] is args[2]:
            return args[1]
        return self._interned((op, *map(id, args)), lambda: Term(op, args))

    def _interned(self, key: tuple[object, ...], make: Callable[[], Term]) -> Term:
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = make()
        return found


def apply(op: str, values: list[int]) -> int | None:
    """The value of an operation on numbers; None where it has none (division by 0, shifts)."""
    if op in ("div", "mod") and values[1] == 0:
        return None
    if op in ("shl", "shr") and not 0 <= values[1] < 64:
        return None
    return int(OPERATIONS[op](*values))


OPERATIONS: Mapping[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "bitand": lambda a, b: a & b,
    "bitor": lambda a, b: a | b,
    "bitxor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "ite": lambda condition, a, b: a if condition else b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "not": lambda a: not a,
    "and": lambda a, b: bool(a and b),
    "or": lambda a, b: bool(a or b),
}


def variables(roots: list[Term]) -> list[Term]:
    """Variables of terms, in the order of their first use."""
    seen, found, waiting = set[int](), list[Term](), list(reversed(roots))
    while waiting:
        term = waiting.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        if term.op == "var":
            found.append(term)
        waiting += reversed(term.args)
    return found


def evaluate(roots: list[Term], values: Mapping[str, int]) -> list[int | None]:
    """Values of terms for these values of their variables; None where undefined."""
    known: dict[int, int | None] = {}

    def of(term: Term) -> int | None:
        if id(term) in known:
            return known[id(term)]
        if term.op in ("const", "truth"):
            result: int | None = term.value
        elif term.op == "var":
            result = values[term.name]
        else:
            parts = [of(arg) for arg in term.args]
            if any(part is None for part in parts):
                result = None
            elif term.op == "call":
                assert term.function is not None
                result = int(term.function(*parts))
            else:
                result = apply(term.op, [part for part in parts if part is not None])
        known[id(term)] = result
        return result

    return [of(root) for root in roots]
