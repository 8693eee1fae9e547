"""A value is its old one and what it is said to grow by, or within what is said to replace it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from firmware.proof.interval_analysis import PathFacts
from firmware.proof.term_graph import Term, Terms, evaluate
from firmware.proof.widening import SHORT_STEP, BoundsChange, bounds_after, change

NUMBERS = st.integers(-50, 50)


def term_of(data: st.DataObject, terms: Terms, leaves: list[Term], deep: int) -> Term:
    if deep == 0 or data.draw(st.integers(0, 4)) == 0:
        return data.draw(st.sampled_from(leaves))
    op = data.draw(st.sampled_from(["add", "sub", "min", "max"]))
    return terms.make(op, *(term_of(data, terms, leaves, deep - 1) for _ in range(2)))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_value_is_its_old_one_and_some_more_or_something_else(data):
    terms, known = Terms(), PathFacts()
    bounds = [sorted(data.draw(st.tuples(NUMBERS, NUMBERS))) for _ in range(3)]
    names = [terms.var(name, (a, b)) for name, (a, b) in zip("xyz", bounds, strict=True)]
    values = {one.name: data.draw(st.integers(*one.bounds)) for one in names}
    after = term_of(data, terms, [*names, terms.const(1)], 4)
    found = change(after, names[0], known)
    (value,) = evaluate([after], values)
    more = found.more is not None and found.more[0] <= value - values["x"] <= found.more[1]
    apart = found.apart is not None and found.apart[0] <= value <= found.apart[1]
    assert more or apart, (after, found, values)


def test_a_long_step_counts_as_one_unless_it_depends_on_the_old_value():
    terms, known = Terms(), PathFacts()
    old, free = terms.var("old", (0, SHORT_STEP + 9)), terms.var("free", (0, SHORT_STEP + 1))
    assert change(terms.make("add", old, free), old, known).more == (0, SHORT_STEP + 1)
    for most, steps in ((5, (0, 5)), (SHORT_STEP + 1, None)):
        own = terms.make("min", old, terms.const(most))
        assert change(terms.make("add", old, own), old, known).more == steps


def test_bounds_end_where_an_int64_ends():
    most = 2**63 - 1
    assert bounds_after((0, 0), BoundsChange((0, 1), None), most) == (0, most)
    assert bounds_after((0, 0), BoundsChange((0, 1), None), most + 1) is None
    assert bounds_after((0, 0), BoundsChange((-1, 0), None), most + 1) == (-most - 1, 0)
    assert bounds_after((0, 0), BoundsChange((-1, 0), None), most + 2) is None
