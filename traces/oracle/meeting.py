"""Which of two inputs of a device came first: no capture tells, and what agrees is taken.

Frames that our ports sent within the time that a device takes meet in it in an order of its own. A
frame that came out behind one of another port is taken to have gone in no earlier than that one.
Nothing is moved beyond the moment when it was seen to come out, and the order of frames of one port
stays: a device that reorders those departs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from orchestrator.engine.records import NONE
from orchestrator.recording import PortCapture
from traces.metrics.passage import Passage

STEP_PS = 1000
"""A capture's resolution."""


def as_met(
    captures: Sequence[PortCapture], facing: Mapping[str, str], seen: Passage
) -> list[PortCapture]:
    """The captures with the times of what went into a device moved so."""
    moved = _moved(seen)
    found = []
    numbers = {ours: number for number, ours in enumerate(facing.values())}
    for capture in captures:
        number = numbers.get(f"{capture.node}.{capture.port}")
        if number is None:
            found.append(capture)
            continue
        mine = seen.into.port == number
        times = capture.times_ps.copy()
        times[seen.into.row[mine]] = moved[mine]
        out = capture.outgoing
        times[out] = np.maximum.accumulate(times[out])  # those between, which came out elsewhere
        order = np.argsort(times, kind="stable")
        columns = ("times_ps", "outgoing", "lengths", "kept", "octets")
        whole = replace(capture, times_ps=times)
        found.append(replace(whole, **{name: getattr(whole, name)[order] for name in columns}))
    return found


def _moved(seen: Passage) -> np.ndarray:
    """int64[n of into]: when each frame is taken to have gone in."""
    times = seen.into.times_ps.copy()
    latest: dict[int, dict[int, int]] = {}
    """Port of the device that frames come out of -> port that they went in by -> the latest."""
    for row in np.flatnonzero(seen.partner != NONE).tolist():
        frame, there = int(seen.partner[row]), int(seen.out.port[row])
        here = int(seen.into.port[frame])
        others = latest.setdefault(there, {})
        before = max((time for port, time in others.items() if port != here), default=None)
        if before is not None and before >= times[frame]:
            times[frame] = min(before + STEP_PS, int(seen.out.times_ps[row]))
        others[here] = max(others.get(here, 0), int(times[frame]))
    return times
