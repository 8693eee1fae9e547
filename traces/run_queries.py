"""Queries on a run folder: samples, and captured frames near a time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.engine.frames import FOREIGN, decode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_field import READ
from orchestrator.engine.frames.frame_type import FrameType
from orchestrator.engine.frames.pfc_frame import quanta_of
from orchestrator.engine.records import CNM, DATA, PAUSE, PFC
from orchestrator.errors import BadInput
from orchestrator.recording import Column, FrameSeen
from orchestrator.registry import Registry
from traces.pcapng import read
from traces.pcapng.pcapng_reader import Capture
from traces.protocols import stamps
from traces.samples import read_samples

OUT = 2
CLASSES = 8
NS = 1000


def samples(folder: Path) -> tuple[np.ndarray, list[Column], np.ndarray]:
    """(times_ps, columns, values) of a run folder. Raises BadInput."""
    return read_samples(folder / "samples.parquet")


def frames_near(folder: Path, time_ps: int, most: int, epoch_ns: int) -> list[FrameSeen]:
    """The `most` captured frames nearest to a moment of the run, in order of time.

    `epoch_ns` is what the captures' time stamps count from. Raises BadInput when a capture is
    damaged; a run without captures has no frames.
    """
    found: list[tuple[int, FrameSeen]] = []
    for path in sorted((folder / "captures").glob("*.pcapng")):
        capture = _opened(path, path.stat().st_mtime_ns)
        times = (capture.times_ns - epoch_ns) * NS
        place = int(np.searchsorted(times, time_ps))
        for row in range(max(place - most, 0), min(place + most, len(times))):
            found.append((abs(int(times[row]) - time_ps), _seen(capture, row, int(times[row]))))
    nearest = sorted(found, key=lambda item: item[0])[:most]
    return sorted((frame for _, frame in nearest), key=lambda frame: frame.time_ps)


@functools.lru_cache(maxsize=8)
def _opened(path: Path, changed: int) -> Capture:
    """A capture, cached between queries; `changed` identifies its version."""
    return read(path)


def _seen(capture: Capture, row: int, time_ps: int) -> FrameSeen:
    port = capture.interfaces[int(capture.interface[row])].name
    kind, text = frame_text(capture.octets[row, : capture.kept[row]], int(capture.lengths[row]))
    return FrameSeen(time_ps, port, bool(capture.direction[row] == OUT), kind, text)


def frame_text(octets: np.ndarray, length: int) -> tuple[str, str]:
    """Kind of a frame of `length` octets, and its fields in a line, from its first octets."""
    frame = empty_descriptors(1)[0]
    types = _types()
    kind = decode(octets, length, frame)
    if kind == FOREIGN:
        return "other", f"{length} B, first octets {octets[:14].tobytes().hex(' ')}"
    said = WORDS[kind](frame) if kind in WORDS else _fields(types[kind], frame)
    return types[kind].name, said + _stamped(types[kind], octets, length)


def _stamped(kind: FrameType, octets: np.ndarray, length: int) -> str:
    """The stamps that ports have put on a frame; "" where it has no room for any."""
    found = stamps(octets.tobytes(), length) if kind.stamps else None
    if found is None:
        return ""
    said = [f"port {one.port}: {one.queued} of {one.rate_bps} bit/s" for one in found.stamps]
    return f", {found.stamped} stamped" + (f" ({'; '.join(said)})" if said else "")


@functools.cache
def _types() -> dict[int, FrameType]:
    return {each.kind: each for each in Registry.load().frame_types}


def _pfc(frame: Any) -> str:
    named = [p for p in range(CLASSES) if (int(frame.mark) >> p) & 1]
    quanta = ", ".join(f"priority {p}: {quanta_of(frame, p)} quanta" for p in named)
    return quanta or "no priority named"


def _cnm(frame: np.record) -> str:
    text = f"feedback {frame.feedback}, offset {frame.offset:+d} B, delta {frame.delta:+d} B"
    return f"{text}, for flow {frame.flow}"


WORDS: dict[int, Callable[[np.record], str]] = {
    DATA: lambda frame: f"flow {frame.flow} sequence {frame.sequence}, {frame.length} B",
    CNM: _cnm,
    PAUSE: lambda frame: f"{frame.feedback} quanta" if frame.feedback else "resume (0 quanta)",
    PFC: _pfc,
}
"""Fields of kinds with a text of their own that are shown for other frames too."""
ALSO_OF_OTHERS = ("source", "destination", "priority", "created", "hops")


def _fields(kind: FrameType, frame: np.record) -> str:
    names = [each.name for each in kind.fields if each.flags & READ]
    return ", ".join(f"{name} {frame[name]}" for name in names if name not in ALSO_OF_OTHERS)


def epoch_of(folder: Path) -> int:
    """Time zero of the captures of a run, in ns since 1970; 0 when it was simulated."""
    import json

    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(str(folder / "manifest.json"), f"cannot be read ({error})") from error
    return int(manifest.get("epoch_ns") or 0)
