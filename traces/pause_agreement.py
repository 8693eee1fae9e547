"""Agreement of two pause measurements: a port's capture and the port's own counter.

A network card often swallows PAUSE and PFC frames before a capture sees them; then the capture
has none, and the two disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestrator.engine.frames.pfc_frame import quanta_of
from orchestrator.engine.node_api import quanta_time
from orchestrator.engine.records import PAUSE, PFC
from orchestrator.errors import BadInput
from orchestrator.plan.lossless_lanes import obeys_pfc
from traces import resolved_plan
from traces.metrics.sample_table import Table
from traces.oracle.captured_streams import INCOMING, CapturedFrames, StreamSource, frame_stream
from traces.oracle.port_captures import CapturedPort, read_ports

AGREE = 0.01
"""Relative difference of two measurements that agree, as of a capture and its run's own metrics."""
LEAST_S = 1e-6
"""Differences below this are those of the clocks."""


@dataclass
class PausedPort:
    """A port, or a lane of it, that was paused."""

    entity: str
    """The direction of the link in which it sends, with the lane's suffix."""
    frames: int
    """PAUSE and PFC frames in the capture."""
    capture_s: float
    counter_s: float
    note: str
    """Reason why they disagree or cannot be compared; empty when they agree."""


def paused_ports(folder: Path, plan_text: str, table: Table) -> list[PausedPort]:
    """All captured ports of a run that were paused, by either measurement."""
    paths = sorted((folder / "captures").glob("*.pcapng"))
    if not paths:
        return []
    try:
        plan = resolved_plan.checked(plan_text)
        found = read_ports(paths, plan)
    except BadInput as error:  # of a plan or of files that this version does not read any more
        return [PausedPort("captures", 0, 0.0, 0.0, str(error).splitlines()[0])]
    rows = []
    epoch = found.epoch_ns or 0
    for way in plan.directions():
        seen = found.ports.get(way.sender.entity)
        if seen is None:
            continue
        place = StreamSource(seen.path, seen.interface, INCOMING, seen.port, seen.port)
        rate = plan.links[way.link].rate
        lanes = plan.lanes()
        for lane in lanes:
            suffix = lane.suffix if len(lanes) > 1 else ""
            obeyed = tuple(p for p in lane.priorities if obeys_pfc(plan.nodes[way.sender.node], p))
            frames, held_ps = _held(place, epoch, plan.duration, rate, obeyed)
            entity = way.entity + suffix
            counted = 0
            if table.has(entity, "paused_ps"):
                counted = int(table.column(entity, "paused_ps")[-1])
            if frames or counted:
                row = PausedPort(entity, frames, held_ps / 1e12, counted / 1e12, "")
                row.note = _note(row, seen)
                rows.append(row)
    return rows


def _held(
    place: StreamSource, epoch_ns: int, duration_ps: int, rate: int, priorities: tuple[int, ...]
) -> tuple[int, int]:
    """Pause frames that came in for some priorities, those that the port obeys PFC for, and the
    time (ps) that they held the port."""
    count = held = 0
    times: list[int] = []
    ends: list[int] = []
    for some in frame_stream(place, epoch_ns, duration_ps // 1000):
        for time_ns, quanta in _pauses(some, priorities):
            count += 1
            times.append(time_ns * 1000)
            ends.append(times[-1] + int(quanta_time(quanta, rate)))
    for now, following, end in zip(times, [*times, duration_ps][1:], ends, strict=True):
        held += max(min(following, end) - now, 0)
    return count, held


def _pauses(some: CapturedFrames, priorities: tuple[int, ...]) -> list[tuple[int, int]]:
    """(time in ns, quanta) of every PAUSE, and of every PFC frame that names a priority."""
    found = []
    for row in np.flatnonzero(np.isin(some.frames["kind"], [PAUSE, PFC])):
        frame = some.frames[row]
        if int(frame.kind) == PAUSE:
            found.append((int(some.times_ns[row]), int(frame.feedback)))
            continue
        named = [p for p in priorities if int(frame.mark) >> p & 1]
        if named:
            quanta = max(int(quanta_of(frame, priority)) for priority in named)
            found.append((int(some.times_ns[row]), quanta))
    return found


def _note(row: PausedPort, seen: CapturedPort) -> str:
    if seen.dropped:
        return f"the capture was full, {seen.dropped} frames are not in it: one measurement only"
    if row.counter_s and not row.frames:
        return "the capture holds no pause at all: one measurement only, the counter"
    apart = abs(row.capture_s - row.counter_s)
    if apart > max(AGREE * max(row.capture_s, row.counter_s), LEAST_S):
        return f"they disagree by {apart:.3g} s"
    return ""
