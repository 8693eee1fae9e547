"""Ranges in names: what they stand for, and what is said of those that stand for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.range_expansion import expand

RING = """
name = "ring"
duration = "1ms"
[nodes."s{1..3}"]
kind = "switch"
[nodes."h{1..3}"]
kind = "nic"
[links."l{1..3}"]
ends = ["h{}", "s{}"]
rate = "1Gb/s"
[links."ring{1..3}"]
ends = ["s{}", "s{+1}"]
rate = "1Gb/s"
[traffic.f]
plugin = "cbr"
rate = "1Mb/s"
from = "h{1..3}"
to = ["h{2..3}", "h1"]
[traffic."g{2..3}"]
plugin = "cbr"
rate = "{}Mb/s"
from = "h{}"
to = "h1"
"""


def test_a_ring_in_a_few_lines() -> None:
    plan = Plan.load(RING)
    assert list(plan.nodes) == ["s1", "s2", "s3", "h1", "h2", "h3"]
    assert [plan.links[f"ring{n}"].ends for n in (1, 2, 3)] == [
        ("s1", "s2"),
        ("s2", "s3"),
        ("s3", "s1"),
    ]
    assert plan.traffic["f"].pairs == [("h1", "h2"), ("h2", "h3"), ("h3", "h1")]
    assert [flow.entity for flow in plan.flows()] == ["f.0", "f.1", "f.2", "g2", "g3"]
    assert plan.to_table()["traffic"]["g3"]["rate"] == "3Mb/s"
    assert Plan.load(plan.to_toml()) == plan


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("h{1..3}", "h{3..1}", "nodes.h{3..1}"),
        ("s{1..3}", "s{0..4096}", "nodes.s{0..4096}"),
        ("g{2..3}", "g{2..3}x{1..", "traffic"),
        ("g{2..3}", "{a,b}{c,d}{e,f}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}", "traffic"),
        ('from = "h{}"', 'from = "h{,}"', "traffic.g2.from"),
        ('from = "h{1..3}"', 'from = "h{}"', "traffic.f.from"),
        ('"l{1..3}"', '"ring{1..1}"', "links.ring1"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, where: str) -> None:
    with pytest.raises(BadInput) as error:
        Plan.load(RING.replace(old, new, 1))
    assert any(problem.where.startswith(where) for problem in error.value.problems)


def test_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(BadInput, match="3 and 2 elements"):
        Plan.load(RING.replace('"h{2..3}", "h1"', '"h{2..3}"'))


@given(
    st.dictionaries(
        st.sampled_from(["nodes", "links", "traffic", "x"]),
        st.recursive(
            st.one_of(
                st.integers(), st.text(), st.sampled_from(["{1..3}", "{}", "a{2..1}", "{+1}"])
            ),
            lambda inner: (
                st.lists(inner) | st.dictionaries(st.sampled_from(["a{1..2}", "b", "to"]), inner)
            ),
            max_leaves=12,
        ),
    )
)
def test_any_data_is_expanded_or_refused(data: dict[str, object]) -> None:
    try:
        once = expand("plan", data)
    except BadInput:
        return
    assert set(once) == set(data)
