"""Encoding of terms for a solver: as integers, or as vectors of 64 bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from firmware.proof.interval_analysis import PathFacts
from firmware.proof.term_graph import Term
from firmware.proof.z3_solver import check_sat, z3


class _Encoding(ABC):
    """Encoding of terms, each made once; subclasses encode numbers."""

    def __init__(self, known: PathFacts) -> None:
        self.z3, self.known = z3(), known
        self._made: dict[int, Any] = {}
        self.facts: list[Any] = []

    def number(self, term: Term) -> Any:
        if id(term) not in self._made:
            self._made[id(term)] = self._number(term)
        return self._made[id(term)]

    def condition(self, term: Term) -> Any:
        z = self.z3
        if term.op == "truth":
            return z.BoolVal(bool(term.value))
        if term.op in ("not", "and", "or"):
            make = {"not": z.Not, "and": z.And, "or": z.Or}[term.op]
            return make(*(self.condition(arg) for arg in term.args))
        left, right = (self.number(arg) for arg in term.args)
        if term.op == "eq":
            return left == right
        return left < right if term.op == "lt" else left <= right

    @abstractmethod
    def _number(self, term: Term) -> Any: ...


class IntegerEncoding(_Encoding):
    """Encoding as integers. Bitwise operations are known by their bounds only: "sat" must be
    confirmed, "unsat" is final."""

    def _number(self, term: Term) -> Any:
        z = self.z3
        if term.op == "const":
            return z.IntVal(term.value)
        if term.op == "ite":
            condition, one, other = term.args
            return z.If(self.condition(condition), self.number(one), self.number(other))
        if term.op == "shl" or (term.op == "shr" and term.args[1].op == "const"):
            shift = term.args[1]
            if shift.op == "const":
                number, factor = self.number(term.args[0]), 1 << shift.value
                return number * factor if term.op == "shl" else number / z.IntVal(factor)
        if term.op == "bitand":
            for one, mask in (term.args, term.args[::-1]):
                if mask.op == "const" and mask.value > 0 and mask.value & (mask.value + 1) == 0:
                    return self.number(one) % (mask.value + 1)
        if term.op in ("add", "sub", "mul", "min", "max", "div", "mod"):
            return self._arithmetic(term, *(self.number(arg) for arg in term.args))
        return self._free(term)

    def _arithmetic(self, term: Term, left: Any, right: Any) -> Any:
        z, op = self.z3, term.op
        if op in ("min", "max"):
            return z.If(left <= right if op == "min" else left >= right, left, right)
        if op in ("div", "mod"):
            low = self.known.bounds(term.args[1])[0]
            if term.args[1].op == "const" and low > 0:  # Python and z3 agree
                return left / right if op == "div" else left % right
            # q * d <= n < (q + 1) * d avoids a division
            quotient = z.FreshInt("quotient")
            rest = left - quotient * right
            self.facts += [z.Implies(right > 0, z.And(rest >= 0, rest < right))]
            if low <= 0:
                self.facts += [z.Implies(right < 0, z.And(rest <= 0, rest > right))]
            elif self.known.bounds(term.args[0])[0] >= 0:
                self.facts += [quotient >= 0, quotient <= left]
            return quotient if op == "div" else rest
        return {"add": left + right, "sub": left - right, "mul": left * right}[op]

    def _free(self, term: Term) -> Any:
        """Variable with the bounds of a term."""
        number = self.z3.Int(term.name) if term.op == "var" else self.z3.FreshInt(term.op)
        low, high = self.known.bounds(term)
        self.facts += [number >= low, number <= high]
        return number


def solve(
    known: PathFacts, wanted: Iterable[Term], seconds: float, seed: int = 0
) -> tuple[str, dict[str, int]]:
    """Decide whether all of `wanted` can hold on a path: "unsat", "sat" with values, or
    "unknown"."""
    z = z3()
    whole = IntegerEncoding(known)
    conditions = [whole.condition(one) for one in [*known.assumed, *wanted]]
    solver = z.SimpleSolver()  # the other encoding checks the time itself
    solver.set("random_seed", seed)
    solver.add(*conditions, *whole.facts)
    said = check_sat(solver, seconds)
    if said != "sat":
        return said, {}
    model = solver.model()
    values = {str(one): model[one].as_long() for one in model.decls() if z.is_int_value(model[one])}
    return said, values


class BitVectorEncoding(_Encoding):
    """Encoding as signed vectors of `width` bits; 64 bits compute as an int64.

    A division by a positive number is encoded by its quotient, with as many bits as its bounds
    need, and its definition (`facts`): q d <= n < (q + 1) d.
    """

    def __init__(self, width: int = 64, known: PathFacts | None = None) -> None:
        super().__init__(known or PathFacts())
        self.width = width
        self._quotients: dict[tuple[int, int], Any] = {}

    def put(self, term: Term, vector: Any) -> None:
        """Encode a term as a given vector."""
        self._made[id(term)] = vector

    def _number(self, term: Term) -> Any:
        z = self.z3
        if term.op == "const":
            return z.BitVecVal(term.value, self.width)
        if term.op == "var":
            return z.BitVec(term.name, self.width)
        if term.op == "ite":
            condition, one, other = term.args
            return z.If(self.condition(condition), self.number(one), self.number(other))
        left, right = (self.number(arg) for arg in term.args)
        if term.op == "mul" and (bits := self._bits_of_product(term)):
            short = z.Extract(bits - 1, 0, left) * z.Extract(bits - 1, 0, right)
            return z.ZeroExt(self.width - bits, short)
        if term.op in ("min", "max"):
            return z.If(left <= right if term.op == "min" else left >= right, left, right)
        if term.op in ("div", "mod") and self._by_quotient(term):
            quotient = self._quotient(term, left, right)
            return quotient if term.op == "div" else left - quotient * right
        if term.op in ("div", "mod"):  # towards minus infinity
            rest = z.SRem(left, right)
            apart = z.And(rest != 0, (rest < 0) != (right < 0))
            if term.op == "mod":
                return z.If(apart, rest + right, rest)
            return z.If(apart, left / right - 1, left / right)
        operations = {
            "add": lambda: left + right,
            "sub": lambda: left - right,
            "mul": lambda: left * right,
            "shl": lambda: left << right,
            "shr": lambda: left >> right,
            "bitand": lambda: left & right,
            "bitor": lambda: left | right,
            "bitxor": lambda: left ^ right,
        }
        return operations[term.op]()

    def _by_quotient(self, term: Term) -> bool:
        left, right = (self.known.bounds(arg) for arg in term.args)
        return left[0] >= 0 and right[0] > 0 and left[1] + right[1] < 1 << (self.width - 1)

    def _quotient(self, term: Term, left: Any, right: Any) -> Any:
        z, key = self.z3, (id(term.args[0]), id(term.args[1]))
        if key not in self._quotients:
            most = self.known.bounds(term.args[0])[1] // self.known.bounds(term.args[1])[0]
            if term.op == "div":
                most = min(most, self.known.bounds(term)[1])
            bits = max(most.bit_length(), 1)
            quotient = z.ZeroExt(self.width - bits, z.FreshConst(z.BitVecSort(bits), "quotient"))
            rest = left - quotient * right
            self.facts += [rest >= 0, rest < right]
            self._quotients[key] = quotient
        return self._quotients[key]

    def _bits_of_product(self, term: Term) -> int:
        """Bits of a non-negative product; 0 where that saves none."""
        left, right = (self.known.bounds(arg) for arg in term.args)
        most = left[1] * right[1]
        if left[0] < 0 or right[0] < 0 or any(arg.op == "const" for arg in term.args):
            return 0
        return most.bit_length() if 0 < most.bit_length() < self.width else 0
