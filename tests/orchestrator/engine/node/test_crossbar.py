"""The combined input/output queued switch: turns, credits, room that is kept, what is sampled."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.engine.node.latency_histogram import latency_edges
from orchestrator.engine.node.transmitter import wire_time
from orchestrator.recording import Recording
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import ALIGNED, MS, US, Table, assembled, at, recorded, run_in_steps

LINK = 10**9
FRAME = 1500


def rack(hosts: int, inputs: Table | None = None, **switch: Any) -> Table:
    """Hosts h0, h1, ... at 1 Gb/s into a switch with inputs, and two sinks behind it."""
    names = [f"h{n}" for n in range(hosts)]
    nodes: Table = {name: {"kind": "nic"} for name in names}
    nodes |= {"d0": {"kind": "sink"}, "d1": {"kind": "sink"}}
    nodes["rack"] = {"kind": "switch", "inputs": inputs or {}} | switch
    return {
        "name": "fabric",
        "duration": 10 * MS,
        "sample_interval": 100 * US,
        "nodes": nodes,
        "links": {n: {"ends": [n, "rack"], "rate": LINK} for n in [*names, "d0", "d1"]},
        "traffic": {
            f"t{k}": {"plugin": "cbr", "from": f"h{k}", "to": "d0", "rate": LINK, "frame": FRAME}
            for k in range(hosts)
        },
    }


def test_a_lone_frame_takes_its_times_on_the_wire_inside_and_the_latency() -> None:
    plan = rack(1, {"speedup": "2", "crossbar_latency": 3 * US})
    plan["traffic"]["t0"]["rate"] = 10**6  # one frame in 12 ms
    world = assembled(plan)
    for _ in run_in_steps(world, 1):
        pass
    total = 2 * wire_time(FRAME, LINK) + wire_time(FRAME, 2 * LINK) + 3 * US
    seen = world.world.latency[0].nonzero()[0]
    assert len(seen) == 1
    edges = latency_edges()
    assert edges[seen[0]] <= total < edges[seen[0] + 1]


def test_inputs_get_equal_turns_whatever_they_ask() -> None:
    plan = rack(3, {"pause": {"plugin": "pause"}})
    plan["traffic"]["t2"]["frame"] = 700  # turns are frames
    recording = recorded(plan)
    names = [f"t{n}" for n in range(3)]
    first, last = (
        [at(recording, name, "frames_received", time) for name in names]
        for time in (4 * MS, 10 * MS)
    )
    sent = [after - before for before, after in zip(first, last, strict=True)]
    assert max(sent) - min(sent) <= 2
    assert sum(sent) > 400


def test_an_output_never_holds_more_than_its_room_and_inputs_absorb_the_rest() -> None:
    plan = rack(4, {"buffer": 40_000}, buffer=9_000)
    assembly = assembled(plan)
    rows = assembly.indices.queues
    for _ in run_in_steps(assembly, 50):
        audit(assembly.world)
        out = assembly.world.queues[rows["rack.d0"]]
        assert out.bytes + out.reserved <= 9_000
        assert out.frames_dropped == 0
    inputs = [assembly.world.queues[rows[f"rack.h{n}/in"]] for n in range(4)]
    assert all(side.frames_dropped > 0 and side.bytes_max > 38_000 for side in inputs)


def test_a_stream_for_a_free_output_passes_one_that_waits() -> None:
    plan = rack(2)
    plan["traffic"]["t0"] |= {"rate": LINK // 2}
    plan["traffic"]["free"] = plan["traffic"]["t0"] | {"to": "d1"}
    plan["nodes"]["rack"]["ports"] = {"d0": {"service_rate": 10**7}}
    plan["nodes"]["rack"]["buffer"] = 3_000
    plan["duration"] = 2 * MS  # what waits does not fill the buffer yet
    recording = recorded(plan)
    assert at(recording, "free", "frames_received", 2 * MS) >= 80, "83 are sent"
    assert at(recording, "t0", "frames_received", 2 * MS) < 5


@pytest.mark.parametrize("kept", [False, True])
def test_room_is_kept_until_the_frame_left_the_output(kept: bool) -> None:
    plan = rack(2, {"hold_until_departure": kept, "buffer": 150_000}, buffer=60_000)
    assembly = assembled(plan)
    rows = assembly.indices.queues
    for _ in run_in_steps(assembly, 10):
        audit(assembly.world)
    side = assembly.world.queues[rows["rack.h0/in"]]
    other = assembly.world.queues[rows["rack.h1/in"]]
    out = assembly.world.queues[rows["rack.d0"]]
    assert out.bytes > 50_000
    if kept:
        assert side.bytes + other.bytes >= out.bytes
        assert side.frames_out + other.frames_out == out.frames_out
    else:
        assert side.frames_out + other.frames_out >= out.frames_out + out.frames


def test_frames_pass_two_switches_with_inputs() -> None:
    """A long frame makes room for several short ones, which the second switch orders anew."""
    plan = rack(3, {"speedup": "2"}, buffer=3_000)
    plan["nodes"]["next"] = dict(plan["nodes"]["rack"])
    plan["links"]["middle"] = {"ends": ["rack", "next"], "rate": LINK}
    plan["links"]["d0"] = {"ends": ["next", "d0"], "rate": LINK}
    plan["traffic"]["t2"]["frame"] = 100
    plan["timeline"] = [{"at": MS, "stop": f"t{n}"} for n in range(3)]
    plan["duration"] = 4 * MS
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 30):
        audit(assembly.world)
    flows, queues = assembly.world.flows, assembly.world.queues
    received = flows["frames_received"].sum()
    assert flows["frames_sent"].sum() - queues["frames_dropped"].sum() == received > 1_000
    assert not queues["bytes"].any()


@pytest.mark.parametrize("sampling", ["occupancy-random", "occupancy-max", "arrival"])
def test_who_is_told(sampling: str) -> None:
    """Ten frames for a free output come with every one that backs up: only arrivals accuse them."""
    plan = rack(1)
    point = {"plugin": "qcn-cp", "set_point": 3_000, "sample_base": 3_000, "sampling": sampling}
    plan["nodes"]["rack"]["inputs"] = {"congestion_point": point, "buffer": 60_000}
    plan["nodes"]["rack"]["ports"] = {"d0": {"service_rate": 10**6}}
    plan["traffic"]["t0"]["rate"] = LINK // 11
    plan["traffic"]["free"] = plan["traffic"]["t0"] | {"to": "d1", "rate": 10 * LINK // 11}
    plan["nodes"]["rack"]["buffer"] = 1_500
    plan["nodes"]["h0"] |= {"reaction_points": 0, "reaction_point": {"plugin": "qcn-rp"}}
    plan["capture"] = {"ports": ["h0.rack"], "frames": 20_000, "snap": 106}
    assembly = assembled(plan)
    for _ in run_in_steps(assembly, 5):
        audit(assembly.world)
    octets = assembly.world.capture_octets[0][: assembly.world.capture_count[0, 0]]
    told = [tuple(o[:6]) for o in octets if o[16:18].tobytes() == b"\x22\xe7"]
    innocent = sum(address[-1] == 1 for address in told) / len(told)
    assert len(told) > 100
    if sampling == "arrival":
        assert innocent > 0.85
    elif sampling == "occupancy-max":
        assert innocent == 0
    else:
        assert 0 <= innocent < 0.1


def test_keep_alive_samples_while_the_neighbour_is_paused() -> None:
    def messages(keep_alive: bool) -> int:
        plan = rack(1)
        point = {"plugin": "qcn-cp", "set_point": 20_000, "sampling": "occupancy-random"}
        point |= {"keep_alive": keep_alive, "sample_base": 10_000}
        plan["nodes"]["rack"]["inputs"] = {"congestion_point": point, "pause": {"plugin": "pause"}}
        plan["nodes"]["rack"]["ports"] = {"d0": {"service_rate": 10**6}}
        recording = recorded(plan)
        assert at(recording, "h0>rack", "paused_ps", 10 * MS) > 7 * MS
        return at(recording, "rack.h0/in", "feedback_sent", 10 * MS)

    filled = 110_000 + 150_000  # the output first, then the input up to its high mark
    paused_ms = 10 - filled * 8 / LINK * 1000
    expected = paused_ms / (10_000 * 8 / LINK * 1000)
    assert messages(True) - messages(False) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("base", [1_153_000, 2_000_000, 10**9])
def test_a_keep_alive_of_a_large_sample_base_lasts_so_long(base: int) -> None:
    """From 1.15 MB on the clock was once set to before now, for ever: the run did not end."""
    plan = rack(1)
    point = {"plugin": "qcn-cp", "set_point": 20_000, "sampling": "occupancy-random"}
    point |= {"keep_alive": True, "sample_base": base}
    plan["nodes"]["rack"]["inputs"] = {"congestion_point": point, "pause": {"plugin": "pause"}}
    plan["nodes"]["rack"]["ports"] = {"d0": {"service_rate": 10**6}}
    plan["duration"] = 40 * MS
    messages = at(recorded(plan), "rack.h0/in", "feedback_sent", 40 * MS)
    paused_ms = 40 - (110_000 + 150_000) * 8 / LINK * 1000
    assert messages == int(paused_ms / (base * 8 / LINK * 1000))


def test_limiters_are_told_after_their_reaction_time() -> None:
    def first(reaction: int) -> int:
        plan = rack(2)
        plan["sample_interval"] = US
        plan["duration"] = 2 * MS
        plan["nodes"]["rack"]["congestion_point"] = {"plugin": "qcn-cp", "sample_base": 10_000}
        for name in ("h0", "h1"):
            plan["nodes"][name] |= {
                "reaction_point": {"plugin": "qcn-rp"},
                "reaction_time": reaction,
            }
        recording = recorded(plan)
        active = recording.column("h0.rp0", "active")
        return int(recording.times_ps[active.argmax()])

    assert first(50 * US) - first(0) == pytest.approx(50 * US, abs=US)


def shared(**nic: Any) -> Table:
    """Two flows of one NIC, 3 and 7 parts of its link; its neighbour lets half of it pass."""
    plan = rack(1, {"pause": {"plugin": "pause", "high": 20_000, "low": 10_000}}) | ALIGNED
    plan["nodes"]["h0"] |= nic
    plan["traffic"]["t0"]["rate"] = LINK * 3 // 10
    plan["traffic"]["t1"] = plan["traffic"]["t0"] | {"rate": LINK * 7 // 10}
    plan["nodes"]["rack"]["ports"] = {"d0": {"service_rate": LINK // 2}}
    plan["duration"] = 50 * MS
    return plan


def received(recording: Recording, flow: str) -> int:
    """Frames between 10 and 50 ms, when the buffers are full."""
    last, first = (at(recording, flow, "frames_received", time) for time in (50 * MS, 10 * MS))
    return last - first


def test_flows_of_a_shared_queue_leave_as_they_came() -> None:
    recording = recorded(shared(host_queues="shared"))
    few, many = (received(recording, flow) for flow in ("t0", "t1"))
    assert many / few == pytest.approx(7 / 3, rel=0.03)
    refused = [at(recording, f, "frames_refused", 50 * MS) for f in ("t0", "t1")]
    assert min(refused) > 0
    per_flow = recorded(shared())
    few, many = (received(per_flow, flow) for flow in ("t0", "t1"))
    assert many / few == pytest.approx(1, rel=0.05), "they take turns"
    assert at(per_flow, "t0", "frames_refused", 50 * MS) == 0


def test_a_limited_flow_has_a_queue_of_its_own() -> None:
    plan = shared(host_queues="shared", reaction_points=2, reaction_point={"plugin": "qcn-rp"})
    point = {
        "plugin": "qcn-cp",
        "set_point": 5_000,
        "sampling": "occupancy-max",
        "sample_base": 9_000,
    }
    plan["nodes"]["rack"]["inputs"]["congestion_point"] = point
    assembly = assembled(plan)
    bound = set()
    for _ in run_in_steps(assembly, 100):
        audit(assembly.world)
        node = assembly.world.nodes[0]
        inside = [f for f in assembly.world.flows if f.limiter == -1]
        assert node.host_bytes == sum(f.bytes for f in inside) <= node.host_capacity
        bound |= {f.limiter for f in assembly.world.flows}
    assert len(bound) > 1
