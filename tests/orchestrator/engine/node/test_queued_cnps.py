"""CNPs that switches queue: in the lane of their priority, behind data, held by PFC."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from orchestrator.run.frame_audit import audit
from tests.orchestrator.worlds import MS, US, Table, assembled, at, recorded, run_until

GBPS = 10**9


def congested(cnps: str | None, priority: int | None = None, **more: Any) -> Table:
    """h1 sends to h2, whose port is slow, from 1 ms on; h3 and h4 fill the port to h1."""
    names = ("h1", "h2", "h3", "h4")
    red = {"plugin": "red", "low": 29_999, "high": 30_000, "max_probability": 1}
    notify = {"plugin": "notification-point", "preset": "dcqcn"}
    if priority is not None:
        notify["priority"] = priority
    plan: Table = {
        "name": "congested",
        "duration": 3 * MS,
        "sample_interval": 20 * US,
        "priorities": "separate",
        "more_priorities": [6],
        "nodes": {name: {"kind": "nic"} for name in names}
        | {"s": {"kind": "switch", "buffer": 2_000_000}},
        "links": {
            name: {"ends": [name, "s"], "rate": 10 * GBPS, "delay": 2 * US} for name in names
        },
        "traffic": {
            "fwd": {"plugin": "cbr", "from": "h1", "to": "h2", "rate": 10 * GBPS, "start": MS},
            "rev": {"plugin": "cbr", "from": ["h3", "h4"], "to": "h1", "rate": 6 * GBPS},
        },
    } | more
    for entry in plan["traffic"].values():
        entry["priority"] = 3
    plan["nodes"]["h1"] |= {
        "reaction_point": {"plugin": "dcqcn-rp"},
        "limiter": {"depth": 3_000, "period": US},
    }
    plan["nodes"]["h2"]["notification_point"] = notify
    plan["nodes"]["s"]["ports"] = {"h2": {"service_rate": 5 * GBPS, "congestion_point": red}}
    if cnps is not None:
        plan.setdefault("headers", {})["cnps"] = cnps
    return plan


def first_cnp(done: Recording) -> int:
    """ps from the first sample with a queue at K to the first CNP at h1."""
    times = done.times_ps
    got = done.column("h1.rp0", "feedback_received")
    full = done.column("s.h2/p3", "queue_bytes")
    return int(times[got > 0][0] - times[full >= 30_000][0])


@pytest.mark.parametrize("cnps", [None, "ahead"])
def test_ahead_of_data_no_priority_matters(cnps: str | None) -> None:
    for priority in (None, 6):
        assert first_cnp(recorded(congested(cnps, priority))) <= 80 * US


def test_in_the_lane_of_the_data_they_wait_behind_it() -> None:
    """2 Gb/s for 1.1 ms are 275 KB, 220 us at 10 Gb/s."""
    own, behind = recorded(congested("queued", 6)), recorded(congested("queued"))
    assert first_cnp(own) <= 80 * US
    assert first_cnp(behind) - first_cnp(own) == pytest.approx(220 * US, abs=40 * US)


def test_a_full_lane_drops_them_and_another_one_does_not() -> None:
    """They are counted as frames of the queue, and every descriptor is accounted for."""
    for priority, dropped in ((None, True), (6, False)):
        plan = congested("queued", priority)
        plan["nodes"]["s"]["ports"]["h1"] = {"buffer": 30_000}
        plan["nodes"]["h2"]["notification_point"]["interval"] = 0
        assembly = assembled(plan)
        for step in range(1, 7):
            run_until(assembly, step * MS // 2)
            audit(assembly.world)
        done = recorded(plan)
        sent = at(done, "h2", "feedback_sent", 3 * MS)
        got = at(done, "h1.rp0", "feedback_received", 3 * MS)
        assert sent > 50
        assert (sent - got > 10) == dropped, (sent, got)


def test_pfc_for_their_lane_holds_them() -> None:
    plan = congested("queued", 6)
    storm = {"plugin": "pause-storm", "frames": "pfc", "vector": 1 << 6, "stop": 2 * MS}
    plan["nodes"]["far"] = {"kind": "switch", "pause": storm}
    plan["links"]["h1"] = {"ends": ["far", "s"], "rate": 10 * GBPS, "delay": 2 * US}
    plan["links"]["on"] = {"ends": ["h1", "far"], "rate": 10 * GBPS, "delay": 2 * US}
    done = recorded(plan)
    assert at(done, "h1.rp0", "feedback_received", 2 * MS) == 0
    assert at(done, "h1.rp0", "feedback_received", 3 * MS) >= 3


def test_by_dscp_they_are_in_class_6() -> None:
    """Whatever the priority of the data is; CNPs have DSCP 48."""
    plan = congested("queued", headers={"tagged": False, "priority": "dscp"})
    done = recorded(plan)
    assert first_cnp(done) <= 80 * US
    assert at(done, "s.h1/p6", "frames_in", 3 * MS) == at(done, "h2", "feedback_sent", 3 * MS)


@pytest.mark.parametrize("transport", [None, {"plugin": "rc"}])
def test_queue_pairs_too(transport: Table | None) -> None:
    plan = congested("queued", 6)
    if transport is not None:
        plan["traffic"]["fwd"] |= {"plugin": "bulk", "transport": transport}
        del plan["traffic"]["fwd"]["rate"]
    done = recorded(plan)
    assert at(done, "s.h1/p6", "frames_in", 3 * MS) >= 3
    assert at(done, "h1.rp0", "feedback_received", 3 * MS) >= 3


def sparse() -> Table:
    """One lane at 0.1 Gb/s whose port to h1 has a frame at hand for a third of the time: a CNP that
    waits behind one is followed by none for long. Every mark has its CNP."""
    plan = congested("queued", priorities="shared", more_priorities=[])
    for link in plan["links"].values():
        link["rate"] = GBPS // 10
    plan["traffic"]["fwd"]["rate"] = GBPS // 10
    plan["traffic"]["rev"] |= {"rate": GBPS // 50, "from": "h3"}
    plan["nodes"]["s"]["ports"]["h2"]["service_rate"] = GBPS // 20
    plan["nodes"]["h2"]["notification_point"]["interval"] = 0
    return plan | {"duration": 60 * MS, "sample_interval": 20 * MS}


def test_in_one_lane_a_cnp_is_deferred_no_more_than_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """All events or only those that are needed: the samples are the same."""
    found = []
    for eager in ("", "1"):
        monkeypatch.setenv("TAILBACK_EAGER", eager)
        found.append(recorded(sparse()))
    assert (found[0].values == found[1].values).all()
    assert at(found[0], "h1.rp0", "feedback_received", 60 * MS) > 50


@pytest.mark.parametrize("headers", [{}, {"priority": "dscp"}])
def test_a_class_without_a_lane_is_refused(headers: Table) -> None:
    plan = congested("queued", 6, more_priorities=[], headers=headers)
    with pytest.raises(BadInput) as raised:
        Plan(**plan).check(Registry.load())
    assert "headers.cnps" in str(raised.value)
    assert "more_priorities = [6] is expected" in str(raised.value)
