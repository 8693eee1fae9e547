"""What a proof takes by name: the functions behind the names, and what is said of them."""

from __future__ import annotations

import random

import pytest

from orchestrator.engine.lfsr import jittered, lfsr_next

z3 = pytest.importorskip("z3")

from firmware.proof import function_definitions, uninterpreted_functions  # noqa: E402
from firmware.proof.term_graph import Terms  # noqa: E402

DRAWS = random.Random(22)


def vector(value: int):
    return z3.BitVecVal(value, 64)


def worth(expression) -> int:
    return z3.simplify(function_definitions.with_definitions(expression)).as_long()


@pytest.mark.parametrize("bits", [1, 7, 30, 45])
def test_the_functions_behind_the_names_are_those_of_kernels(bits):
    for _ in range(20):
        base, word = DRAWS.getrandbits(bits), DRAWS.getrandbits(32)
        assert worth(uninterpreted_functions.spread(vector(base), vector(word))) == jittered(
            base, word
        )
        assert worth(uninterpreted_functions.lfsr_draw(vector(word))) == lfsr_next(word)
        divisor = DRAWS.getrandbits(16) or 1
        assert (
            worth(uninterpreted_functions.product(vector(base), vector(divisor))) == base * divisor
        )
        assert (
            worth(uninterpreted_functions.quotient(vector(base), vector(divisor)))
            == base // divisor
        )


def refuted(fact) -> bool:
    """Whether the real functions contradict a fact."""
    solver = z3.Solver()
    solver.add(z3.Not(function_definitions.with_definitions(fact)))
    return solver.check() == z3.sat


def test_facts_hold_of_the_real_functions_at_their_corners_and_at_random():
    for _ in range(40):
        one, other = DRAWS.choice([0, 1, 99, 100]), DRAWS.choice([0, 1, 49, 50])
        assert not refuted(
            uninterpreted_functions.product_at_most(vector(one), vector(other), 100, 50)
        )
        assert not refuted(
            uninterpreted_functions.product_within(vector(-one % (1 << 64)), vector(other), 100, 50)
        )
        assert not refuted(
            uninterpreted_functions.product_within(vector(one), vector(other), 100, 50)
        )
        assert not refuted(uninterpreted_functions.commute(vector(one), vector(other)))


def test_what_is_no_identity_is_no_fact():
    high, low, draw = z3.BitVecs("high low draw", 64)
    whole = uninterpreted_functions.product(high * 65536 + low, draw)
    parts = uninterpreted_functions.product(high, draw) * 65536 + uninterpreted_functions.product(
        low, draw
    )
    assert function_definitions.same_sum(whole, parts) is not None
    with pytest.raises(AssertionError, match="no identity"):
        function_definitions.same_sum(whole, parts + uninterpreted_functions.product(low, low))
    with pytest.raises(AssertionError):
        uninterpreted_functions.product_at_most(high, low, 1 << 40, 1 << 24)


def test_an_entry_of_a_table_times_something_is_a_choice_among_products_by_constants():
    terms = Terms()
    index, factor = (terms.var(name, (0, 9)) for name in ("index", "factor"))

    def entry(*entries):
        first, *rest = entries
        if not rest:
            return first
        is_first = terms.make("lt", index, terms.const(10 - len(rest)))
        return terms.make("ite", is_first, first, entry(*rest))

    numbers = [terms.const(value) for value in (3, 5, 7)]
    scaled = [terms.make("mul", number, index) for number in numbers]
    for table, is_opaque in (
        (entry(*numbers), False),
        (entry(*scaled), False),
        (entry(numbers[0], factor), True),
    ):
        opaque = uninterpreted_functions.Opaque(terms)
        made = str(opaque.number(terms.make("mul", table, factor)))
        assert ("product(If" in made) == is_opaque, made
