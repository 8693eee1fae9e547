"""Timeouts, negative acknowledgements and retransmissions of flows, as metrics of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.frames import decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import ACK, DATA, SACK
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US, Table, assembled, recorded, run_until
from tests.plugins.scheme_driver import Driver
from tests.traffic.test_tcp import states
from traces.report import report
from traces.run_reader import load
from traffic.go_back_n import GO_BACK_N, NEGATIVE, GoBackN

GBPS = 10**9
RECEIVER = {"plugin": "credits"}
TRANSPORTS: dict[str, tuple[Table, frozenset[str]]] = {
    "go-back-n": ({"timeout": "1ms"}, frozenset({"timeouts", "naks.received"})),
    "selective": ({"min_rto": "1ms"}, frozenset({"timeouts", "naks.received"})),
    "credit": ({"timeout": "1ms"}, frozenset({"timeouts", "naks.received"})),
    "rc": ({"timeout": "1ms"}, frozenset({"timeouts", "naks.received"})),
    "tcp": ({"min_rto": "1ms"}, frozenset({"timeouts"})),
}
"""Shipped transport -> parameters of a quick timeout, the counts that it has."""


def plan_of(transport: str, **more: Any) -> Table:
    """Two NICs over a switch; one flow of 1 Gb/s with more than can be sent."""
    receiver = {"receiver": RECEIVER} if transport == "credit" else {}
    return {
        "name": "counts",
        "duration": 10 * MS,
        "sample_interval": 100 * US,
        "nodes": {
            "h": {"kind": "nic"},
            "s": {"kind": "switch"},
            "z": {"kind": "nic"} | receiver,
        },
        "links": {
            "u": {"ends": ["h", "s"], "rate": GBPS, "delay": US},
            "d": {"ends": ["s", "z"], "rate": GBPS, "delay": US},
        },
        "traffic": {
            "t": {
                "plugin": "messages",
                "from": "h",
                "to": "z",
                "size": "4MB",
                "transport": {"plugin": transport} | TRANSPORTS[transport][0],
            }
        },
    } | more


def metrics_of(table: Table) -> dict[str, Any]:
    found: dict[str, Any] = run(Plan(**table), out=None, report=False).result["metrics"]["run"]["t"]
    return found


def test_every_shipped_transport_has_a_row_here() -> None:
    """A new one says what it counts, and gets a row."""
    shipped = [one for one in Registry.load().algorithms if one.kind == "transport"]
    assert {one.name for one in shipped} == TRANSPORTS.keys()
    for one in shipped:
        names = {"timeouts": "timeouts", "naks": "naks.received"}
        assert {names[count] for count in one.counts} == TRANSPORTS[one.name][1]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_calm_network_counts_nothing(transport: str) -> None:
    found = metrics_of(plan_of(transport))
    assert found["frames.sent"] > 700
    counted = {"frames.retransmitted"} | TRANSPORTS[transport][1]
    assert {name: found[name] for name in counted} == dict.fromkeys(counted, 0)
    every = {"timeouts", "naks.received"}
    assert not found.keys() & (every - TRANSPORTS[transport][1]), "what it has not is not 0"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_cut_link_brings_as_many_timeouts_as_there_is_time_for(transport: str) -> None:
    """Nothing is answered from 2 ms on: 1 ms each, or twice as long each time (RFC 6298, 5.5)."""
    found = recorded(plan_of(transport, timeline=[{"at": 2 * MS, "cut": "d"}]))
    counted = found.column("t", "timeouts")
    at = [int(found.times_ps[row]) for row in np.flatnonzero(np.diff(counted)) + 1]
    waits = (1, 2, 4) if transport in ("selective", "tcp") else (1,) * 8
    due = 2 * MS + np.cumsum(waits) * MS
    due = due[due < 10 * MS]
    assert counted[-1] in (len(due), len(due) - 1)
    late = np.array(at) - due[: len(at)]  # TCP's timeout has the round trip of a full queue in it
    assert ((late > -MS // 5) & (late < np.cumsum(waits)[: len(at)] * MS // 5)).all()
    assert np.diff(counted).max() == 1


def test_tcp_counts_what_its_state_counts() -> None:
    table = plan_of("tcp", timeline=[{"at": 2 * MS, "cut": "d"}, {"at": 4 * MS, "mend": "d"}])
    assembly = assembled(table)
    run_until(assembly, table["duration"])
    (state,) = states(assembly)
    assert int(assembly.world.flows[0].timeouts) == int(state.timeouts) > 0


LOSSES: dict[str, Table] = {
    "go-back-n": {"link": {"plugin": "lossy-delay", "loss_rate": "0.02"}},
    "selective": {"point": {"plugin": "trim", "threshold": "6KB"}},
    "credit": {"point": {"plugin": "trim", "threshold": "6KB"}},
}


@pytest.mark.parametrize("transport", LOSSES)
def test_naks_are_those_that_a_capture_shows(transport: str) -> None:
    """And retransmissions are the segments that were seen before where they leave."""
    table = plan_of(transport, capture={"ports": ["h.s"], "frames": 20_000, "snap": 128})
    table["links"]["u"]["rate"] = 2 * GBPS
    loss = LOSSES[transport]
    if "link" in loss:
        table["links"]["d"]["delay_line"] = loss["link"]
    else:
        table["nodes"]["s"]["congestion_point"] = loss["point"]
        table["traffic"]["t"]["transport"]["unsolicited" if transport == "credit" else "window"] = (
            "60KB" if transport == "credit" else 40
        )
    done = run(Plan(**table), out=None, report=False)
    found = done.result["metrics"]["run"]["t"]
    (capture,) = done.recording.captures
    frame = empty_descriptors(1)[0]
    naks, sent = 0, list[int]()
    for length, outgoing, octets in zip(
        capture.lengths, capture.outgoing, capture.octets, strict=True
    ):
        kind = decode(octets, int(length), frame)
        if kind == DATA and outgoing:
            sent.append(int(frame.sequence))
        naks += int(kind in (ACK, SACK) and not outgoing and frame.feedback & NEGATIVE)
    assert capture.dropped == 0
    assert found["naks.received"] == naks > 3
    again = len(sent) - len(set(sent))
    made = found["frames.retransmitted"]
    assert again <= made <= again + 4, "some are in the host queue and on the link"
    assert again > 0


def test_a_nak_that_comes_too_late_counts_too() -> None:
    """It changes nothing, and came back all the same."""
    source = Driver(GO_BACK_N, GoBackN())
    source.state["una"], source.state["nxt"] = 7, 9
    source.come("acknowledged", kind=ACK, feedback=NEGATIVE, sequence=5)
    assert (source.naks, source.losses, int(source.state["nxt"][0])) == (1, 0, 9)
    source.come("acknowledged", kind=ACK, feedback=NEGATIVE, sequence=7)
    assert (source.naks, source.losses, int(source.state["nxt"][0])) == (2, 1, 7)


def test_what_a_flow_has_can_be_expected_and_drawn(tmp_path: Path) -> None:
    table = plan_of("go-back-n", timeline=[{"at": 2 * MS, "cut": "d"}])
    table["expect"] = [
        {"metric": "timeouts", "of": "t", "min": 5},
        {"metric": "naks.received", "of": "t", "max": 0},
        {"metric": "frames.retransmitted", "of": "t", "min": 1},
    ]
    table["figure"] = [{"y": name, "of": "t"} for name in ("timeouts", "naks_received")]
    done = run(Plan(**table), out=tmp_path, report=False)
    assert done.result["verdict"] == "met", done.result["expectations"]
    assert done.folder is not None
    page = report(load(done.folder))
    assert "<th>timeouts</th>" in page or "timeouts" in page.split("<h2>Metrics</h2>")[1]
    assert "NAKs" in page.split("<h2>Metrics</h2>")[0], "the axis of the figure"
