"""Device times: when frames entered and left a device, bounded by the captures at adjacent ports.

Our end takes in what has waited for it at once, and the clock of a run may stand still meanwhile.
Frames that it saw closer together than their cable carries them are taken to have come one after
the other at the cable's rate, and none earlier than the cable could have carried it.

Which of two inputs came first no capture tells, and what agrees is taken. Frames that our ports
sent within the time that a device takes meet in it in an order of its own. A frame that came out
behind one of another port is taken to have gone in no earlier than that one. Nothing is moved
beyond the moment when it began to come out, and the order of frames of one port stays: a device
that reorders those departs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from orchestrator.engine.records import NONE
from orchestrator.recording import PortCapture
from traces.metrics.passage import Passage

BIT_PS = 8 * 10**12
"""Octets over a rate in bit/s, times this: picoseconds."""
STEP_PS = 1000
"""A capture's resolution."""


def as_met(
    captures: Sequence[PortCapture],
    facing: Mapping[str, str],
    seen: Passage,
    rates: Sequence[int],
) -> list[PortCapture]:
    """The captures with the times at a device moved so; `rates` (bit/s) of its cables, in order."""
    on_cable = seen.out.octets_on_wire * BIT_PS // np.array(rates, np.int64)[seen.out.port]
    came = _apart(seen, on_cable)
    moved = _moved(seen, came - on_cable)
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
        here = seen.out.port == number
        times[seen.out.row[here]] = came[here]
        out = capture.outgoing
        times[out] = np.maximum.accumulate(times[out])  # those between, which came out elsewhere
        order = np.argsort(times, kind="stable")
        columns = ("times_ps", "outgoing", "lengths", "kept", "octets")
        whole = replace(capture, times_ps=times)
        found.append(replace(whole, **{name: getattr(whole, name)[order] for name in columns}))
    return found


def _apart(seen: Passage, on_cable: np.ndarray) -> np.ndarray:
    """int64[n of out]: when each frame is taken to have come, whole."""
    times = seen.out.times_ps.copy()
    known = seen.partner != NONE
    gone = seen.into.times_ps[seen.partner[known]] + on_cable[known]
    times[known] = np.maximum(times[known], gone)
    for port in range(len(seen.ports)):
        mine = seen.out.port == port
        before = np.cumsum(on_cable[mine])
        times[mine] = before + np.maximum.accumulate(times[mine] - before)
    return times


def _moved(seen: Passage, latest_ps: np.ndarray) -> np.ndarray:
    """int64[n of into]: when each frame is taken to have gone in; `latest_ps` int64[n of out]: by
    when those had that came out."""
    times = seen.into.times_ps.copy()
    latest: dict[int, dict[int, int]] = {}
    """Port of the device that frames come out of -> port that they went in by -> the latest."""
    for row in np.flatnonzero(seen.partner != NONE).tolist():
        frame, there = int(seen.partner[row]), int(seen.out.port[row])
        here = int(seen.into.port[frame])
        others = latest.setdefault(there, {})
        before = max((time for port, time in others.items() if port != here), default=None)
        if before is not None and before >= times[frame]:
            times[frame] = max(int(times[frame]), min(before + STEP_PS, int(latest_ps[row])))
        others[here] = max(others.get(here, 0), int(times[frame]))
    return times
