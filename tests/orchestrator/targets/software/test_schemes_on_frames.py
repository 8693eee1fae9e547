"""Schemes other than QCN on real frames: the same nodes, counted frames, octets in captures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.frames import decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import CE, CNP, DATA, ECHO, PROBE, RETURNED
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.worlds import MS, US, Table
from traces.pcapng.pcapng_reader import read
from traces.run_reader import load

pytestmark = [pytest.mark.software, pytest.mark.usefixtures("namespaces")]

RATE = 200_000_000
SCHEMES: dict[str, tuple[Table, Table, Table | None, str]] = {
    "p4qcn": (
        {"plugin": "p4qcn-cp", "min_interval": 20 * MS},
        {"plugin": "p4qcn-rp", "ai_rate": 10**7, "min_rate": 10**6},
        None,
        "ip",
    ),
    "dcqcn": (
        {"plugin": "red", "low": 5_000, "high": 60_000, "max_probability": "1/10"},
        {
            "plugin": "dcqcn-rp",
            "alpha_time": 2 * MS,
            "increase_time": 3 * MS,
            "ai_rate": 10**6,
            "hai_rate": 10**6,
            "min_rate": 10**6,
        },
        {"plugin": "notification-point", "preset": "dcqcn", "interval": MS},
        "ip",
    ),
    "fecn": (
        {"plugin": "fecn-cp", "interval": 5 * MS, "expected_flows": 2},
        {"plugin": "fecn-rp", "interval": 5 * MS},
        {"plugin": "fecn-reflector"},
        "mac",
    ),
}


def plan(scheme: str) -> Table:
    """Two NICs, two switches, a sink; half of what the first links carry goes on."""
    cp, rp, point, by = SCHEMES[scheme]
    nic = {"kind": "nic", "reaction_points": 1, "host_queue": 15_000, "reaction_point": rp}
    return {
        "name": f"frames-{scheme}",
        "duration": 400 * MS,
        "sample_interval": MS,
        "nodes": {
            "a": nic,
            "b": nic,
            "t": {"kind": "switch", "forwards_by": by},
            "s": {"kind": "switch", "forwards_by": by, "congestion_point": cp},
            "sink": {"kind": "sink"} | ({"notification_point": point} if point else {}),
        },
        "links": {
            "at": {"ends": ["a", "t"], "rate": RATE, "delay": 100 * US},
            "bt": {"ends": ["b", "t"], "rate": RATE, "delay": 100 * US},
            "ts": {"ends": ["t", "s"], "rate": 2 * RATE, "delay": 100 * US},
            "down": {"ends": ["s", "sink"], "rate": RATE, "delay": 100 * US},
        },
        "traffic": {
            name: {"plugin": "cbr", "from": name[1:], "to": "sink", "rate": RATE}
            for name in ("fa", "fb")
        },
        "capture": {"ports": ["a.t", "sink.s"], "frames": 50_000, "snap": 128},
    }


@pytest.fixture(scope="module", params=SCHEMES)
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """(scheme, folder of its run) of each."""
    out: Path = tmp_path_factory.mktemp(request.param)
    result = run(Plan(**plan(request.param)), target="software", out=out, report=False)
    return request.param, result.folder


OUTGOING = 2
"""Direction in a capture (pcapng's epb_flags)."""
IP, IP_SOURCE = 18, 30


def seen(folder: Path, port: str) -> tuple[dict[tuple[int, bool], int], np.ndarray]:
    """Kinds of frames at a port, by whether it sent them; the data that came in, uint8[n, snap]."""
    capture = read(folder / "captures" / f"{port.replace('.', '-')}.pcapng")
    counts: dict[tuple[int, bool], int] = {}
    data = []
    frame = empty_descriptors(1)[0]
    for octets, length, way in zip(capture.octets, capture.lengths, capture.direction, strict=True):
        kind = decode(octets, int(length), frame), int(way) == OUTGOING
        counts[kind] = counts.get(kind, 0) + 1
        if kind == (DATA, False):
            data.append(octets)
    return counts, np.array(data)


def test_the_queue_is_controlled(done: Any) -> None:
    table = load(done[1]).table
    queue = table.column("s.sink", "queue_bytes")[200:]
    assert queue.mean() < 100_000, "the buffer holds 150 KB and is full without control"
    received = table.column("a.rp0", "feedback_received")[-1]
    assert received > 2
    assert table.column("fa", "frames_received")[-1] > 500


def test_feedback_takes_the_way_of_its_scheme(done: Any) -> None:
    scheme, folder = done
    at_source, _ = seen(folder, "a.t")
    at_sink, _ = seen(folder, "sink.s")
    expected = {
        "p4qcn": ({(DATA, True), (RETURNED, False)}, {(DATA, False)}),
        "dcqcn": ({(DATA, True), (CNP, False)}, {(DATA, False), (CNP, True)}),
        "fecn": (
            {(DATA, True), (PROBE, True), (ECHO, False)},
            {(DATA, False), (PROBE, False), (ECHO, True)},
        ),
    }[scheme]
    assert (set(at_source), set(at_sink)) == expected


def test_frames_that_switches_marked_and_routers_forwarded_are_sound(done: Any) -> None:
    """`decode` has checked the IP checksums of all of them, and the CNPs' ICRCs."""
    scheme, folder = done
    _, data = seen(folder, "sink.s")
    marked = (data[:, IP + 1] & CE) == CE
    assert marked.any() == (scheme == "dcqcn")
    assert not marked.all()
    routed = scheme != "fecn"
    assert (data[:, IP + 8] == (62 if routed else 64)).all(), "TTL behind two routers"
    own = data[:, 9:12] == data[:, IP_SOURCE + 1 : IP_SOURCE + 4]
    assert own.all() != routed, "the source MAC is that of the last router"
