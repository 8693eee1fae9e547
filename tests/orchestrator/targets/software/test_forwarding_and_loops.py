"""Hosts that forward, routing loops and counts of transports and marks on real frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.frames.frame_layout import IP_TTL
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.engine.node.test_forwarding_hosts import bcube, last
from tests.orchestrator.engine.node.test_routing_loops import ring
from tests.orchestrator.worlds import MS, US, Table

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]
MBPS = 10**6


def slow(table: Table, duration: int) -> Table:
    """The plan at a pace that a busy machine keeps."""
    for link in table["links"].values():
        link |= {"rate": 50 * MBPS, "delay": 100 * US}
    return table | {"duration": duration, "sample_interval": 10 * MS}


def recorded(table: Table, target: str, tmp_path: Path) -> Any:
    return run(Plan(**table), target=target, out=tmp_path / target, report=False).recording


def test_hosts_forward_real_frames(tmp_path: Path) -> None:
    """All four frames of every message reach the other hosts, over as many host queues."""
    found = {}
    for target in ("simulated", "software"):
        table = slow(bcube(2), 500 * MS)
        recording = recorded(table, target, tmp_path)
        hosts = [c for c in recording.columns if c.quantity == "frames_out" and "." in c.entity]
        hosts = [c for c in hosts if c.node.startswith("h")]
        flows = [c.entity for c in recording.columns if c.quantity == "frames_received"]
        received = [last(recording, flow, "frames_received") for flow in flows]
        passed = {c.entity: last(recording, c.entity, "frames_out") for c in hosts}
        found[target] = received, passed
    assert found["software"] == found["simulated"]
    assert found["software"][0] == [4] * 12
    assert sum(found["software"][1].values()) == 4 * 4, "four pairs have two digits apart"


def test_the_ttl_of_real_frames_ends(tmp_path: Path) -> None:
    table = slow(ring(3, 3), 500 * MS)
    table["traffic"]["kept"]["rate"] = MBPS
    found = {}
    for target in ("simulated", "software"):
        recording = recorded(table, target, tmp_path)
        found[target] = [last(recording, f"s{n}", "frames_ttl_expired") for n in range(3)]
    assert (IP_TTL - 1) % 3 == 0
    assert found["software"] == found["simulated"] == [10, 0, 0]


def test_transports_and_marks_are_counted_on_real_frames(tmp_path: Path) -> None:
    """A cut of 100 ms is a timeout at least; every mark is in the table of its queue."""
    table: Table = {
        "name": "counted",
        "duration": 600 * MS,
        "sample_interval": 10 * MS,
        "nodes": {
            "h": {"kind": "nic", "reaction_point": {"plugin": "dctcp"}},
            "s": {
                "kind": "switch",
                "congestion_point": {"plugin": "red", "low": "6KB", "high": "30KB"},
            },
            "z": {"kind": "nic"},
        },
        "links": {
            "u": {"ends": ["h", "s"], "rate": 100 * MBPS, "delay": 100 * US},
            "d": {"ends": ["s", "z"], "rate": 20 * MBPS, "delay": 100 * US},
        },
        "traffic": {
            "t": {
                "plugin": "bulk",
                "from": "h",
                "to": "z",
                "transport": {"plugin": "go-back-n", "timeout": "30ms"},
            }
        },
        "timeline": [{"at": 300 * MS, "cut": "d"}, {"at": 400 * MS, "mend": "d"}],
    }
    recording = recorded(table, "software", tmp_path)
    assert last(recording, "t", "timeouts") >= 2
    assert last(recording, "t", "frames_resent") > 0
    frames, ect, marked = recording.marking["s.z"][-1].sum(axis=1).tolist()
    assert frames == last(recording, "s.z", "frames_in") > 100
    assert marked == last(recording, "s.z", "frames_marked") > 0
    assert ect == frames
    assert np.diff(recording.marking["s.z"], axis=0).min(initial=0) >= 0
