"""Templates, bases, lists: what they come to, and what is said of those that come to nothing."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import BadInput
from orchestrator.plan import Nic, Plan
from orchestrator.plan.algorithm_params import without_files
from orchestrator.plan.range_expansion import expand
from orchestrator.plan.table_overlay import over

NET = """
name = "net"
duration = "10ms"
[lists]
net = ["p", "q"]
[templates.host]
kind = "nic"
limiter = { depth = "3KB", period = "16us" }
[templates.quick]
like = "host"
limiter.period = "10us"
[templates.cable]
rate = "7Mb/s"
delay = "10us"
[nodes."{net}a"]
like = "host"
[nodes."{net}b"]
like = "quick"
reaction_points = 4
[links."{net}-{1..2}"]
like = "cable"
ends = ["{net}a", "{net}b"]
[traffic."{net}f"]
plugin = "cbr"
rate = "1Mb/s"
from = "{net}a"
to = "{net}b"
via = "{net}-2"
[[timeline]]
at = "1ms"
set = "traffic.{net}f.rate"
to = "2Mb/s"
[[timeline]]
at = "2ms"
set = "links.{net}-1.rate"
to = "3Mb/s"
[phases."early{1..2}"]
from = "0s"
to = "{}ms"
[[expect]]
metric = "throughput_bps"
of = "{p,q}f"
phase = "early{1..2}"
min = "1Mb/s"
note = "{1} in {2}"
"""


def test_tables_are_laid_over_their_templates() -> None:
    plan = Plan.load(NET)
    assert list(plan.nodes) == ["pa", "pb", "qa", "qb"]  # network by network
    b = plan.nodes["qb"]
    assert isinstance(b, Nic)
    assert (b.reaction_points, b.limiter.depth, b.limiter.period) == (4, 3000, 10**7)
    assert list(plan.links) == ["p-1", "p-2", "q-1", "q-2"]
    assert plan.links["q-2"].ends == ("qa", "qb")
    assert [step.set for step in plan.timeline] == [
        "traffic.pf.rate",
        "links.p-1.rate",
        "traffic.qf.rate",
        "links.q-1.rate",
    ]
    assert [(e.of, e.phase, e.note) for e in plan.expect] == [
        ("pf", "early1", "p in 1"),
        ("pf", "early2", "p in 2"),
        ("qf", "early1", "q in 1"),
        ("qf", "early2", "q in 2"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('like = "quick"\nrea', 'like = "qick"\nrea', "did you mean quick?"),
        ('like = "quick"\nrea', "like = 7\nrea", "the name of a template"),
        ('[templates.quick]\nlike = "host"', '[templates.quick]\nlike = "quick"', "circle"),
        ("[templates.cable]", "[templates.spare]\n[templates.cable]", "spare: nothing uses it"),
        ("[lists]", '[lists]\nspare = ["x"]', "spare: nothing uses it"),
        ('net = ["p", "q"]', "net = 7", "a list of words"),
        ('net = ["p", "q"]', 'net = ["{net}"]', "not made of itself"),
        ('from = "{net}a"', 'from = "{nt}a"', "did you mean net?"),
        ('of = "{p,q}f"', 'of = "{p..q}f"', "a range such as"),
        ('name = "net"', 'name = "net"\nbase = "nett"', "plan 'nett'"),
        ('name = "net"', 'name = "net"\nscale = 2', "needs a 'base'"),
    ],
)
def test_what_comes_to_nothing_is_named(old: str, new: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        Plan.load(NET.replace(old, new, 1))
    assert words in str(caught.value)


@pytest.fixture
def net(tmp_path: Path) -> Path:
    (tmp_path / "net.toml").write_text(NET)
    return tmp_path / "top.toml"


def test_a_plan_goes_on_top_of_another(net: Path) -> None:
    (net.parent / "net.toml").write_text(NET.replace('"{}ms"', '"2ms"'))
    net.write_text("""
base = "net"
scale = 100
name = "top"
without = ["timeline", "phases.early2"]
[templates]
host.limiter.period = "16us"
[nodes.pb]
reaction_points = 7
[[expect]]
metric = "throughput_bps"
of = "{p,q}f"
phase = "early2"
relative_to = "traffic"
min = 1
[phases.early2]
from = "0s"
to = "5us"
[[expect]]
metric = "throughput_bps"
of = "pf"
phase = "early1"
note = "faster"
""")
    plan = Plan.load(net)
    assert (plan.name, plan.duration, plan.timeline) == ("top", 10**8, [])
    assert (plan.links["p-1"].rate, plan.links["p-1"].delay) == (700_000_000, 100_000)
    a, b = plan.nodes["pa"], plan.nodes["pb"]
    assert isinstance(a, Nic)
    assert isinstance(b, Nic)
    assert (a.limiter.period, a.limiter.depth) == (16_000_000, 3000)  # not scaled: it is its own
    assert (b.limiter.period, b.reaction_points) == (100_000, 7)
    assert plan.expect[0].note == "faster"
    assert plan.expect[0].min == "100Mb/s"
    assert len(plan.expect) == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('base = "nat"', "did you mean net"),
        ('base = "deep/net.toml"', "a file below"),
        ("base = 3", "the name of a plan"),
        ('base = "top"', "without a circle"),
        ('base = "net"\nscale = 0', "more than 0"),
        ('base = "net"\nscale = "fast"', "a ratio such as"),
        ('base = "net"\nscale = 7', "whole number of ps at scale 7"),
        ('base = "net"\nwithout = ["nodes.pc"]', "unknown key of the base 'nodes.pc'"),
        ('base = "net"\nwithout = ["name.x"]', "nothing below name"),
        ('base = "net"\nwithout = "timeline"', "a list of keys"),
    ],
)
def test_a_base_that_does_not_do_is_named(net: Path, text: str, words: str) -> None:
    net.write_text(text + "\n")
    with pytest.raises(BadInput) as caught:
        Plan.load(net)
    assert words in str(caught.value)
    assert str(net.parent) in str(caught.value)


def test_what_came_from_another_machine_reads_no_file(net: Path) -> None:
    net.write_text('base = "net"\n')
    with without_files(), pytest.raises(BadInput, match="another machine"):
        Plan.load(net)
    with pytest.raises(BadInput, match=r"'Plan\.load' reads it"):
        Plan(**tomllib.loads(net.read_text()))


def test_a_quantity_that_a_range_makes_is_not_scaled_wrongly(net: Path) -> None:
    net.write_text('base = "net"\nscale = 10\n')
    with pytest.raises(BadInput, match="without braces"):
        Plan.load(net)


TABLES = st.recursive(
    st.integers() | st.text("abc", max_size=3),
    lambda inner: st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(TABLES, TABLES, TABLES)
def test_laying_over_goes_together(a: Any, b: Any, c: Any) -> None:
    assert over(a, a) == a
    if all(isinstance(table, dict) for table in (a, b, c)):
        assert over(a, b).keys() == a.keys() | b.keys()
        assert over(over(a, b), b) == over(a, b)


@given(st.permutations(["lists", "templates", "nodes", "links", "traffic", "phases", "expect"]))
def test_the_order_of_sections_means_nothing(order: list[str]) -> None:
    data = tomllib.loads(NET)
    moved = {key: data[key] for key in [*order, *(key for key in data if key not in order)]}
    assert expand("plan", moved) == expand("plan", data)


def test_what_is_expanded_stays_as_it_is() -> None:
    once = expand("plan", tomllib.loads(NET))
    assert expand("plan", once) == once
    assert Plan.load(Plan.load(NET).to_toml()) == Plan.load(NET)
