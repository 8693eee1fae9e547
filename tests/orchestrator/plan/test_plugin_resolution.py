"""Plans with their plugins: who uses what, the timeline, names, routes and round trips."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Nic, Plan, Traffic


def test_every_place_has_its_parameters(full: str, catalog: Any) -> None:
    uses = Plan.load(full).check(catalog).uses
    weights = {port: use.params.weight for port, use in uses["congestion_point"].items()}
    assert weights == {"switch.nic1": 3, "switch.nic2": 1, "switch.sink": 3}
    assert uses["congestion_point"]["switch.sink"].params.set_point == 33_000
    assert uses["reaction_point"]["nic1"].params.time_reset == 25 * 10**9
    assert uses["reaction_point"]["nic2"].params.gd == Fraction(1, 64)
    assert set(uses["pause"]) == {"switch.nic1", "switch.nic2", "switch.sink"}
    assert set(uses["delay_line"]) == {"up1", "up2", "down"}
    assert uses["traffic"]["gen2"].params.rate == 500_000_000


def test_the_timeline_in_integers(full: str, catalog: Any) -> None:
    actions = Plan.load(full).check(catalog).actions
    seen = [(a.verb, a.kind, a.entities, a.values) for a in actions]
    limiters = tuple(f"nic1.rp{index}" for index in range(4))
    assert seen == [
        ("set", "queue", ("switch.sink",), {"service_rate": 200_000_000}),
        ("set", "congestion_point", ("switch.nic1", "switch.sink"), {"weight": 1}),
        ("stop", "flow", ("gen1.0", "gen1.1", "gen1.2", "gen1.3"), {}),
        ("cut", "link", ("nic1>switch", "switch>nic1"), {}),
        ("set", "reaction_point", limiters, {"gd_num": 1, "gd_den": 32}),
    ]
    assert [action.at for action in actions] == sorted(action.at for action in actions)


@pytest.mark.parametrize(
    ("key", "to", "kind", "entities", "values"),
    [
        ("nodes.switch.service_rate", "1Mb/s", "queue", 2, {"service_rate": 10**6}),
        ("nodes.switch.ports.nic1.buffer", "1KB", "queue", 1, {"buffer": 1000}),
        (
            "nodes.switch.ports.sink.congestion_point.weight",
            0,
            "congestion_point",
            1,
            {"weight": 0},
        ),
        ("nodes.switch.pause.quanta", 1, "pause", 3, {"quanta": 1}),
        ("links.up1.rate", "1Mb/s", "link", 2, {"rate": 10**6}),
        ("links.up1.delay", "1ns", "link", 1, {"delay": 1000}),
        ("links.up1.delay_back", "1ns", "link", 1, {"delay": 1000}),
        ("traffic.gen1.rate", "1Mb/s", "traffic", 4, {"rate": 10**6}),
    ],
)
def test_changeable_keys(
    full: str, catalog: Any, key: str, to: Any, kind: str, entities: int, values: dict[str, int]
) -> None:
    plan = Plan.load(full).with_settings([f"timeline.0.set={key}", f"timeline.0.to={to}"])
    action = plan.check(catalog).actions[0]
    assert (action.kind, len(action.entities), action.values) == (kind, entities, values)


def test_steps_are_checked_against_what_went_before(full: str, catalog: Any) -> None:
    key = "nodes.switch.pause"
    steps = ["timeline.0.at=1s", f"timeline.0.set={key}.high", "timeline.0.to=300KB"]
    later = ["timeline.1.at=2s", f"timeline.1.set={key}.low", "timeline.1.to=200KB"]
    Plan.load(full).with_settings(steps + later).check(catalog)
    with pytest.raises(BadInput, match="below 'high'"):
        Plan.load(full).with_settings(later).check(catalog)


def test_toml_has_every_default_and_reads_back_equal(full: str, catalog: Any) -> None:
    plan = Plan.load(full)
    assert Plan.load(plan.to_toml()) == plan
    resolved = plan.check(catalog)
    text = resolved.plan.to_toml()
    for line in ('set_point = "33KB"', 'preset = "netfpga"', "quanta = 65535", 'gd = "1/128"'):
        assert line in text
    again = Plan.load(text, catalog).check(catalog)
    assert again.plan == resolved.plan
    assert again.uses == resolved.uses
    assert again.actions == resolved.actions


def test_the_same_plan_in_python(full: str, catalog: Any) -> None:
    def plan(size: Any, rate: Any, low: Any) -> Plan:
        return Plan(
            name="mine",
            duration="2s",
            nodes={
                "nic": Nic(kind="nic", host_queue=size),
                "switch": {
                    "kind": "switch",
                    "service_rate": rate,
                    "congestion_point": {"plugin": "qcn-cp", "set_point": size},
                },
                "sink": {"kind": "sink"},
            },
            links={
                "up": {"ends": ("nic", "switch"), "rate": rate},
                "down": {"ends": ["switch", "sink"], "rate": rate},
            },
            traffic={"gen": Traffic(plugin="cbr", from_="nic", to="sink", rate=rate)},
            timeline=[{"at": "1s", "set": "nodes.switch.service_rate", "to": rate}],
            expect=[{"metric": "queue_bytes.mean", "of": "switch.sink", "min": low}],
        )

    ints, texts = plan(30_000, 10**9, 1000), plan("30KB", "1Gb/s", "1KB")
    assert ints.check(catalog).plan == texts.check(catalog).plan
    assert Plan.load(ints.check(catalog).plan.to_toml()) == ints.check(catalog).plan


def test_python_mistakes_are_bad_input() -> None:
    with pytest.raises(BadInput) as caught:
        Plan(name="x", duration=0, nodes={"a": {"kind": "sink"}}, sed=1)
    assert {problem.where for problem in caught.value.problems} == {"duration", "sed"}


def test_names(full: str) -> None:
    plan = Plan.load(full)
    assert [flow.entity for flow in plan.flows()] == [*(f"gen1.{i}" for i in range(4)), "gen2"]
    ports = ["nic1.switch", "switch.nic1", "nic2.switch", "switch.nic2", "switch.sink"]
    assert [port.entity for port in plan.ports()] == [*ports, "sink.switch"]
    kinds = plan.entities()
    assert kinds["gen2"] == {"entry", "flow", "messages"}
    assert kinds["switch>sink"] == {"link"}
    assert kinds["traffic"] == {"traffic", "messages"}


def test_parallel_links_are_told_apart_by_their_names() -> None:
    links = {name: {"ends": ["a", "b"], "rate": "1Gb/s"} for name in ("one", "two")}
    nodes = {"a": {"kind": "nic"}, "b": {"kind": "sink"}}
    plan = Plan(name="x", duration="1s", nodes=nodes, links=links)
    assert [port.entity for port in plan.ports()] == ["a.one", "b.one", "a.two", "b.two"]
    assert [way.entity for way in plan.directions()][:2] == ["one:a>b", "one:b>a"]
    assert plan.routes()["a"] == {"b": "one"}


def test_routes_are_shortest_first_in_the_plan_and_only_through_switches() -> None:
    nodes = {name: {"kind": "switch"} for name in ("s1", "s2", "s3", "s4")}
    nodes |= {"a": {"kind": "nic"}, "b": {"kind": "sink"}, "far": {"kind": "nic"}}
    nodes["near"] = {"kind": "nic"}  # a hop nearer to b than a is, and no way there
    ends = [
        "a near",
        "near s3",
        "a s1",
        "s1 s3",
        "s1 s2",
        "s2 s4",
        "s3 s4",
        "s4 b",
        "a far",
        "far b",
    ]
    links = {f"l{i}": {"ends": pair.split(), "rate": "1Gb/s"} for i, pair in enumerate(ends)}
    nodes["s2"] = {"kind": "switch", "forwarding": {"b": "s1"}}
    routes = Plan(name="x", duration="1s", nodes=nodes, links=links).routes()
    assert routes["s1"]["b"] == "s3"
    assert routes["a"]["b"] == "s1"
    assert routes["s2"]["b"] == "s1"
    assert routes["far"]["b"] == "b"
    assert routes["a"]["near"] == "near"
    assert routes["b"]["a"] == "s4"


def test_a_plan_is_checked_once_and_a_copy_for_itself(catalog: Any) -> None:
    table = {"seed": 1, "nodes": {"a": {"kind": "nic"}}, "name": "x", "duration": "1s"}
    plan = Plan(**table)  # type: ignore[arg-type]
    assert plan.check(catalog) is plan.check(catalog)
    other = plan.model_copy(update={"seed": 2})
    assert other.check(catalog).plan.seed == 2
    assert plan.check(catalog).plan.seed == 1
    assert pickle.loads(pickle.dumps(plan)) == plan
