"""Marks, notification points, probes, states per flow, routers and shared memory, in worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.engine.frames import decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.node.event_queue import wake_time
from orchestrator.engine.records import CNP, DATA, ECHO, PROBE, RETURNED
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import MS, US, Table, assembled, recorded, run_in_steps, run_until

GBIT = 10**9


def plan(scheme: str, **changes: Any) -> Table:
    """Two NICs, switch t, switch s, sink; the last link is half as fast as the first two are."""
    cp, rp, np_ = SCHEMES[scheme]
    nic = {"kind": "nic", "reaction_points": 2, "host_queue": 15_000, "reaction_point": rp}
    table = {
        "name": "three-points",
        "duration": 20 * MS,
        "sample_interval": 100 * US,
        "nodes": {
            "a": nic,
            "b": nic,
            "t": {"kind": "switch"},
            "s": {"kind": "switch", "congestion_point": cp, "service_rate": GBIT // 2},
            "sink": {"kind": "sink"} | ({"notification_point": np_} if np_ else {}),
        },
        "links": {
            "at": {"ends": ["a", "t"], "rate": GBIT, "delay": US},
            "bt": {"ends": ["b", "t"], "rate": GBIT, "delay": US},
            "ts": {"ends": ["t", "s"], "rate": 10 * GBIT, "delay": US},
            "down": {"ends": ["s", "sink"], "rate": GBIT, "delay": US},
        },
        "traffic": {
            "fa": {"plugin": "cbr", "from": "a", "to": "sink", "rate": GBIT},
            "fb": {"plugin": "cbr", "from": "b", "to": "sink", "rate": GBIT},
        },
    }
    return table | changes


P4QCN_RP = {"plugin": "p4qcn-rp", "ai_rate": 10**7, "byte_reset": 100_000, "min_rate": 10**7}
SCHEMES: dict[str, Any] = {
    "p4qcn": ({"plugin": "p4qcn-cp", "min_interval": 2 * MS}, P4QCN_RP, None),
    "p4qcn-3": (
        {"plugin": "p4qcn-cp", "points": "three"},
        P4QCN_RP,
        {"plugin": "notification-point", "preset": "p4qcn", "interval": 2 * MS},
    ),
    "dcqcn": (
        {"plugin": "red", "low": 5_000, "high": 60_000, "max_probability": "1/10"},
        {"plugin": "dcqcn-rp", "ai_rate": 10**7, "hai_rate": 10**7, "min_rate": 10**6},
        {"plugin": "notification-point", "preset": "dcqcn"},
    ),
    "qcn-3": (
        {"plugin": "qcn-cp", "sample_base": 15_000, "tell": "destination"},
        {"plugin": "qcn-rp", "preset": "netfpga", "time_reset": 2 * MS, "byte_reset": 15_000},
        {"plugin": "notification-point", "preset": "qcn"},
    ),
    "bcn": (
        {"plugin": "bcn-cp", "threshold": 20_000, "sample_base": 15_000},
        {"plugin": "bcn-rp"},
        None,
    ),
    "fecn": (
        {"plugin": "fecn-cp", "interval": MS},
        {"plugin": "fecn-rp", "initial_rate": GBIT // 10},
        {"plugin": "fecn-reflector"},
    ),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_frame_is_in_one_place_and_the_queue_is_controlled(scheme):
    assembly = assembled(plan(scheme))
    for _ in run_in_steps(assembly, 20):
        audit(assembly.world)
    recording = recorded(plan(scheme))
    late = recording.times_ps > 10 * MS
    queue = recording.column("s.sink", "queue_bytes")[late]
    assert queue.mean() < 80_000, "the buffer holds 150 KB and is full without control"
    sent = np.diff(recording.column("s.sink", "bytes_out")[late][[0, -1]])[0] * 8 / 10**-2
    assert sent > 0.1 * GBIT / 2, "P4QCN without a timer takes long to come back"


def kinds(scheme: str, port: str, **changes: Any) -> dict[tuple[int, bool], int]:
    """How many frames of each kind were seen at a port, by whether it sent them."""
    table = plan(scheme, capture={"ports": [port], "frames": 100_000, "snap": 128}, **changes)
    (capture,) = recorded(table).captures
    found: dict[tuple[int, bool], int] = {}
    frame = empty_descriptors(1)[0]
    for octets, length, outgoing in zip(
        capture.octets, capture.lengths, capture.outgoing, strict=True
    ):
        kind = decode(octets, int(length), frame), bool(outgoing)
        found[kind] = found.get(kind, 0) + 1
    return found


def test_over_two_points_the_switch_answers_and_over_three_the_sink():
    assert (RETURNED, False) in kinds("p4qcn", "a.t")
    assert (RETURNED, True) not in kinds("p4qcn", "sink.s")
    assert (RETURNED, True) in kinds("p4qcn-3", "sink.s")


def test_cnps_go_from_the_sink_to_the_source():
    assert kinds("dcqcn", "sink.s")[CNP, True] > 0
    assert kinds("dcqcn", "a.t")[CNP, False] > 0


def test_at_a_switch_a_notification_point_makes_two_points_of_three():
    table = plan("dcqcn")
    point = table["nodes"]["sink"].pop("notification_point") | {"absorb": True}
    table["nodes"]["s"]["notification_point"] = point
    recording = recorded(table)
    assert recording.column("a.rp0", "feedback_received")[-1] > 0
    assert recording.column("s.sink", "frames_marked")[-1] > 0
    assert kinds("dcqcn", "sink.s", nodes=table["nodes"]).keys() == {(DATA, False)}


def test_messages_to_one_flow_keep_their_distance_and_flows_have_states_of_their_own():
    recording = recorded(plan("p4qcn"))
    for limiter in ("a.rp0", "b.rp0"):
        received = recording.column(limiter, "feedback_received")
        assert 1 < received[-1] <= 10, "one in two milliseconds at the most"
        steps = recording.times_ps[1:][np.diff(received) > 0]
        assert np.diff(steps).min() >= 2 * MS - 200 * US


def test_probes_go_forward_and_come_back_with_what_the_switch_granted():
    found = kinds("fecn", "a.t")
    assert found[PROBE, True] in (20, 19)
    assert abs(found[ECHO, False] - found[PROBE, True]) <= 1
    recording = recorded(plan("fecn"))
    rate = recording.column("a.rp0", "current_rate")
    assert rate[0] == GBIT // 10, "limited from its start"
    assert rate[-1] == pytest.approx(GBIT // 4, rel=0.2)


def test_without_a_reflector_probes_end_at_the_sink():
    table = plan("fecn")
    del table["nodes"]["sink"]["notification_point"]
    rate = recorded(table).column("a.rp0", "current_rate")
    assert (rate == GBIT // 10).all()


def test_a_flow_limited_from_its_start_without_a_limiter_is_counted():
    table = plan("fecn")
    table["nodes"]["a"] = table["nodes"]["a"] | {"reaction_points": 1}
    table["traffic"]["fa"] = table["traffic"]["fa"] | {"flows": 3}
    assert recorded(table).column("a", "feedback_unassigned")[-1] == 2


def test_a_limiter_goes_to_another_flow_when_its_own_has_ended():
    table = plan("fecn")
    table["nodes"]["a"] = table["nodes"]["a"] | {"reaction_points": 1}
    table["traffic"]["fa"] = table["traffic"]["fa"] | {"stop": 5 * MS}
    table["traffic"]["later"] = table["traffic"]["fb"] | {"from": "a", "start": 12 * MS}
    recording = recorded(table)
    assert recording.column("a", "feedback_unassigned")[-1] == 0
    active = recording.column("a.rp0", "active")
    at = {int(t): int(v) for t, v in zip(recording.times_ps, active, strict=True)}
    assert (at[4 * MS], at[10 * MS], at[15 * MS]) == (1, 0, 1)


def routed(scheme: str) -> Table:
    table = plan(scheme)
    for name in ("t", "s"):
        table["nodes"][name] = table["nodes"][name] | {"forwards_by": "ip"}
    return table


def test_a_router_changes_addresses_and_ttl_and_the_scheme_still_works():
    table = routed("p4qcn") | {"capture": {"ports": ["sink.s", "a.t"], "frames": 1000, "snap": 128}}
    recording = recorded(table)
    assert recording.column("a.rp0", "feedback_received")[-1] > 1
    at_sink, at_nic = (c for c in recording.captures)
    if at_sink.node != "sink":
        at_sink, at_nic = at_nic, at_sink
    data = at_sink.octets[~at_sink.outgoing][0]
    assert data[26] == 62, "TTL behind two routers"
    own = empty_descriptors(1)[0]
    decode(data, 1500, own)
    assert bytes(data[30:34]) != bytes(data[7:11]), "the source MAC is the router's"
    back = [row for row, out in zip(at_nic.octets, at_nic.outgoing, strict=True) if not out]
    assert decode(back[0], 1500, own) == RETURNED
    assert back[0][26] == 63, "it passed one router; the other one made it"


def test_what_is_not_ip_does_not_pass_a_router():
    table = routed("fecn")
    assert (recorded(table).column("a.rp0", "current_rate") == GBIT // 10).all()
    assembly = assembled(table)
    run_until(assembly, 20 * MS)
    assert assembly.world.nodes[assembly.indices.nodes["t"]].unroutable > 10


def shared(memory: int, pause: bool) -> Table:
    """The switch before the sink shares its memory; both flows come through one input."""
    table = plan("p4qcn")
    inputs: Table = {"shared_memory": memory, "buffer": 10**6}
    if pause:
        inputs["pause"] = {"plugin": "pfc", "high": 21_000, "low": 19_500}
    table["nodes"]["s"] = {
        "kind": "switch",
        "service_rate": GBIT // 2,
        "buffer": 10**6,
        "inputs": inputs,
    }
    for name in ("a", "b"):
        table["nodes"][name] = {"kind": "nic", "host_queue": 15_000, "reaction_points": 0}
    return table


def test_shared_memory_is_all_there_is_and_the_output_drops():
    table = shared(60_000, pause=False)
    assembly = assembled(table)
    for _ in run_in_steps(assembly, 10):
        audit(assembly.world)
        node = assembly.world.nodes[assembly.indices.nodes["s"]]
        assert node.shared_bytes <= 60_000
    recording = recorded(table)
    assert recording.column("s.sink", "queue_max_bytes")[-1] == 60_000
    came, left, lost = (
        int(recording.column("s.sink", name)[-1])
        for name in ("frames_in", "frames_out", "frames_dropped")
    )
    assert lost > 100
    assert came == left + lost + recording.column("s.sink", "queue_bytes")[-1] // 1500
    assert recording.column("s.t/in", "frames_dropped")[-1] == 0


def test_pfc_at_the_inputs_of_shared_memory_loses_nothing():
    recording = recorded(shared(90_000, pause=True))
    assert recording.column("s.sink", "frames_dropped")[-1] == 0
    assert recording.column("s.t/in", "queue_max_bytes")[-1] > 21_000
    assert recording.column("s.t/in", "pause_sent")[-1] > 10
    assert recording.column("s.sink", "bytes_out")[-1] > 0.95 * GBIT / 2 / 8 / 50


def test_a_timer_of_a_congestion_point_is_scheduled():
    assembly = assembled(plan("fecn"))
    run_until(assembly, 5 * MS)
    row = assembly.indices.queues["s.sink"]
    timer = int(assembly.world.queues[row].congestion_point_timer)
    actor = 2 + assembly.world.ports.size + row
    assert 5 * MS <= timer == int(wake_time(assembly.world, actor))
