"""A switch that storms by a pattern: one that storms otherwise, or with a lapse, is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from tests.traces.oracle.test_mutants import captured
from traces.oracle.conformance_judge import judge

PLAN = """
name = "stormed"
duration = "12ms"
[nodes."h{1..2}"]
kind = "nic"
host_queues = "shared"
reaction_points = 0
[nodes.s]
kind = "switch"
[nodes.s.pause]
plugin = "pause-storm"
start = "1ms"
storm_time = "3ms"
idle_time = "1ms"
quanta = 1000
[nodes.d]
kind = "sink"
[links."l{1..2}"]
ends = ["h{}", "s"]
rate = "1Gb/s"
delay = "5us"
[links.out]
ends = ["s", "d"]
rate = "1Gb/s"
delay = "5us"
[traffic.t]
plugin = "cbr"
from = "h{1..2}"
to = "d"
rate = "0.3Gb/s"
[capture]
ports = ["s.h1", "s.h2", "s.d"]
"""


def stormed(*settings: str) -> ResolvedPlan:
    return Plan.load(PLAN).with_settings(list(settings)).check(Registry.load())


def test_a_storm_and_the_ports_that_it_holds_conform(tmp_path: Path) -> None:
    plan = stormed()
    found = {node.name: node for node in judge(captured(plan, tmp_path), plan).nodes}
    assert {name: node.finding for name, node in found.items()} == {
        "h1": None,
        "h2": None,
        "s": None,
    }
    assert all(node.frames > 100 for node in found.values())


@pytest.mark.parametrize(
    "wrong", ["margin=1/8", "quanta=900", "on=2.9ms", "off=1.1ms", "vector=8", "start=1.1ms"]
)
def test_one_that_storms_otherwise_is_found(wrong: str, tmp_path: Path) -> None:
    device = stormed(f"nodes.s.pause.{wrong}")
    found = {node.name: node for node in judge(captured(device, tmp_path), stormed()).nodes}
    assert found["s"].finding is not None
