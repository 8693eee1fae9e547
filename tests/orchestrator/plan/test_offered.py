"""How long a plan may last is a matter of what its sources send, not of what its links could."""

from __future__ import annotations

import re
from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.units import DURATION
from orchestrator.registry import Registry

S = 10**12
HOUR = 3600 * S


def check(duration: int, timeline: list[dict[str, Any]] | None = None, **traffic: Any) -> None:
    """Resolve a plan of one 400 Gb/s link and one traffic entry."""
    ends = {"from": "a", "to": "b"}
    Plan(
        name="long",
        duration=duration,
        sample_interval=duration // 100,
        nodes={"a": {"kind": "nic"}, "b": {"kind": "nic"}},
        links={"l": {"ends": ["a", "b"], "rate": 400 * 10**9}},
        traffic={"t": ends | traffic},
        timeline=timeline or [],
    ).check(Registry.load())


LITTLE: dict[str, dict[str, Any]] = {
    "cbr": {"plugin": "cbr", "rate": 10**6},
    "bernoulli": {"plugin": "bernoulli", "rate": 10**6, "peak": 10**9},
    "pareto-onoff": {"plugin": "pareto-onoff", "rate": 10**7, "peak": 10**9},
    "random-flows": {"plugin": "random-flows", "rate": 10**6},
    "poisson": {"plugin": "poisson", "load": "1/100000"},
    "fixed": {"plugin": "poisson", "load": "1/1000", "sizes": "fixed", "size": 10**6},
    "messages": {"plugin": "messages", "size": 10**6, "count": 3},
    "incast": {"plugin": "incast", "size": 10**4},
    "all-to-all": {"plugin": "all-to-all", "size": 10**6, "bidirectional": True, "to": ["b"]},
}


@pytest.mark.parametrize("traffic", LITTLE.values(), ids=LITTLE)
def test_a_source_that_sends_little_may_send_for_an_hour_over_a_fast_link(
    traffic: dict[str, Any],
) -> None:
    check(HOUR, **traffic)


MUCH: dict[str, dict[str, Any]] = {
    "cbr": {"plugin": "cbr", "rate": 200 * 10**9},
    "many flows": {"plugin": "cbr", "rate": 10**9, "flows": 200},
    "poisson": {"plugin": "poisson", "load": "1/2", "sizes": "fixed", "size": 100},
    "messages": {"plugin": "messages", "size": 10**6, "interval": 10**8, "count": 0},
    "bulk": {"plugin": "bulk"},
}


@pytest.mark.parametrize("traffic", MUCH.values(), ids=MUCH)
def test_one_that_sends_much_is_refused_and_told_how_long_it_may(traffic: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="the plan's sources would send") as refused:
        check(HOUR, **traffic)
    found = re.search(r"a duration of at most (\S+) is expected", str(refused.value))
    assert found
    longest = int(DURATION.parse(found[1]))
    check(longest * 98 // 100, **traffic)
    with pytest.raises(BadInput):
        check(longest * 105 // 100, **traffic)


def test_a_rate_that_the_timeline_sets_counts() -> None:
    steps = [{"at": S, "set": "traffic.t.rate", "to": 300 * 10**9}]
    with pytest.raises(BadInput, match="the plan's sources would send"):
        check(HOUR, steps, plugin="cbr", rate=10**6)


def test_many_entries_of_one_nic_send_no_more_than_its_links_carry() -> None:
    ends = {"from": "a", "to": "b", "plugin": "bulk"}
    nodes = {"a": {"kind": "nic"}, "b": {"kind": "nic"}}
    links = {"l": {"ends": ["a", "b"], "rate": 400 * 10**9}}
    traffic = {f"t{n}": ends for n in range(10)}
    plan = {"name": "many", "sample_interval": S, "nodes": nodes, "links": links}
    Plan(duration=290 * S, traffic=traffic, **plan).check(Registry.load())
