"""Acknowledgements and CNPs in a priority of their own: lanes, tags, what reverse traffic does."""

from __future__ import annotations

import pytest
from scapy.layers.inet import UDP
from scapy.layers.l2 import Dot1Q, Ether

from orchestrator.engine.frames.frame_layout import ACK_PORT, ROCE_PORT
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US, Table, at, recorded

GBPS = 10**9


def reverse(point: Table, transport: Table, marks: Table | None = None, **entry: int) -> Table:
    """h1 sends to h2 while h2 and h3 send 12.9 Gb/s to h1, over a switch with links of 10 Gb/s."""
    hosts = ("h1", "h2", "h3")
    plan: Table = {
        "name": "reverse",
        "duration": 5 * MS,
        "sample_interval": 100 * US,
        "priorities": "separate",
        "nodes": {name: {"kind": "nic"} for name in hosts}
        | {"s": {"kind": "switch", "buffer": 1_000_000, "congestion_point": {"plugin": "int"}}},
        "links": {
            name: {"ends": [name, "s"], "rate": 10 * GBPS, "delay": 2 * US} for name in hosts
        },
        "traffic": {
            "fwd": {"plugin": "bulk", "from": "h1", "to": "h2", "priority": 3}
            | {"transport": transport}
            | entry,
            "rev": {
                "plugin": "cbr",
                "from": "h3",
                "to": "h1",
                "priority": 3,
                "rate": 99 * 10**8,
            },
            "also": {"plugin": "cbr", "from": "h2", "to": "h1", "priority": 3, "rate": 3 * GBPS},
        },
    }
    plan["nodes"]["h1"] |= {
        "reaction_point": point,
        "limiter": {"depth": 3_000, "period": US},
    }
    if marks is not None:
        plan["nodes"]["s"]["congestion_point"] = marks
    return plan


def throughput(done: Recording) -> float:
    """Of `fwd` over the last 3 ms (bit/s)."""
    received = [at(done, "fwd", "bytes_received", when * MS) for when in (2, 5)]
    return (received[1] - received[0]) * 8 / 0.003


HPCC = {"plugin": "hpcc", "base_rtt": 13 * US}
SCHEMES = [
    (HPCC, {"plugin": "go-back-n"}, None, 8.5),
    (HPCC, {"plugin": "selective"}, None, 8.5),
    ({"plugin": "swift"}, {"plugin": "go-back-n"}, {"plugin": "red"}, 8.5),
    ({"plugin": "timely"}, {"plugin": "go-back-n"}, {"plugin": "red"}, 5),
]
"""The last one: Gb/s that it reaches at least; TIMELY swings below its link's rate."""


@pytest.mark.parametrize(("point", "transport", "marks", "least"), SCHEMES)
def test_reverse_traffic_holds_acknowledgements_up_in_its_lane_alone(
    point: Table, transport: Table, marks: Table | None, least: float
) -> None:
    beside = throughput(recorded(reverse(point, transport, marks)))
    apart = recorded(reverse(point, transport, marks, ack_priority=6))
    assert beside < 1.5 * GBPS
    assert throughput(apart) > least * GBPS
    sent = at(apart, "s.h1/p6", "frames_in", 5 * MS)
    assert sent > 1000, "every acknowledgement"
    assert at(apart, "s.h1/p6", "frames_dropped", 5 * MS) == 0
    assert at(apart, "s.h1/p3", "frames_dropped", 5 * MS) > 0, "the data is not held back for it"


@pytest.mark.parametrize("priority", [0, 3, 7])
def test_an_acknowledgement_has_its_priority_in_its_tag(priority: int) -> None:
    plan = reverse(HPCC, {"plugin": "go-back-n"}, ack_priority=priority)
    plan["capture"] = {"ports": ["h1.s"], "frames": 2_000}
    found = tags(recorded(plan), ACK_PORT)
    assert len(found) > 20
    assert set(found) == {priority}


def tags(done: Recording, port: int) -> list[int]:
    """Priorities of the captured frames to a UDP port."""
    (capture,) = done.captures
    frames = (Ether(bytes(row)) for row in capture.octets)
    return [one[Dot1Q].prio for one in frames if UDP in one and one[UDP].dport == port]


def test_with_shared_lanes_the_tag_alone_differs() -> None:
    found = []
    for more in ({}, {"ack_priority": 6}):
        plan = reverse(HPCC, {"plugin": "go-back-n"}, **more) | {"priorities": "shared"}
        done = recorded(plan)
        found.append([at(done, "fwd", name, 5 * MS) for name in ("frames_sent", "bytes_received")])
    assert found[0] == found[1]


def marked(**point: int | str) -> Table:
    """Two NICs with DCQCN into one port that marks; the sink sends CNPs."""
    names = ("h1", "h2", "d")
    notifies = {"plugin": "notification-point", "preset": "dcqcn"} | point
    return {
        "name": "marked",
        "duration": 3 * MS,
        "sample_interval": 100 * US,
        "priorities": "separate",
        "nodes": {
            "h1": {"kind": "nic", "reaction_point": {"plugin": "dcqcn-rp"}},
            "h2": {"kind": "nic", "reaction_point": {"plugin": "dcqcn-rp"}},
            "s": {
                "kind": "switch",
                "buffer": 200_000,
                "congestion_point": {"plugin": "red", "high": 60_000, "max_probability": "1"},
            },
            "d": {"kind": "sink", "notification_point": notifies},
        },
        "links": {name: {"ends": [name, "s"], "rate": GBPS, "delay": US} for name in names},
        "traffic": {
            "t": {"plugin": "cbr", "from": ["h1", "h2"], "to": "d", "priority": 3, "rate": GBPS}
        },
        "capture": {"ports": ["d.s"], "frames": 5_000},
    }


@pytest.mark.parametrize("priority", [0, 5, 7])
def test_a_cnp_has_its_priority_in_its_tag_and_is_held_by_no_lane(priority: int) -> None:
    plain, own = recorded(marked()), recorded(marked(priority=priority))
    assert set(tags(plain, ROCE_PORT)) == {3}, "that of the data frame"
    assert set(tags(own, ROCE_PORT)) == {priority}
    assert len(tags(own, ROCE_PORT)) == len(tags(plain, ROCE_PORT)) > 5
    for flow in ("t.0", "t.1"):
        counts = [at(done, flow, "frames_received", 3 * MS) for done in (plain, own)]
        assert counts[0] == counts[1]


def refused(plan: Table) -> str:
    with pytest.raises(BadInput) as raised:
        Plan(**plan).check(Registry.load())
    return str(raised.value)


def test_what_has_no_acknowledgements_has_no_priority_for_them() -> None:
    plan = marked()
    plan["traffic"]["t"]["ack_priority"] = 6
    assert "traffic.t.ack_priority" in refused(plan)
    assert "a transport is expected" in refused(plan)


@pytest.mark.parametrize("priority", [-1, 8])
def test_a_priority_is_from_0_to_7(priority: int) -> None:
    plan = reverse(HPCC, {"plugin": "go-back-n"}, ack_priority=priority)
    assert "traffic.fwd.ack_priority" in refused(plan)
    assert "notification_point.priority" in refused(marked(priority=priority - 1 + priority // 8))


def test_a_cnm_says_the_priority_of_the_data_frame() -> None:
    text = refused(marked(message="cnm", priority=6))
    assert "nodes.d.notification_point" in text
    assert "a CNM repeats the priority of the data frame" in text


@pytest.mark.software
def test_real_acknowledgements_and_cnps_have_their_priorities(namespaces: None) -> None:
    plan = marked(priority=5)
    for link in plan["links"].values():
        link |= {"rate": 50 * 10**6, "delay": 20 * US}
    plan["duration"] = 100 * MS
    plan["nodes"]["h3"] = {"kind": "nic"}
    plan["links"]["h3"] = {"ends": ["h3", "s"], "rate": 50 * 10**6}
    plan["traffic"]["t"]["rate"] = 40 * 10**6
    plan["traffic"]["m"] = {"plugin": "messages", "from": "h3", "to": "d", "size": 20_000} | {
        "priority": 3,
        "ack_priority": 6,
        "transport": {"plugin": "go-back-n", "timeout": 1_000 * MS},
    }
    done = run(Plan(**plan), target="software", out=None).recording
    assert set(tags(done, ROCE_PORT)) == {5}
    assert set(tags(done, ACK_PORT)) == {6}
    assert at(done, "s.h3/p6", "frames_in", 100 * MS) >= 14
    assert at(done, "s.h3/p3", "frames_in", 100 * MS) == 0
