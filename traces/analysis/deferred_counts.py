"""Deferred counters: counts of in-order frames that are not in their flow's record yet.

For most frames that is a few numbers, which lie together in one line of a cache; all else that
records hold follows from them. They are added to a record before anything else happens to its flow,
and before the record is read.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.cache_aligned import words_by_lines
from orchestrator.engine.jit import compiled, inlined
from traces.analysis.flow_records import DATA, WINDOW
from traces.capture.frame_batch import NO_TIME

OCTETS, BEFORE, NEXT, BEGUN, ECT1, ECT0, CE, FORWARD = range(8)
"""Words of a row. OCTETS, ECT1, ECT0, CE: of the frames since the record was up to date. BEFORE:
1 ns before the flow's latest time. NEXT: the sequence number that is expected, and BEGUN what it
was then: their difference is the number of frames, of flows without numbers too. FORWARD: the
furthest number of TCP, -1 where there was none yet."""
MARKS = ECT1 - 1
"""Behind it come the frames by their ECN code point."""
NEVER = 2**63 - 1
"""A time that no frame comes after."""


def empty_pending(rows: int) -> np.ndarray:
    """int64[rows, 8], each a line of a cache."""
    return words_by_lines(8 * rows).reshape(rows, 8)


@inlined
def note_point(point, octets, timed, low, high):
    """Add to a point what some frames had: `timed` of them with times from `low` to `high`."""
    point["octets"] += octets
    if timed:
        if point["timed"] == 0 or low < point["first_ns"]:
            point["first_ns"] = low
        if point["timed"] == 0 or high > point["last_ns"]:
            point["last_ns"] = high
        point["timed"] += timed


@compiled
def apply_pending(pending, row, flow, seen, points):
    """Bring the record of a flow and its point up to date with what is pending of it."""
    mine = pending[row]
    frames = mine[NEXT] - mine[BEGUN]
    if frames == 0:
        return
    flow["frames"] += frames
    flow["octets"] += mine[OCTETS]
    flow["last_ns"] = mine[BEFORE] + 1
    flow["ect1"] += mine[ECT1]
    flow["ect0"] += mine[ECT0]
    flow["ce"] += mine[CE]
    if flow["kind"] == DATA:
        flow["numbered"] += frames
        flow["distinct"] += frames
        flow["high"] = mine[NEXT] - 1
        for value in range(mine[NEXT] - min(frames, np.int64(WINDOW)), mine[NEXT]):
            seen[row, (value & (WINDOW - 1)) >> 6] |= np.int64(1) << (value & 63)
    elif mine[FORWARD] >= 0:
        flow["numbered"] += frames
        flow["high"] = mine[FORWARD]
    point = points[flow["point"]]
    point["frames"][flow["kind"]] += frames
    point["ce"] += mine[CE]
    note_point(point, mine[OCTETS], frames, flow["first_ns"], flow["last_ns"])
    mine[BEGUN] = mine[NEXT]
    mine[OCTETS] = mine[ECT1] = mine[ECT0] = mine[CE] = 0


@compiled
def apply_all_pending(pending, rows, flows, seen, points):
    """Apply the deferred counts of the first `rows` flows."""
    for row in range(rows):
        apply_pending(pending, row, flows[row], seen, points)


@inlined
def set_expected(pending, row, flow):
    """Set the next expected values of a flow whose record has just changed."""
    mine = pending[row]
    mine[BEFORE] = flow["last_ns"] - 1 if flow["first_ns"] != NO_TIME else np.int64(NEVER)
    if flow["kind"] == DATA:
        mine[NEXT] = mine[BEGUN] = flow["high"] + 1
    else:
        mine[FORWARD] = flow["high"] if flow["numbered"] else np.int64(-1)
