"""What operands have to do with each other takes no value away from a term's bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware.proof.interval_analysis import PathFacts
from firmware.proof.relational_bounds import at_most
from firmware.proof.term_graph import Term, Terms, evaluate

NUMBERS = st.integers(-(1 << 12), 1 << 12)
NAMES = ("a", "b", "n", "d", "k")


def shapes(terms: Terms, of: dict[str, Term]) -> dict[str, Term]:
    """Terms of which a rule says more than bounds of their operands do."""
    make, a, b, n, d, k = terms.make, *(of[name] for name in NAMES)
    one = terms.const(1)
    part = make("min", n, d)
    step = make("sub", b, a)
    left = make("sub", d, part)
    return {
        "a share": make("div", make("mul", a, part), d),
        "what is left of a share": make("sub", a, make("div", make("mul", a, part), d)),
        "what is left of a part": make("sub", a, make("div", a, k)),
        "what is left of the smaller": make("sub", a, make("min", a, b)),
        "what is left of shifted": make("sub", a, make("shr", a, make("min", k, terms.const(9)))),
        "no more than a constant below": make("sub", a, make("max", b, make("sub", a, k))),
        "a step by a ratio": make("add", a, make("div", make("mul", step, part), d)),
        "a step by a part": make("add", a, make("div", step, k)),
        "a step to the end": make("add", a, make("min", step, k)),
        "a mean": make("div", make("add", make("mul", left, a), make("mul", part, b)), d),
        "no share": make("div", make("mul", a, n), d),
        "no part": make("mul", make("div", a, d), n),
        "no mean": make(
            "div",
            make("add", make("mul", make("sub", d, n), a), make("mul", n, b)),
            d,
        ),
        "no more than a constant above": make("sub", make("min", b, make("add", a, k)), a),
        "how far above": make("sub", a, b),
        "a multiple of a part": make("mul", make("div", a, d), part),
        "no more than fits": make("mul", make("min", b, make("div", a, make("max", k, one))), k),
    }


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(sorted(shapes(Terms(), dict.fromkeys(NAMES, Term("var"))))))
def test_a_value_is_within_what_a_rule_says(data, shape):
    terms, known = Terms(), PathFacts()
    values, of = {}, {}
    for name in NAMES:
        ends = sorted(data.draw(st.tuples(NUMBERS, NUMBERS)))
        if name in "ndk":
            ends = [abs(end) + (name != "n") for end in ends]
            ends.sort()
        of[name] = terms.var(name, (ends[0], ends[1]))
        values[name] = data.draw(st.integers(*of[name].bounds))
    for one, other in (("b", "a"), ("n", "d")):  # what a path may say of them
        if values[one] <= values[other] and data.draw(st.booleans()):
            assert known.assume(terms.make("le", of[one], of[other]))
    if values["a"] < values["b"] + 3 and data.draw(st.booleans()):
        assert known.assume(terms.make("lt", of["a"], terms.make("add", of["b"], terms.const(3))))
    term = shapes(terms, of)[shape]
    (worth,) = evaluate([term], values)
    low, high = known.bounds(term)
    assert low <= worth <= high


@pytest.mark.parametrize("shape", ["a share", "a step by a ratio", "a mean", "no more than fits"])
def test_a_rule_says_more_than_bounds_do(shape):
    terms, known = Terms(), PathFacts()
    of = {name: terms.var(name, (1, 1000)) for name in NAMES}
    assert known.bounds(shapes(terms, of)[shape])[1] <= 1000


def test_a_multiple_beyond_its_part_and_what_is_just_below_an_end_are_within():
    terms, known = Terms(), PathFacts()
    of = {name: terms.var(name, (0, 100)) for name in NAMES}
    of |= {"d": terms.var("one", (1, 1)), "n": terms.var("five", (5, 5))}
    assert known.bounds(shapes(terms, of)["no part"])[1] >= 500
    assert known.assume(terms.make("lt", of["a"], terms.make("add", of["b"], terms.const(3))))
    assert known.bounds(shapes(terms, of)["how far above"])[1] == 2


def test_a_share_is_at_most_its_whole_only_where_it_is_divided_by_no_less():
    terms, known = Terms(), PathFacts()
    of = {name: terms.var(name, (1, 1000)) for name in NAMES}
    share, none = (shapes(terms, of)[shape] for shape in ("a share", "no share"))
    assert at_most(known, share, of["a"])
    assert not at_most(known, none, of["a"])
