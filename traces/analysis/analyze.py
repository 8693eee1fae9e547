"""Counts, rates and losses of one capture file, interface by interface."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from traces import pcapng
from traces.analysis.dissect import CNM, DATA, KINDS, PAUSE, dissect

FORMAT = 1
NS = 10**9


@dataclass(frozen=True)
class FlowSeen:
    """One flow at one interface. Losses are gaps between its first and last frame seen here."""

    source: str
    flow: int
    frames: int
    throughput_bps: float | None
    lost: int
    duplicates: int
    reordered: int
    """Frames that came after one with a higher sequence number."""


@dataclass(frozen=True)
class InterfaceSeen:
    """One interface of the file. `frames` counts by kind, `feedback` CNMs by their value."""

    name: str
    seconds: float
    frames: dict[str, int]
    octets: int
    capture_drops: int | None
    """What the capture itself lost; None when the file does not say."""
    feedback: dict[int, int]
    pauses: int
    resumes: int
    """PAUSE frames with quanta 0."""
    flows: list[FlowSeen]


@dataclass(frozen=True)
class Analysis:
    """All interfaces of a file."""

    file: str
    interfaces: list[InterfaceSeen]
    tailback: int = FORMAT

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)


def analyze(path: str | os.PathLike[str]) -> Analysis:
    """Read a pcapng file and count. Raises BadInput when it cannot be read."""
    capture = pcapng.read(path)
    seen = []
    for index, interface in enumerate(capture.interfaces):
        rows = np.flatnonzero(capture.interface == index)
        seen.append(_interface(capture, interface, rows))
    return Analysis(os.fspath(path), seen)


def _interface(
    capture: pcapng.Capture, interface: pcapng.Interface, rows: np.ndarray
) -> InterfaceSeen:
    times, lengths = capture.times_ns[rows], capture.lengths[rows]
    found = dissect(capture.octets[rows], capture.kept[rows])
    counts = np.bincount(found.kind, minlength=len(KINDS))
    values, messages = np.unique(found.feedback[found.rows(CNM)], return_counts=True)
    quanta = found.quanta[found.rows(PAUSE)]
    data = found.rows(DATA)
    who = np.stack([found.source[data], found.flow[data]], axis=1)
    keys, member = np.unique(who, axis=0, return_inverse=True)
    flows = []
    for number, (source, flow) in enumerate(keys.tolist()):
        mine = data[member == number]
        flows.append(_flow(source, flow, times[mine], lengths[mine], found.sequence[mine]))
    return InterfaceSeen(
        name=interface.name,
        seconds=int(times.max() - times.min()) / NS if len(times) else 0.0,
        frames={kind: int(count) for kind, count in zip(KINDS, counts, strict=True)},
        octets=int(lengths.sum()),
        capture_drops=interface.dropped,
        feedback=dict(zip(values.tolist(), messages.tolist(), strict=True)),
        pauses=int((quanta > 0).sum()),
        resumes=int((quanta == 0).sum()),
        flows=flows,
    )


def _flow(
    source: int, flow: int, times: np.ndarray, lengths: np.ndarray, sequence: np.ndarray
) -> FlowSeen:
    span = int(times[-1] - times[0])
    distinct = len(np.unique(sequence))
    highest = np.maximum.accumulate(sequence)
    return FlowSeen(
        source=":".join(f"{octet:02x}" for octet in source.to_bytes(6, "big")),
        flow=flow,
        frames=len(times),
        # the first frame only opens the interval over which the others were sent
        throughput_bps=int(lengths[1:].sum()) * 8 * NS / span if span > 0 else None,
        lost=int(sequence.max()) - int(sequence.min()) + 1 - distinct,
        duplicates=len(sequence) - distinct,
        reordered=int((sequence < highest).sum()),
    )
