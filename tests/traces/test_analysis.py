"""Analysing a capture of frames made by the shipped codec: counts, rates, losses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from orchestrator.engine.frames import encode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_layout import ACK_HEADER, SACK_HEADER
from orchestrator.engine.records import ACK, CNM, DATA, PAUSE, SACK
from orchestrator.recording import PortCapture
from traces import pcapng
from traces.analysis import analyze

US = 10**6
SNAP = 128


def frame(kind: int, length: int, **fields: int) -> tuple[np.ndarray, int]:
    record = empty_descriptors(1)
    record["kind"], record["length"] = kind, length
    for name, value in fields.items():
        record[name] = value
    octets = np.zeros(SNAP, np.uint8)
    assert encode(record.view(np.recarray)[0], octets) > 0
    return octets, length


def port(frames: list[tuple[np.ndarray, int]], gap_ps: int = 12 * US) -> PortCapture:
    lengths = np.array([length for _, length in frames], np.int64)
    return PortCapture(
        node="switch",
        port="sink",
        times_ps=np.arange(len(frames), dtype=np.int64) * gap_ps,
        outgoing=np.ones(len(frames), bool),
        lengths=lengths,
        kept=np.minimum(lengths, SNAP),
        octets=np.array([octets for octets, _ in frames]),
        dropped=3,
    )


def test_counts_rates_and_losses(tmp_path) -> None:
    frames = []
    for sequence in range(100):
        if sequence not in (10, 11, 50):
            frames.append(frame(DATA, 1500, source=7, destination=9, flow=0, sequence=sequence))
        again = sequence - 1 if sequence == 20 else sequence  # 19 twice, 20 never
        frames.append(frame(DATA, 1000, source=8, destination=9, flow=1, sequence=again))
    for feedback in (5, 5, 63):
        frames.append(
            frame(CNM, 106, source=3, destination=7, feedback=feedback, mark=1500, inner=9, flow=0)
        )
    frames.append(frame(PAUSE, 60, source=3, feedback=0xFFFF))
    frames.append(frame(PAUSE, 60, source=3, feedback=0))
    frames.append((np.full(SNAP, 0x11, np.uint8), 200))
    path = tmp_path / "a.pcapng"
    pcapng.write(path, port(frames), 10**18)
    found = analyze(path)
    (seen,) = found.interfaces
    assert seen.name == "switch.sink"
    assert seen.frames == {"data": 197, "cnm": 3, "pause": 2, "pfc": 0, "other": 1}
    assert seen.feedback == {5: 2, 63: 1}
    assert (seen.pauses, seen.resumes, seen.capture_drops) == (1, 1, 3)
    assert seen.octets == 97 * 1500 + 100 * 1000 + 3 * 106 + 120 + 200
    first, second = seen.flows
    assert (first.source, first.flow) == ("02:54:42:00:00:07", 0)
    assert (first.frames, first.lost, first.duplicates, first.reordered) == (97, 3, 0, 0)
    assert (second.frames, second.lost, second.duplicates, second.reordered) == (100, 1, 1, 0)
    json.dumps(found.as_json(), allow_nan=False)


def test_rate_and_reordering(tmp_path) -> None:
    order = [0, 1, 3, 2, 4, 5, 6, 7, 8, 9]
    frames = [frame(DATA, 1500, source=7, destination=9, sequence=s) for s in order]
    path = tmp_path / "a.pcapng"
    pcapng.write(path, port(frames, gap_ps=12 * US))
    (flow,) = analyze(path).interfaces[0].flows
    assert flow.throughput_bps == pytest.approx(1e9)
    assert (flow.lost, flow.reordered) == (0, 1)


@pytest.mark.parametrize(("kind", "length"), [(ACK, ACK_HEADER), (SACK, SACK_HEADER)])
def test_acknowledgements_are_told_from_other_udp(tmp_path, kind, length) -> None:
    """The first of a flow and those that are familiar, of both layouts; one cut short is none."""
    said = {"source": 9, "destination": 0, "flow": 0, "inner": 5, "offset": 3}
    frames = [frame(kind, length, sequence=s, **said) for s in range(5)]
    path = tmp_path / "a.pcapng"
    pcapng.write(path, port(frames))
    (seen,) = analyze(path).interfaces
    name = {ACK: "ack", SACK: "sack"}[kind]
    assert (seen.frames[name], seen.frames["other"]) == (5, 0)
    capture = port(frames)
    capture.kept[:] = length - 1
    pcapng.write(path, capture)
    assert name not in analyze(path).interfaces[0].frames
    capture.kept[::2] = length
    pcapng.write(path, capture)
    assert analyze(path).interfaces[0].frames[name] == 3, "a cut one is none among familiar ones"


def test_untagged_udp_with_ip_options_is_found(tmp_path) -> None:
    octets, _ = frame(DATA, 100, source=1, destination=2, flow=5, sequence=6)
    tagged = octets.tobytes()
    untagged = tagged[:12] + tagged[16:]
    options = untagged[:14] + b"\x46" + untagged[15:34] + b"\x01\x01\x01\x00" + untagged[34:]
    frames = [np.frombuffer(one[:SNAP].ljust(SNAP, b"\0"), np.uint8) for one in (untagged, options)]
    path = tmp_path / "a.pcapng"
    pcapng.write(path, port([(one, 100) for one in frames]))
    (seen,) = analyze(path).interfaces
    assert seen.frames["data"] == 2
    (flow,) = seen.flows
    assert (flow.flow, flow.frames, flow.duplicates, flow.vlan) == (5, 2, 1, None)


def test_short_and_empty_captures(tmp_path) -> None:
    path = tmp_path / "a.pcapng"
    octets, _ = frame(DATA, 1500, source=1, destination=2)
    for snap in (1, 14, 20, 40, 60):
        capture = port([(octets, 1500)])
        capture.kept[:] = snap
        capture.octets[:, snap:] = 0
        pcapng.write(path, capture)
        assert analyze(path).interfaces[0].frames["other"] == 1
    empty = PortCapture(
        "switch",
        "sink",
        *(np.zeros(0, kind) for kind in (np.int64, bool, np.int64, np.int64)),
        octets=np.zeros((0, SNAP), np.uint8),
        dropped=0,
    )
    pcapng.write(path, empty)
    (seen,) = analyze(path).interfaces
    assert sum(seen.frames.values()) == 0
