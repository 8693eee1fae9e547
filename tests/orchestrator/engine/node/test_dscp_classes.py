"""Priority by DSCP: every node that receives a frame classifies it, and nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.assembly import assemble, record
from orchestrator.engine.frames import decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import ACK, CE, DATA, ECT0, SACK
from orchestrator.plan import Plan
from orchestrator.plan.header_table import TC_TO_DSCP, Headers
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from tests.orchestrator.worlds import MS, run_until

Table = dict[str, Any]
DSCP: Table = {"tagged": False, "priority": "dscp"}
OTHERS: list[Table] = [
    DSCP,
    {"priority": "dscp"},
    DSCP | {"ip": 6},
    {"vlan": 100, "outer_vlan": 200},
    {"ip": 6, "vlan": 7},
]
PFC: Table = {"plugin": "pfc", "high": "8KB", "low": "4KB"}


def table(headers: Table, **changes: Any) -> Table:
    """Four hosts at a switch with PFC for priority 3 alone, which sends to a sink by another one:
    two in priority 3, two in priority 0; acknowledged messages the other way in priority 5."""
    hosts = {f"h{n}": {"kind": "nic", "reaction_points": 0} for n in range(1, 5)}
    inputs = {"buffer": "30KB", "pause": PFC, "pause_priorities": [3], "lossy_buffer": "9KB"}
    rate = {"rate": "1Gb/s", "delay": "1us"}
    links = {f"l{n}": {"ends": [f"h{n}", "near"]} | rate for n in range(1, 5)}
    links |= {"on": {"ends": ["near", "far"]} | rate, "down": {"ends": ["far", "d"]} | rate}
    cbr = {"plugin": "cbr", "to": "d", "rate": "1Gb/s"}
    return {
        "name": "classes",
        "duration": 2 * MS,
        "sample_interval": "100us",
        "priorities": "separate",
        "headers": headers,
        "nodes": hosts
        | {
            "near": {"kind": "switch", "buffer": "20KB", "inputs": inputs},
            "far": {"kind": "switch"},
            "d": {"kind": "sink"},
        },
        "links": links,
        "traffic": {
            "lossless": cbr | {"from": "h{1..2}", "priority": 3},
            "lossy": cbr | {"from": "h{3..4}"},
        },
        "capture": {"ports": ["near.far", "far.d"], "snap": "1500B", "frames": 10_000},
    } | changes


def ran(made: Table) -> tuple[Recording, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """The recording, and of each captured port the lengths and octets of its frames."""
    resolved = Plan(**made).check(Registry.load())
    assembly = assemble(resolved)
    run_until(assembly, resolved.plan.duration + 1)
    w = assembly.world
    ports = {}
    for port, row in assembly.indices.port_rows.items():
        slot = int(w.captured[row])
        if slot >= 0:
            count = int(w.capture_count[slot, 0])
            ports[port] = (w.capture_lengths[slot, :count], w.capture_octets[slot, :count])
    return record("simulated", [(assembly, list(resolved.plan.nodes))], cpu_s=0, wall_s=0), ports


def last(recording: Recording, entity: str, quantity: str) -> int:
    return int(recording.column(entity, quantity)[-1])


def frames(captured: tuple[np.ndarray, np.ndarray]) -> list[np.record]:
    """The frames that left a port, decoded."""
    found = []
    for length, octets in zip(*captured, strict=True):
        if length < 0:
            frame = empty_descriptors(1)[0]
            assert decode(octets, int(~length), frame) >= 0
            found.append(frame)
    return found


def test_results_are_those_of_tags_whatever_the_headers_are() -> None:
    """Frames are as long as the plan says: every sample of every queue, link and flow is equal."""
    usual, _ = ran(table({}))
    assert last(usual, "near.h1/in/p3", "frames_dropped") == 0
    assert last(usual, "near.h3/in/p0", "frames_dropped") > 20
    for headers in OTHERS:
        found, _ = ran(table(headers))
        assert [c.entity for c in found.columns] == [c.entity for c in usual.columns]
        assert np.array_equal(found.values, usual.values), headers


@pytest.mark.parametrize("headers", [DSCP, DSCP | {"ip": 6}])
def test_a_map_of_one_switch_holds_there_alone(headers: Table) -> None:
    made = table(headers)
    made["nodes"]["near"] |= {"dscp_to_tc": {"3": 1}}  # its storage is lossy there
    recording, ports = ran(made)
    assert last(recording, "near.h1/in/p1", "frames_dropped") > 20
    assert last(recording, "near.far/p1", "frames_out") > 50
    assert last(recording, "near.far/p3", "frames_out") == 0
    assert last(recording, "far.d/p3", "frames_out") > 50
    assert last(recording, "far.d/p1", "frames_out") == 0
    marks = {int(frame.mark) >> 2 for port in ports.values() for frame in frames(port)}
    assert marks == {TC_TO_DSCP[3], TC_TO_DSCP[0]}, "its DSCP stays what the host wrote"


def test_queues_of_priorities_and_code_points_of_hosts() -> None:
    headers = DSCP | {"tc_to_dscp": [0, 1, 2, 26, 4, 5, 6, 7], "dscp_to_tc": {"26": 3, "0": 0}}
    made = table(headers)
    made["nodes"]["far"] |= {"tc_to_queue": [0, 1, 2, 5, 4, 3, 6, 7]}
    recording, ports = ran(made)
    assert last(recording, "near.far/p3", "frames_out") > 50
    assert last(recording, "far.d/p5", "frames_out") > 50
    assert {int(f.mark) >> 2 for f in frames(ports["near.far"])} == {26, 0}


def test_marks_of_queues_and_of_notification_points_leave_the_dscp_alone() -> None:
    made = table(DSCP)
    red = {"plugin": "red", "low": "3KB", "high": "6KB", "max_probability": 1}
    made["nodes"]["near"] = {"kind": "switch", "congestion_point": red}
    notify = {"plugin": "notification-point", "message": "cnp", "clear_mark": True}
    made["nodes"]["far"] = {"kind": "switch", "notification_point": notify}
    for host in ("h1", "h2", "h3", "h4"):
        made["nodes"][host] = {"kind": "nic", "reaction_point": {"plugin": "dcqcn-rp"}}
    made["traffic"]["lossless"]["priority"] = 5
    _, ports = ran(made)
    marked = [f for f in frames(ports["near.far"]) if f.kind == DATA and f.mark & CE == CE]
    assert len(marked) > 20
    assert {int(f.mark) >> 2 for f in marked} == {46, 8}
    behind = [f for f in frames(ports["far.d"]) if f.kind == DATA]
    assert {int(f.mark) for f in behind} == {46 << 2 | ECT0, 8 << 2 | ECT0}
    came = [f for f in ports["near.far"][0] if f >= 0]
    assert len(came) > 3
    assert {int(length) for length in came} == {74}, "CNPs go back, without a tag"


def test_a_frame_that_changes_lanes_says_so_by_its_dscp() -> None:
    made = table(DSCP, more_priorities=[6])
    point = {"plugin": "priority-demotion", "threshold": "6KB", "priority": 6}
    made["nodes"]["near"] = {"kind": "switch", "buffer": "60KB", "congestion_point": point}
    for host in ("h1", "h2", "h3", "h4"):
        made["nodes"][host] = {"kind": "nic", "reaction_point": {"plugin": "dcqcn-rp"}}
    recording, ports = ran(made)
    moved = last(recording, "near.far/p3", "frames_moved")
    assert moved > 10
    assert last(recording, "far.d/p6", "frames_in") > 10
    assert {int(f.mark) for f in frames(ports["far.d"])} == {d << 2 | ECT0 for d in (3, 8, 48)}


@pytest.mark.parametrize("transport", ["go-back-n", "selective", "tcp"])
@pytest.mark.parametrize("headers", OTHERS, ids=str)
def test_messages_are_whole_and_headers_are_as_long_as_they_are(
    headers: Table, transport: str
) -> None:
    """A message of n octets takes n and the headers of its frames, also the last and shortest."""
    made = table(headers)
    of = Headers(**headers).options().octets
    made["nodes"]["d"] = {"kind": "nic"}
    made["capture"]["ports"] = ["far.d"]
    own = {"plugin": "messages", "from": "h1", "to": "d", "size": "4501B", "count": 1}
    priorities = {"priority": 5, "ack_priority": 4} if "priority" in headers else {}
    made["traffic"] = {"m": own | {"transport": {"plugin": transport}} | priorities}
    made["nodes"]["near"] = {"kind": "switch"}
    recording, ports = ran(made)
    lengths = [int(~length) for length in ports["far.d"][0] if length < 0]
    segment = 1500 - of
    assert lengths == [1500] * (4501 // segment) + [4501 % segment + of]
    assert last(recording, "m", "bytes_received") == 4501 + of * len(lengths)
    back = [int(length) for length in ports["far.d"][0] if length >= 0]
    assert min(back) >= of
    if priorities:
        octets = ports["far.d"][1][ports["far.d"][0] >= 0][0]
        frame = empty_descriptors(1)[0]
        assert decode(octets, back[0], frame) in (ACK, SACK)
        assert frame.mark >> 2 == TC_TO_DSCP[4]
