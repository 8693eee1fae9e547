"""The oracle knows of the faults that a plan's timeline injects: it blames no device for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from tests.traces.oracle.plans import QCN
from tests.traces.oracle.test_mutants import captured
from traces.oracle.conformance_judge import Settings, judge

STEPS = {
    "drop": 'drop = "gen.0"',
    "mark": 'mark = "gen.0"',
    "corrupt": 'corrupt = "gen.1"',
    "ipv4_checksum": 'corrupt = "gen.1"\nfield = "ipv4_checksum"',
    "udp_checksum": 'corrupt = "gen.1"\nfield = "udp_checksum"',
    "delay": 'delay = "gen.0"\nby = "70us"',
    "duplicate": 'duplicate = "gen.1"',
    "cnm": 'drop = "gen.0"\nof = "cnm"',
}
PORTS = ("nic.switch", "switch.sink")


def resolved(step: str = "", port: str = "") -> ResolvedPlan:
    at = f'\n[[timeline]]\nat = "20ms"\npacket = 7\npackets = 2\n{step}\n' if step else ""
    named = f'port = "{port}"\n' if port else ""
    text = QCN.replace('"0.25s"', '"0.06s"').replace('"0.1s"', '"0.04s"')
    return Plan.load(text.replace("\n[capture]", f"{at}{named}\n[capture]")).check(Registry.load())


@pytest.mark.parametrize("verb", STEPS)
@pytest.mark.parametrize("port", PORTS)
def test_no_device_is_blamed_for_what_the_plan_injects(
    verb: str, port: str, tmp_path: Path
) -> None:
    plan = resolved(STEPS[verb], "" if verb == "cnm" else port)
    found = judge(captured(plan, tmp_path), plan)
    assert found.findings == []
    assert all(node.frames > 100 for node in found.nodes if node.name != "sink")


@pytest.mark.parametrize("verb", ["drop", "delay"])
def test_departures_of_a_port_with_injections_are_not_followed(verb: str, tmp_path: Path) -> None:
    """Of a NIC with a clock of its own the oracle goes by the frames that it sees leave."""
    plan = resolved(STEPS[verb])
    assert judge(captured(plan, tmp_path), plan, Settings(window_ns=2000)).findings == []


@pytest.mark.parametrize("verb", ["drop", "ipv4_checksum", "delay", "duplicate", "cnm"])
def test_a_device_is_blamed_for_the_same_where_the_plan_does_not_say_so(
    verb: str, tmp_path: Path
) -> None:
    plan = resolved(STEPS[verb], "" if verb == "cnm" else PORTS[0])
    assert judge(captured(plan, tmp_path), resolved()).findings


# A switch that storms by a pattern: one that storms otherwise, or with a lapse, is found.

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
