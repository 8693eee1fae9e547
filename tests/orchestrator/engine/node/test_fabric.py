"""A fabric: frames sprayed over all shortest ways, flows put in order where they leave."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import MS, US, Table, assembled, at, recorded, run_in_steps

LINK = 10**10
PFC = {"buffer": 300_000, "pause": {"plugin": "pfc", "high": 200_000, "low": 100_000}}


def fabric(
    spread: str, reassembly: Table | None, inputs: Table | None = None, **more: Any
) -> Table:
    """Two leaves with two hosts each, two spines of unlike distance; both hosts of a leaf send."""
    switch: Table = {"kind": "switch", "spread": spread} | ({"inputs": inputs} if inputs else {})
    leaf = switch | ({} if reassembly is None else {"reassembly": reassembly})
    nodes: Table = {"leaf0": leaf, "leaf1": leaf, "spine0": switch, "spine1": switch}
    links: Table = {}
    for number in range(2):
        for host in range(2):
            nodes[f"h{number}{host}"] = {"kind": "nic"}
            ends = [f"h{number}{host}", f"leaf{number}"]
            links[f"host{number}{host}"] = {"ends": ends, "rate": LINK, "delay": US}
        for spine in range(2):
            ends = [f"leaf{number}", f"spine{spine}"]
            links[f"up{number}{spine}"] = {
                "ends": ends,
                "rate": LINK,
                "delay": (1 + 2 * spine) * US,
            }
    return {
        "name": "fabric",
        "duration": 2 * MS,
        "sample_interval": 100 * US,
        "nodes": nodes,
        "links": links,
        "traffic": {
            "there": {"plugin": "cbr", "from": ["h00", "h01"], "to": ["h10", "h11"], "rate": LINK}
        },
    } | more


def last(recording: Recording, entity: str, quantity: str) -> int:
    return at(recording, entity, quantity, int(recording.times_ps[-1]))


def reordered(recording: Recording) -> int:
    return sum(last(recording, f"there.{n}", "frames_reordered") for n in range(2))


def received(recording: Recording) -> int:
    return sum(last(recording, f"there.{n}", "bytes_received") for n in range(2)) * 8


@pytest.mark.parametrize("inputs", [None, PFC])
def test_sprayed_frames_fill_both_ways_and_overtake_each_other(inputs: Table | None) -> None:
    one = recorded(fabric("none", None, inputs))
    both = recorded(fabric("frames", None, inputs))
    assert received(one) < 1.02 * LINK * 0.002  # one spine's worth
    assert received(both) > 1.9 * LINK * 0.002
    assert reordered(one) == 0
    assert reordered(both) > 100
    ways = [last(both, f"leaf0>spine{n}", "frames_out") for n in range(2)]
    assert abs(ways[0] - ways[1]) < 0.1 * sum(ways)


@pytest.mark.parametrize("inputs", [None, PFC])
def test_reassembly_puts_them_in_order_and_loses_none(inputs: Table | None) -> None:
    recording = recorded(fabric("frames", {}, inputs))
    assert reordered(recording) == 0
    assert received(recording) > 1.9 * LINK * 0.002
    assert last(recording, "leaf1", "reassembly_gaps") == 0
    assert last(recording, "leaf1", "reassembly_late") == 0
    assert int(recording.column("leaf1", "reassembly_bytes").max()) > 10_000


def test_a_flow_keeps_its_way_when_flows_are_spread() -> None:
    plan = fabric("flows", None)
    plan["traffic"]["there"]["flows"] = 20
    recording = recorded(plan)
    assert sum(last(recording, f"there.{n}", "frames_reordered") for n in range(40)) == 0
    ways = [last(recording, f"leaf0>spine{n}", "frames_out") for n in range(2)]
    assert min(ways) > 0.2 * sum(ways)


def test_what_a_dead_way_loses_is_given_up_after_the_timeout() -> None:
    plan = fabric("frames", {"timeout": 50 * US}, timeline=[{"at": MS, "cut": "up11"}])
    plan["traffic"]["there"]["rate"] = LINK // 10
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 40):
        audit(assembly.world)
    world = assembly.world
    assert int(world.nodes["order_gaps"].sum()) > 10
    assert int(world.flows["frames_reordered"].sum()) == 0
    sent, came = (int(world.flows[name].sum()) for name in ("frames_sent", "frames_received"))
    lost = int(world.ports["frames_lost"].sum())
    assert lost > 0
    assert sent - came - lost < 60  # the rest is under way


def test_without_memory_nothing_waits() -> None:
    recording = recorded(fabric("frames", {"buffer": "64B"}))
    assert int(recording.column("leaf1", "reassembly_bytes").max()) == 0
    assert last(recording, "leaf1", "reassembly_gaps") > 100
    assert reordered(recording) > 100


def test_a_hot_spot_behind_the_fabric_loses_nothing_with_pfc() -> None:
    plan = fabric("frames", {}, PFC)
    plan["traffic"]["there"]["to"] = ["h10", "h10"]
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 40):
        audit(assembly.world)
    world = assembly.world
    assert int(world.queues["frames_dropped"].sum()) == 0
    assert int(world.flows["frames_reordered"].sum()) == 0
    assert int(world.flows["bytes_received"].sum()) * 8 > 0.95 * LINK * 0.002


def test_the_same_seed_sprays_the_same_and_another_one_does_not() -> None:
    runs = [recorded(fabric("frames", {}, seed=seed)).values for seed in (1, 1, 2)]
    assert (runs[0] == runs[1]).all()
    assert (runs[0] != runs[2]).any()


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("spread", "packets", "flows, frames, none"),
        ("reassembly", {"timeout": 0}, "more than 0s"),
        ("reassembly", {"memory": "1MB"}, "buffer"),
    ],
)
def test_mistakes_are_named(key: str, value: object, accepted: str) -> None:
    plan = fabric("none", None)
    plan["nodes"]["leaf0"] = plan["nodes"]["leaf0"] | {key: value}
    with pytest.raises(BadInput, match=r"nodes\.leaf0\." + key) as caught:
        Plan(**plan)
    assert accepted in str(caught.value)


def test_the_choices_of_one_level_say_nothing_of_those_of_the_next() -> None:
    """Of 2000 flows of a pod each core switch of a fat tree gets its share."""
    tree = {"kind": "fat-tree", "k": 4, "rate": LINK}
    flows = {"plugin": "cbr", "rate": 20_000_000, "flows": 500}
    ends = {"from": [f"h{n}" for n in range(1, 5)], "to": [f"h{n}" for n in range(13, 17)]}
    made = {"name": "tree", "duration": 2 * MS, "sample_interval": MS, "fabric": tree}
    recording = recorded(made | {"traffic": {"there": flows | ends}})
    links = [f"agg{agg}>core{core}" for agg, core in ((1, 1), (1, 2), (2, 3), (2, 4))]
    taken = [last(recording, link, "frames_out") for link in links]
    assert sum(taken) >= 3 * 2000
    assert min(taken) > 0.8 * sum(taken) / 4, taken
