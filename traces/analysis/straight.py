"""The loop that most frames take: they look familiar, and their numbers and times go on.

What is not as expected of a frame is left to others, who begin with it; nothing of it was counted.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import layout
from orchestrator.engine.frames.wide import big32, big64, octet
from orchestrator.engine.jit import compiled, stay_apart
from traces.analysis.familiar import (
    COUNTS,
    FRAME,
    IP_HEADER,
    NUMBERED,
    PLACE,
    TOLD,
    UDP_HEADER,
    recall,
)
from traces.analysis.pending import BEFORE, FORWARD, MARKS, NEXT, OCTETS
from traces.analysis.records import MATCHED, STAMPED
from traces.analysis.room import WORD
from traces.analysis.told import KIND_AT, KINDS, ROW

SEQUENCE_AT = UDP_HEADER + layout.SEQUENCE - layout.PAYLOAD


@compiled
def go_straight(  # type: ignore[no-untyped-def]
    begin,
    octets,
    offset,
    captured,
    original,
    times,
    points_of,
    known,
    pending,
    count,
    bins,
    shift,
    first_bin,
    matched,
    rooms,
):
    """Account for frames from `begin` on, up to the first that is not as expected; answers where
    that is.

    What it takes is as for `count_frames`, `pending` int64[flows, 8].
    """
    stay_apart()
    noted = count[MATCHED]
    reached = begin
    room_at, room_bits = rooms[0], rooms[1]
    last = octets.size - max(np.int64(FRAME), room_at + WORD)
    while reached < offset.size:
        index = reached & 0x7FFFFFFF  # known not to be negative: numba would check every index
        at, size = offset[index], captured[index]
        e = recall(known, octets, last, at, size, points_of[index])
        if e == 0:
            break
        row = known[e + TOLD] & ROW
        place = at + known[e + PLACE]
        if big64(octets, at + room_at) & room_bits:
            if size > room_at and STAMPED[(known[e + TOLD] >> KIND_AT) & KINDS]:
                break
        time = times[index]
        if time <= pending[row, BEFORE]:
            break
        sequence = big64(octets, place + SEQUENCE_AT)
        if (sequence ^ pending[row, NEXT]) & known[e + COUNTS]:
            break
        if known[e + NUMBERED]:
            forward, before = big32(octets, place + 4), pending[row, FORWARD]
            if size < known[e + NUMBERED] or before < 0 or ((forward - before) >> 31) & 1:
                break
            pending[row, FORWARD] = forward
        pending[row, NEXT] += 1
        pending[row, BEFORE] = time - 1
        length = original[index]
        pending[row, OCTETS] += length
        bin_ = ((time >> shift) - first_bin) & 0xFFFF
        bins[0, bin_, row] += length
        ecn = octet(octets, place - IP_HEADER + 1) & 3
        if ecn:
            pending[row, MARKS + ecn] += 1
            if ecn == 3:
                bins[1, bin_, row] += 1
        if matched.shape[0]:
            if known[e + COUNTS] and sequence >= 0:
                matched[noted, 0] = time
                matched[noted, 1] = row
                matched[noted, 2] = sequence
                noted += 1
        reached += 1
    count[MATCHED] = noted
    return reached
