"""Rings of paused links are found, named and dated; what only looks like one is not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import plugins
from orchestrator.plan import Plan
from orchestrator.plan.cyclic_dependencies import wait_cycles
from orchestrator.plan.pause_dependencies import Network, Wait, network
from orchestrator.registry import Registry
from orchestrator.run import pause_deadlocks
from orchestrator.run.execute_run import run

PLANS = Path(plugins.__file__).parent / "plans"
RING = ("s1>s2", "s2>s3", "s3>s1")


def result_of(name: str, **changes: Any) -> dict[str, Any]:
    table = tomllib.loads((PLANS / f"{name}.toml").read_text("utf-8")) | changes
    return run(Plan(**table), target="simulated", out=None).result


def test_a_ring_is_found_explained_and_dated() -> None:
    result = result_of("pathology-deadlock-ring")
    (found,) = result["deadlocks"]
    assert tuple(found["links"]) == RING
    assert 0.001 < found["since_s"] < 0.005
    assert "s1>s2 waits for s2>s3, s2>s3 waits for s3>s1" in found["text"]
    assert found["text"] in result["notes"]
    assert result["verdict"] == "met"
    assert result["fidelity"]["verdict"] == "valid"


def test_its_event_stands_where_it_began() -> None:
    table = tomllib.loads((PLANS / "pathology-deadlock-ring.toml").read_text("utf-8"))
    recording = run(Plan(**table), out=None).recording
    (event,) = [event for event in recording.events if event.kind == "deadlock"]
    assert event.detail["links"] == list(RING)


@pytest.mark.parametrize(
    "name", ["pathology-pause-storm", "pathology-saturation-tree", "pathology-headroom-overrun"]
)
def test_held_links_without_a_ring_are_none(name: str) -> None:
    assert result_of(name)["deadlocks"] == []


def test_a_ring_whose_flows_stop_in_time_is_none() -> None:
    """With one flow fewer the ring's last link is never overloaded."""
    table = tomllib.loads((PLANS / "pathology-deadlock-ring.toml").read_text("utf-8"))
    traffic = {k: v for k, v in table["traffic"].items() if "{" not in k}
    traffic["round1"] = {"plugin": "cbr", "from": "h1", "to": "h3", "rate": "10Gb/s"}
    traffic["round2"] = {"plugin": "cbr", "from": "h2", "to": "h1", "rate": "10Gb/s"}
    result = result_of("pathology-deadlock-ring", traffic=traffic)
    assert result["deadlocks"] == []
    assert result["metrics"]["stuck"]["traffic"]["throughput_bps"] > 9e9


def test_waits_follow_the_flows_and_their_lanes() -> None:
    table = tomllib.loads((PLANS / "pathology-deadlock-ring.toml").read_text("utf-8"))
    table |= {"priorities": "separate", "expect": [], "mutant": []}
    table["traffic"]["more{1..3}"]["priority"] = 3
    found = Plan(**table).check(Registry.load())
    waits = network(found).waits
    for lane in ("p0", "p3"):
        after = [to for link, to in waits if link == f"s1>s2/{lane}"]
        assert after == [f"s2>s3/{lane}"]
    recording = run(found.plan, out=None).recording
    assert all(
        "/p" in link
        for one in pause_deadlocks.find_deadlocks(found, recording)
        for link in one.links
    )


@pytest.mark.parametrize(
    ("waits", "ring"),
    [
        ({}, []),
        ({"a": ["b"], "b": ["c"], "c": []}, []),
        ({"a": ["b"], "b": ["a"]}, [("a", "b")]),
        ({"x": ["a"], "a": ["b", "d"], "b": [], "d": ["c"], "c": ["a"]}, [("a", "d", "c")]),
        ({"a": ["a"]}, [("a",)]),
        ({"a": ["c"], "b": ["c"], "c": ["d"], "d": []}, []),
        ({"a": ["b"], "b": ["a"], "c": ["d"], "d": ["c", "a"]}, [("a", "b"), ("c", "d")]),
        ({"a": ["b", "c"], "b": ["a"], "c": ["d"], "d": ["a"]}, [("a", "b")]),
    ],
)
def test_rings_of_a_graph(waits: dict[str, list[str]], ring: list[tuple[str, ...]]) -> None:
    why = Wait("buffer", "pfc", "traffic")
    pairs = {(link, after): why for link, several in waits.items() for after in several}
    assert [one.links for one in wait_cycles(Network(waits=pairs))] == ring
