"""PFC on some priorities while others are lossy: who is paused, what is dropped or refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.contrib.mac_control import MACControlClassBasedFlowControl
from scapy.layers.l2 import Ether

from firmware.target.plan_check import missing_capabilities
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.pause_dependencies import network
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.run.world_invariants import Limits, broken_in_world
from tests.orchestrator.worlds import MS, US, Table, assembled, at, recorded, run_until

RATE = 10**9
PFC = {"plugin": "pfc", "high": 20_000, "low": 10_000}
LIMIT = 30_000
"""Octets of a lossy lane of an input: beyond the mark at which PFC would pause."""


def several(
    held: list[int] | None, priorities: tuple[int, ...] = (3, 4, 0, 5), **inputs: Any
) -> Table:
    """A NIC for each priority, with 0.8 Gb/s into one port of 1 Gb/s, through inputs with PFC."""
    plan: Table = {
        "name": "several",
        "duration": 5 * MS,
        "sample_interval": 100 * US,
        "priorities": "separate",
        "nodes": {"s": {"kind": "switch", "buffer": 60_000}, "d": {"kind": "sink"}},
        "links": {"d": {"ends": ["s", "d"], "rate": RATE, "delay": US}},
        "traffic": {},
    }
    plan["nodes"]["s"]["inputs"] = {"buffer": 60_000, "pause": PFC} | inputs
    if held is not None:
        plan["nodes"]["s"]["inputs"]["pause_priorities"] = held
    for priority in priorities:
        name = f"h{priority}"
        plan["nodes"][name] = {"kind": "nic"}
        plan["links"][name] = {"ends": [name, "s"], "rate": RATE, "delay": US}
        entry = {"plugin": "cbr", "from": name, "to": "d", "rate": RATE * 4 // 5}
        plan["traffic"][f"t{priority}"] = entry | {"priority": priority}
    return plan


def lane(done: Recording, priority: int) -> dict[str, int]:
    """Of the lane of a priority at its input, at the end."""
    name = f"s.h{priority}/in/p{priority}"
    names = ("frames_dropped", "pause_sent", "frames_in")
    found = {one: at(done, name, one, 5 * MS) for one in names}
    found["paused_ps"] = at(done, f"h{priority}>s/p{priority}", "paused_ps", 5 * MS)
    found["most"] = int(done.column(name, "queue_bytes").max())
    return found


SHARED = {"shared_memory": 4_000_000}


@pytest.mark.parametrize("memory", [{}, SHARED], ids=["crossbar", "shared-memory"])
@pytest.mark.parametrize("held", [[3], [3, 4], [0], [5, 0], [3, 4, 0, 5], None])
def test_what_is_lossless_is_paused_and_what_is_lossy_dropped_at_its_limit(
    held: list[int] | None, memory: Table
) -> None:
    lossy = {} if held in (None, [3, 4, 0, 5]) else {"lossy_buffer": LIMIT}
    done = recorded(several(held, **lossy, **memory))
    for priority in (3, 4, 0, 5):
        found = lane(done, priority)
        if held is None or priority in held:
            assert found["frames_dropped"] == 0
            assert found["pause_sent"] > 0
            assert found["paused_ps"] > MS
        else:
            assert found["frames_dropped"] > 100
            assert (found["pause_sent"], found["paused_ps"]) == (0, 0)
            assert found["most"] <= LIMIT


def test_a_host_of_both_kinds_goes_on_with_the_lossy_one() -> None:
    """PFC holds one priority of a host: its link carries the other one meanwhile."""
    plan = several([3], (3, 4), lossy_buffer=LIMIT)
    plan["traffic"]["t5"] = plan["traffic"]["t3"] | {"priority": 5, "rate": RATE // 10}
    done = recorded(plan)
    assert at(done, "h3>s/p3", "paused_ps", 5 * MS) > MS
    assert at(done, "h3>s/p5", "paused_ps", 5 * MS) == 0
    sent = at(done, "t5", "bytes_sent", 5 * MS)
    assert sent * 8 / 0.005 == pytest.approx(RATE / 10, rel=0.03)


@pytest.mark.parametrize("held", [[3], [0], [5, 4]])
def test_a_pfc_frame_enables_the_lossless_priorities_alone(held: list[int]) -> None:
    plan = several(held)
    plan["capture"] = {"ports": [f"h{held[0]}.s"], "frames": 5_000}
    (capture,) = recorded(plan).captures
    frames = [Ether(bytes(row)) for row in capture.octets]
    seen = [one[MACControlClassBasedFlowControl] for one in frames if one.type == 0x8808]
    assert seen
    for frame in seen:
        enabled = [name for name in range(8) if frame.getfieldval(f"c{name}_enabled")]
        assert enabled == [held[0]]


@settings(max_examples=15, deadline=None)
@given(
    held=st.sets(st.sampled_from([0, 3, 4, 5]), min_size=1, max_size=3),
    limit=st.integers(1_500, 60_000),
    seed=st.integers(1, 1_000),
    shares=st.booleans(),
)
def test_no_lossless_frame_is_lost_and_no_lossy_lane_paused(
    held: set[int], limit: int, seed: int, shares: bool
) -> None:
    memory = SHARED if shares else {}
    plan = several(sorted(held), lossy_buffer=limit, **memory) | {"seed": seed}
    assembly = assembled(plan)
    limits, names = Limits.of(assembly.resolved), list(assembly.indices.queues)
    for step in range(1, 6):
        run_until(assembly, step * MS)
        assert broken_in_world(assembly.world, limits, names) == []
    for name, row in assembly.indices.queues.items():
        queue = assembly.world.queues[row]
        holder, _, priority = name.rpartition("/p")
        if not holder.endswith("/in") or holder != f"s.h{priority}/in":
            continue
        if int(priority) in held:
            assert queue.frames_dropped == 0
        else:
            assert queue.pause_sent == 0
            assert queue.bytes_max <= limit
            assert limits.capacity[name] == limit
            assert name not in limits.lossless


def test_outputs_that_pause_can_have_lossy_lanes_too() -> None:
    plan = several(None, (3, 5))
    del plan["nodes"]["s"]["inputs"]
    plan["nodes"]["s"] |= {"pause": PFC, "pause_priorities": [3]}
    done = recorded(plan)
    assert at(done, "s.d/p3", "frames_dropped", 5 * MS) == 0
    assert at(done, "h3>s/p3", "paused_ps", 5 * MS) > MS
    assert at(done, "s.d/p5", "frames_dropped", 5 * MS) > 50
    assert at(done, "s.d/p5", "pause_sent", 5 * MS) == 0
    assert at(done, "h5>s/p5", "paused_ps", 5 * MS) == 0


def test_the_timeline_changes_what_lossless_lanes_have_alone() -> None:
    plan = several([3], (3, 5), lossy_buffer=LIMIT)
    plan["timeline"] = [
        {"at": 2 * MS, "set": "nodes.s.inputs.buffer", "to": 40_000},
        {"at": 2 * MS, "set": "nodes.s.inputs.pause.high", "to": 30_000},
    ]
    assembly = assembled(plan)
    run_until(assembly, 5 * MS)
    queues = assembly.world.queues
    rows = [assembly.indices.queues[f"s.h{p}/in/p{p}"] for p in (3, 5)]
    assert [int(queues[row].capacity) for row in rows] == [40_000, LIMIT]
    assert queues[rows[0]].frames_dropped == 0
    assert queues[rows[0]].bytes_max > 30_000


def ring(held: list[int] | None) -> Table:
    """Three switches in a ring, each flow over two of its links, in two priorities."""
    inputs: Table = {"buffer": 60_000, "pause": PFC}
    if held is not None:
        inputs["pause_priorities"] = held
    plan: Table = {
        "name": "ring",
        "duration": MS,
        "priorities": "separate",
        "nodes": {f"h{n}": {"kind": "nic"} for n in range(3)},
        "links": {},
        "traffic": {},
    }
    for n in range(3):
        ahead = (n + 1) % 3
        plan["nodes"][f"s{n}"] = {
            "kind": "switch",
            "inputs": inputs,
            "forwarding": {f"h{m}": f"s{ahead}" for m in range(3) if m != n},
        }
        plan["links"][f"h{n}"] = {"ends": [f"h{n}", f"s{n}"], "rate": RATE}
        plan["links"][f"r{n}"] = {"ends": [f"s{n}", f"s{ahead}"], "rate": RATE}
        for priority in (3, 5):
            entry = {"plugin": "cbr", "from": f"h{n}", "to": f"h{(n + 2) % 3}", "rate": RATE}
            plan["traffic"][f"t{n}p{priority}"] = entry | {"priority": priority}
    return plan


@pytest.mark.parametrize(("held", "waiting"), [(None, {"p3", "p5"}), ([5], {"p5"}), ([3], {"p3"})])
def test_lossy_lanes_wait_for_nothing(held: list[int] | None, waiting: set[str]) -> None:
    """A deadlock needs links that wait for each other."""
    waits = network(Plan(**ring(held)).check(Registry.load())).waits
    assert {link.rpartition("/")[2] for pair in waits for link in pair} == waiting


def refused(plan: Table) -> str:
    with pytest.raises(BadInput) as raised:
        Plan(**plan).check(Registry.load())
    return str(raised.value)


@pytest.mark.parametrize(
    ("held", "inputs", "text"),
    [
        ([2], {}, "pause_priorities: priority 2 has no lane of its own"),
        ([8], {}, "pause_priorities[0]"),
        ([], {}, "pause_priorities"),
        ([3], {"pause": {"plugin": "pause"}}, "'pause' holds all priorities"),
        (
            [3],
            {"pause": {"plugin": "credit-flow-control"}},
            "'credit-flow-control' grants credit for all priorities",
        ),
        ([3], {"pause": None}, "no pause is there that could hold them"),
        (
            [3],
            {"lossy_buffer": 1_499},
            "lossy_buffer: '1499B' is not accepted; at least the longest",
        ),
        ([3, 4, 0, 5], {"lossy_buffer": LIMIT}, "lossy_buffer: no lane is lossy"),
        (None, {"lossy_buffer": LIMIT}, "lossy_buffer: no lane is lossy"),
    ],
)
def test_what_cannot_be_is_refused(held: list[int] | None, inputs: Table, text: str) -> None:
    plan = several(held, **inputs)
    if plan["nodes"]["s"]["inputs"]["pause"] is None:
        del plan["nodes"]["s"]["inputs"]["pause"]
    found = refused(plan)
    assert "nodes.s.inputs." in found
    assert text in found


def test_with_shared_lanes_no_priority_can_be_lossy() -> None:
    plan = several([3]) | {"priorities": "shared"}
    assert 'priority 3 has no lane of its own; traffic of it with priorities = "separate"' in (
        refused(plan)
    )


def test_gateware_refuses_by_name_what_it_lacks() -> None:
    plan = several(None, (3, 5))
    del plan["nodes"]["s"]["inputs"]
    plan["nodes"]["s"] |= {"pause": PFC, "pause_priorities": [3], "target": "gateware"}
    catalog = Registry.load()
    resolved = Plan(**plan).check(catalog)
    found = [str(one) for one in missing_capabilities(resolved, catalog.targets)]
    assert any("pause_priorities" in one for one in found)
    assert any("one lane for all priorities" in one for one in found)


@pytest.mark.software
def test_real_frames_are_paused_and_dropped_by_priority(namespaces: None) -> None:
    plan = several([3], (3, 5), lossy_buffer=LIMIT)
    plan["duration"] = 200 * MS
    plan["sample_interval"] = 10 * MS
    for link in plan["links"].values():
        link["rate"] = 50 * 10**6
    for entry in plan["traffic"].values():
        entry["rate"] = 40 * 10**6
    done = run(Plan(**plan), target="software", out=None).recording
    end = 200 * MS
    assert at(done, "s.h3/in/p3", "frames_dropped", end) == 0
    assert at(done, "h3>s/p3", "paused_ps", end) > 20 * MS
    assert at(done, "s.h5/in/p5", "frames_dropped", end) > 20
    assert at(done, "s.h5/in/p5", "pause_sent", end) == 0
    assert at(done, "h5>s/p5", "paused_ps", end) == 0
