"""Uninterpreted functions of a proof: products, quotients, draws and spread intervals.

For the solver, `product(a, b)` is a function of which only congruence and the given `facts` are
known. A theorem about every such function holds for the real one; a counterexample need not, so it
is evaluated again with the definition (firmware.proof.function_definitions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from firmware.proof.interval_analysis import PathFacts
from firmware.proof.kernel_source import python_function
from firmware.proof.smt_encoding import BitVectorEncoding
from firmware.proof.term_graph import Term, Terms
from firmware.proof.z3_solver import cached_per_context, z3
from orchestrator.engine.lfsr import jittered, lfsr_next

WIDTH = 64
Definition = tuple[Any, Any]
"""A variable, and the term that it replaces."""


@cached_per_context
def uninterpreted(name: str, arguments: int) -> Any:
    """Uninterpreted function of vectors of 64 bits."""
    z = z3()
    return z.Function(name, *[z.BitVecSort(WIDTH)] * (arguments + 1))


def product(one: Any, other: Any) -> Any:
    return uninterpreted("product", 2)(one, other)


def quotient(dividend: Any, divisor: Any) -> Any:
    return uninterpreted("quotient", 2)(dividend, divisor)


def lfsr_draw(value: Any) -> Any:
    """`lfsr_next`."""
    return uninterpreted("drawn", 1)(value)


def spread(base: Any, random: Any) -> Any:
    """`jittered`, by the upper half of a draw."""
    return uninterpreted("spread", 2)(base, z3().LShR(random, 16))


CALLS: Mapping[Any, Callable[..., Any]] = {
    python_function(lfsr_next): lfsr_draw,
    python_function(jittered): spread,
}
"""Functions of kernels that modules compute in blocks with claims of their own."""


def commute(one: Any, other: Any) -> Any:
    """Fact about products: commutativity."""
    return product(one, other) == product(other, one)


def product_at_most(one: Any, other: Any, most_one: int, most_other: int) -> Any:
    """A fact of products: no more than that of the bounds, which 64 bits hold."""
    z = z3()
    assert most_one * most_other < 1 << WIDTH
    inside = z.And(z.ULE(one, most_one), z.ULE(other, most_other))
    return z.Implies(inside, z.ULE(product(one, other), most_one * most_other))


def product_within(one: Any, other: Any, most_one: int, most_other: int) -> Any:
    """A fact of products of a signed number by one that is not: no further from 0 than these."""
    z, far = z3(), most_one * most_other
    assert far < 1 << (WIDTH - 1)
    inside = z.And(one >= -most_one, one <= most_one, other >= 0, other <= most_other)
    found = product(one, other)
    return z.Implies(inside, z.And(found >= -far, found <= far))


class Opaque(BitVectorEncoding):
    """Encoding of terms as vectors, with uninterpreted products, quotients and calls."""

    def __init__(self, terms: Terms, known: PathFacts | None = None) -> None:
        super().__init__(WIDTH, known)
        self.terms = terms
        self.definitions: list[Definition] = []

    def _number(self, term: Term) -> Any:
        if term.op == "call":
            return CALLS[term.function](*(self.number(arg) for arg in term.args))
        chosen = self._by_choice(term)
        if chosen is not term:
            return self.number(chosen)
        halves = _halves(term)
        if halves:  # shifting rounds down as well
            return self.number(term.args[0]) >> halves
        if len(term.args) == 2 and all(arg.op != "const" for arg in term.args):
            left, right = (self.number(arg) for arg in term.args)
            if term.op == "mul":
                self.facts.append(commute(left, right))
                return product(left, right)
            if term.op in ("div", "mod") and self._by_quotient(term):
                found = quotient(left, right)
                return found if term.op == "div" else left - product(found, right)
        return super()._number(term)

    def _by_choice(self, term: Term) -> Term:
        """An entry of a table times something: the choice among what that makes of each."""
        if term.op not in ("mul", "div"):
            return term
        args = [self._by_choice(arg) for arg in term.args]
        for place, arg in enumerate(args):
            if arg.op == "ite" and _is_table(arg):
                condition, *ways = arg.args
                of = [self.terms.make(term.op, *args[:place], w, *args[place + 1 :]) for w in ways]
                return self.terms.make("ite", condition, *(self._by_choice(one) for one in of))
        return term

    def _quotient(self, term: Term, left: Any, right: Any) -> Any:
        known = (id(term.args[0]), id(term.args[1])) in self._quotients
        found = super()._quotient(term, left, right)
        if not known:
            self.definitions.append((found, z3().UDiv(left, right)))
        return found


def _halves(term: Term) -> int:
    """Number of halvings of a term; 0 where it divides by no power of two."""
    by = term.args[1].value if term.op == "div" and term.args[1].op == "const" else 0
    return by.bit_length() - 1 if by > 0 and by & (by - 1) == 0 else 0


def _is_table(term: Term) -> bool:
    """A choice among constants, or constants times something."""
    if term.op == "ite":
        return all(_is_table(one) for one in term.args[1:])
    return term.op == "const" or (term.op == "mul" and term.args[0].op == "const")
