"""Multicast: every member gets every frame once; an input counts a frame once, an output a copy."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import MS, US, Table, assembled, run_in_steps

LINK = 10**9
SAMPLING = {"plugin": "qcn-cp", "set_point": 1_000, "sample_base": 3_000, "jitter": False}


def two_switches(inputs: Table | None = None, **switch: Any) -> Table:
    """A source and the sink `near` at one switch, the sinks `far1` and `far2` at another one."""
    both: Table = {"kind": "switch"} | ({} if inputs is None else {"inputs": inputs}) | switch
    nodes: Table = {"here": both, "there": both, "nic": {"kind": "nic", "reaction_points": 0}}
    nodes |= {name: {"kind": "sink"} for name in ("near", "far1", "far2")}
    ends = {"nic": "here", "near": "here", "far1": "there", "far2": "there"}
    links: Table = {name: {"ends": [name, at], "rate": LINK} for name, at in ends.items()}
    links["between"] = {"ends": ["here", "there"], "rate": LINK, "delay": 5 * US}
    return {
        "name": "multicast",
        "duration": 5 * MS,
        "sample_interval": 100 * US,
        "nodes": nodes,
        "groups": {"all": ["near", "far1", "far2"]},
        "links": links,
        "traffic": {"wide": {"plugin": "cbr", "from": "nic", "to": "all", "rate": LINK // 2}},
    }


@pytest.mark.parametrize("inputs", [None, {}, {"hold_until_departure": True}])
def test_every_member_gets_every_frame_once_and_in_order(inputs: Table | None) -> None:
    plan = two_switches(inputs)
    plan["traffic"]["wide"]["stop"] = 4 * MS
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 30):
        audit(assembly.world)
    world, rows = assembly.world, assembly.indices.flows
    sent = int(world.flows[rows["wide"]].frames_sent)
    assert sent > 150
    for member in ("near", "far1", "far2"):
        got = world.flows[rows[f"wide@{member}"]]
        assert (got.frames_received, got.frames_reordered) == (sent, 0)
    crossed = assembly.indices.sender("here>there")
    assert world.ports[crossed].frames_out == sent, "two members behind one link: it carries one"


def test_an_input_counts_and_samples_a_frame_once_an_output_every_copy() -> None:
    plan = two_switches({"congestion_point": SAMPLING}, congestion_point=SAMPLING)
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 30):
        audit(assembly.world)
    world, rows = assembly.world, assembly.indices.queues
    sent = int(world.flows[0].frames_sent)
    side = world.queues[rows["there.here/in"]]
    outs = [world.queues[rows[f"there.far{n}"]] for n in (1, 2)]
    assert sent - 3 <= side.frames_in <= sent
    assert [abs(int(out.frames_in) - sent) <= 3 for out in outs] == [True, True]
    assert side.bytes_max < 3 * 1500, "no room for the same frame twice"


def test_a_member_that_is_held_keeps_the_frames_room_but_not_the_others_back() -> None:
    plan = two_switches({"buffer": 60_000})
    plan["nodes"]["here"] = plan["nodes"]["here"] | {
        "buffer": 3_000,
        "ports": {"near": {"service_rate": 10**8}},
    }
    plan["traffic"]["wide"]["stop"] = MS
    assembly = assembled(plan)
    world, rows = assembly.world, assembly.indices.flows
    for _ in run_in_steps(assembly, 40):
        audit(world)
        slow = world.flows[rows["wide@near"]].frames_received
        if world.clock[0].now < MS:
            assert world.flows[rows["wide@far1"]].frames_received + 2 >= slow
    entered = world.queues[assembly.indices.queues["here.nic/in"]]
    assert entered.frames_dropped == 0
    assert entered.bytes_max > 30_000
    assert entered.frames == 0


def test_by_occupancy_a_frame_with_many_copies_is_picked_as_one() -> None:
    sampling = SAMPLING | {"sampling": "occupancy-random"}
    plan = two_switches({"congestion_point": sampling, "buffer": 60_000}, service_rate=LINK // 4)
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 30):
        audit(assembly.world)
    told = sum(int(queue.feedback_sent) for queue in assembly.world.queues)
    assert told > 3
    assert int(assembly.world.nodes["feedback_ignored"].sum()) > 3  # the NIC has no limiter


def test_two_sources_have_a_tree_each() -> None:
    plan = two_switches()
    plan["nodes"]["other"] = {"kind": "nic"}
    plan["links"]["other"] = {"ends": ["other", "there"], "rate": LINK}
    plan["traffic"]["back"] = {"plugin": "cbr", "from": "other", "to": "all", "rate": LINK // 4}
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 10):
        audit(assembly.world)
    world, rows = assembly.world, assembly.indices.flows
    for flow in ("wide", "back"):
        sent = world.flows[rows[flow]].frames_sent
        for member in plan["groups"]["all"]:
            assert 0 <= sent - world.flows[rows[f"{flow}@{member}"]].frames_received <= 5


@pytest.mark.parametrize(
    ("change", "where", "accepted"),
    [
        ({"all": ["near", "nobody"]}, r"groups\.all\[1\]", "NIC or sink"),
        ({"all": ["near", "near"]}, r"groups\.all", "listed 2 times"),
        ({"all": []}, r"groups\.all", "at least 1"),
        ({"all": ["near", "nic"]}, r"traffic\.wide\.to", "another node"),
        ({"all": ["near"], "near": ["far1"]}, "near", "rename one"),
    ],
)
def test_mistakes_are_named(change: Table, where: str, accepted: str) -> None:
    with pytest.raises(BadInput, match=where) as caught:
        Plan(**two_switches() | {"groups": change})
    assert accepted in str(caught.value)
