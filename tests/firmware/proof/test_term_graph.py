"""Bounds of terms hold whatever the values are, and vectors compute as Python does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.proof.interval_analysis import PathFacts
from firmware.proof.term_graph import Terms, apply, evaluate
from firmware.proof.widening import bounds_after, change

NUMBERS = st.integers(-(1 << 20), 1 << 20)
TWO = ("add", "sub", "mul", "div", "mod", "bitand", "bitor", "bitxor", "min", "max", "shl", "shr")


@given(st.sampled_from(TWO), NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.data())
def test_a_result_is_within_its_bounds(op, a, b, c, d, data):
    terms, known = Terms(), PathFacts()
    if op in ("shl", "shr"):
        c, d = c % 64, d % 64
    x = terms.var("x", (min(a, b), max(a, b)))
    y = terms.var("y", (min(c, d), max(c, d)))
    values = {"x": data.draw(st.integers(*x.bounds)), "y": data.draw(st.integers(*y.bounds))}
    worth = apply(op, [values["x"], values["y"]])
    if worth is not None:
        low, high = known.bounds(terms.make(op, x, y))
        assert low <= worth <= high


@given(st.sampled_from(("lt", "le", "eq")), st.booleans(), NUMBERS, NUMBERS, NUMBERS, st.data())
def test_what_a_comparison_says_takes_no_value_away(op, truth, a, b, c, data):
    terms, known = Terms(), PathFacts()
    x = terms.var("x", (min(a, b), max(a, b)))
    y = terms.make("sub", x, terms.const(c))
    condition = terms.make(op, y, terms.const(0))
    condition = condition if truth else terms.make("not", condition)
    value = data.draw(st.integers(*x.bounds))
    if evaluate([condition], {"x": value}) == [1]:
        assert known.assume(condition)
        low, high = known.bounds(x)
        assert low <= value <= high


def test_vectors_divide_towards_minus_infinity_as_python_does():
    z3 = pytest.importorskip("z3")
    from firmware.proof.smt_encoding import BitVectorEncoding

    terms, bits = Terms(), BitVectorEncoding()
    for one in (-7, -6, -1, 0, 1, 7):
        for other in (-3, -1, 1, 2, 5):
            for op in ("div", "mod"):
                x, y = (terms.var(f"{n}{v}", (v, v)) for n, v in (("x", one), ("y", other)))
                term = terms.make(op, x, y)
                bits.put(x, z3.BitVecVal(one, 64))
                bits.put(y, z3.BitVecVal(other, 64))
                if one >= 0 and other > 0:
                    continue  # by a quotient and what makes it one
                got = z3.simplify(bits.number(term)).as_signed_long()
                assert got == apply(op, [one, other]), (op, one, other)


def test_what_is_only_added_to_grows_by_so_much_an_event():
    terms, known = Terms(), PathFacts()
    old, more = terms.var("old", (0, 10)), terms.var("more", (2, 5))
    found = change(terms.make("max", terms.make("add", old, more), terms.const(7)), old, known)
    assert found.more == (2, 5)
    assert found.apart == (7, 7)
    assert bounds_after((0, 0), found, 100) == (0, 507)
    assert bounds_after((0, 0), found, 1 << 62) is None
