"""External nodes in plans: what can be said of them, what cannot, and who refuses them."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput, Refused
from orchestrator.plan import Plan
from orchestrator.plan.external_nodes import captured, facing
from orchestrator.registry import Registry
from orchestrator.run.execute_run import refuse_missing_capabilities
from orchestrator.terminal.plan_loading import load_plan
from orchestrator.testbed.controller.node_placement import map_plan
from orchestrator.testbed.inventory import Testbed


def made(**more: Any) -> Plan:
    """Two nodes around a device; tables of `more` go over those of the same name."""
    tables: dict[str, Any] = {
        "name": "around",
        "duration": "10ms",
        "nodes": {
            "nic": {"kind": "nic"},
            "sw": {"kind": "external", "as": "switch"},
            "sink": {"kind": "sink"},
        },
        "links": {
            "up": {"ends": ["nic", "sw"], "rate": "1Gb/s"},
            "down": {"ends": ["sw", "sink"], "rate": "1Gb/s"},
        },
        "traffic": {
            "gen": {"plugin": "cbr", "from": "nic", "to": "sink", "rate": "1Mb/s", "frame": "500B"}
        },
    }
    for name, table in more.items():
        both = isinstance(table, dict) and name in tables
        tables[name] = {**tables[name], **table} if both else table
    return Plan(**tables)


def bare(**more: Any) -> dict[str, Any]:
    return {"sw": {"kind": "external", **more}}


UP = {"ends": ["nic", "sw"], "rate": "1Gb/s"}
DOWN = {"ends": ["sw", "sink"], "rate": "1Gb/s"}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"nodes": bare(buffer="1MB")}, "nodes.sw.buffer: says what sw is supposed to do"),
        ({"nodes": bare(mac_learning={})}, "nodes.sw.mac_learning: a device forwards as it does"),
        (
            {"nodes": {"lone": {"kind": "switch", "mac_learning": {}}}},
            "nodes.lone.mac_learning: links of lone to at least 2 nodes of kind 'external' are",
        ),
        (
            {"nodes": {"s": {"kind": "switch", "mac_learning": {}, "forwards_by": "ip"}}},
            "nodes.s.mac_learning: a router forwards by IP",
        ),
        (
            {"nodes": {"s": {"kind": "switch", "mac_learning": {"ageing_time": "1s"}}}},
            "nodes.s.mac_learning.ageing_time",
        ),
        ({"nodes": bare(target="software")}, "nodes.sw.target: an external node lives on no"),
        ({"nodes": {"lone": {"kind": "external"}}}, "nodes.lone: an external node is known by"),
        ({"links": {"down": DOWN | {"delay": "1us"}}}, "frames that sw sends are not delayed"),
        ({"links": {"up": UP | {"delay": "1us"}}}, "links.up.delay_back"),
        (
            {"links": {"up": UP | {"delay_line": {"plugin": "lossy"}}}},
            "frames to and from sw take a cable",
        ),
        ({"capture": {"ports": ["sw.sink"]}}, "sink.sw is captured without being named"),
        ({"timeline": [{"at": "1ms", "set": "nodes.sw.buffer", "to": "1MB"}]}, "nothing in it"),
        ({"timeline": [{"at": "1ms", "set": "links.up.rate", "to": "2Gb/s"}]}, "up is a cable"),
        ({"timeline": [{"at": "1ms", "cut": "down"}]}, "down is a cable of an external node"),
        ({"timeline": [{"at": "1ms", "pause": "sw.sink"}]}, "sw is external; send it PAUSE"),
        (
            {"expect": [{"metric": "queue_bytes.mean", "of": "sw.sink", "max": "1KB"}]},
            "of sw.sink latency_s.p99, frames.dropped",
        ),
        (
            {"expect": [{"metric": "throughput_bps", "of": "sw>sink", "min": "1b/s"}]},
            "its inside is not observable; of sw.sink",
        ),
        (
            {
                "nodes": {"s2": {"kind": "external"}},
                "links": {"x": {"ends": ["sw", "s2"], "rate": "1Gb/s"}},
            },
            "no capture covers a cable between two external nodes",
        ),
    ],
)
def test_what_nobody_could_make_true_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refused:
        made(**more)
    assert words in str(refused.value)


def test_a_delay_towards_it_is_ours_to_make() -> None:
    made(links={"up": UP | {"delay": "1us", "delay_back": "0s"}})


def test_our_ports_that_face_it_are_captured_and_written_nowhere() -> None:
    plan = made(capture={"ports": ["sink.sw"]})
    assert facing(plan) == {"sw": {"sw.nic": "nic.sw", "sw.sink": "sink.sw"}}
    assert captured(plan) == ["sink.sw", "nic.sw"]
    assert Plan.load(plan.to_toml()) == plan


def test_it_has_metrics_and_nothing_else_of_it_does() -> None:
    kinds = made().entities()
    assert kinds["sw"] == {"external"}
    assert kinds["sw.sink"] == {"external port"}
    assert "sw>sink" not in kinds
    assert "link" in kinds["sink>sw"]


def refusal(target: str, plan: Plan) -> str:
    registry = Registry.load()
    with pytest.raises(Refused) as refused:
        refuse_missing_capabilities(registry.target(target), plan.check(registry))
    return str(refused.value)


def test_a_simulator_that_is_not_told_what_it_is_like_refuses_it() -> None:
    assert "sw is external, and the plan does not say what it is like" in refusal(
        "simulated", made(nodes=bare())
    )
    refuse_missing_capabilities(Registry.load().target("simulated"), made().check(Registry.load()))


def test_real_frames_without_a_cable_are_refused_with_what_to_say() -> None:
    said = refusal("software", made())
    assert "--external sw.nic=INTERFACE --external sw.sink=INTERFACE" in said


def test_gateware_and_several_machines_refuse_it_by_name() -> None:
    assert "external" in refusal("gateware", made())
    with pytest.raises(Refused, match="sw is external"):
        map_plan(made(), Testbed(), [])


@pytest.mark.parametrize("said", ["sw", "sw.a", "sw.=e1", ".a=e1", "sw.a=", "sw.a=no good"])
def test_a_cable_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(BadInput, match="--external"):
        Testbed().with_cables([said])


def test_cables_of_the_command_line_go_over_those_of_the_file() -> None:
    bed = Testbed().with_cables(["sw.a=e1", "sw.b=e2"]).with_cables(["sw.b=e3"])
    assert bed.external_ports == {"sw": {"a": "e1", "b": "e3"}}


def test_the_shipped_plan_is_one() -> None:
    assert list(facing(load_plan("external-switch", []))) == ["sw"]
