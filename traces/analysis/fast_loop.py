"""Fast loops for in-order frames of cached flows, which are counted without dissection.

What is not as expected of a frame is left to others, who begin with it; nothing of it was counted.
There is a loop for frames whose records have been found, and one that finds them on the way.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import frame_layout
from orchestrator.engine.frames.unaligned import big32, big64, little32, octet
from orchestrator.engine.jit import compiled, inlined, prevent_inlining
from traces.analysis.deferred_counts import BEFORE, FORWARD, MARKS, NEXT, OCTETS
from traces.analysis.flow_cache import (
    FIRST_OWN,
    FRAME,
    IP_HEADER,
    NUMBERED,
    SORT,
    SUMMARY,
    TRANSPORT_AT,
    UDP_HEADER,
    find_entry,
)
from traces.analysis.flow_records import LATEST_NS, MATCHED, STAMPED
from traces.analysis.frame_summary import KIND_AT, KINDS, ROW
from traces.analysis.stamp_space import WORD, has_stamp_space
from traces.capture.scanner import MAX_CAPLEN, PCAP_RECORD, POSITION, pcap_time

SEQUENCE_AT = UDP_HEADER + frame_layout.SEQUENCE - frame_layout.PAYLOAD
NO_LIMIT = 2**63 - 1
"""No place is later."""


@inlined
def last_load_offset(octets, rooms):
    """The last place of a frame from which all is there that is loaded of it."""
    return octets.size - max(np.int64(FRAME), rooms[0] + WORD)


@inlined
def count_if_expected(
    e, octets, at, size, time, length, known, pending, bins, shift, first_bin, places, rooms
):
    """Count a frame that matches the entry at `e` if it has no stamp space, a bin for its time, and
    the flow's next time and number; returns whether it was counted."""
    summary = known[e + SUMMARY]
    row = summary & ROW
    roomy = big64(octets, at + rooms[0]) & rooms[1]  # or what lies behind the frame is not 0
    if (
        roomy
        and STAMPED[(summary >> KIND_AT) & KINDS]
        and has_stamp_space(octets, at, size, places, rooms)
    ):
        return False
    if time <= pending[row, BEFORE]:
        return False
    bin_ = (time >> shift) - first_bin
    if bin_ & -bins.shape[1]:  # a power of 2
        return False
    place = at + known[e + TRANSPORT_AT]
    if known[e + SORT] >= FIRST_OWN:
        if big64(octets, place + SEQUENCE_AT) != pending[row, NEXT]:
            return False
    elif known[e + NUMBERED]:
        forward, before = big32(octets, place + 4), pending[row, FORWARD]
        if size < known[e + NUMBERED] or before < 0 or ((forward - before) >> 31) & 1:
            return False
        pending[row, FORWARD] = forward
    pending[row, NEXT] += 1
    pending[row, BEFORE] = time - 1
    pending[row, OCTETS] += length
    bin_ &= 0x7FFFFFFF
    bins[0, bin_, row] += length
    ecn = octet(octets, place - IP_HEADER + 1) & 3
    if ecn:
        pending[row, MARKS + ecn] += 1
        if ecn == 3:
            bins[1, bin_, row] += 1
    return True


@compiled
def count_expected_frames(
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
    places,
    rooms,
):
    """Account for frames from `begin` on, up to the first that is not as expected; answers where
    that is.

    What it takes is as for `count_frames`, `pending` int64[flows, 8].
    """
    prevent_inlining()
    noted = count[MATCHED] & 0x7FFFFFFF
    last = last_load_offset(octets, rooms)
    reached = begin
    while reached < offset.size:
        index = reached & 0x7FFFFFFF  # known not to be negative: numba would check every index
        at, size, time = offset[index], captured[index], times[index]
        e = find_entry(known, octets, last, at, size, points_of[index])
        if e == 0 or not count_if_expected(
            *(e, octets, at, size, time, original[index], known, pending),
            *(bins, shift, first_bin, places, rooms),
        ):
            break
        if matched.shape[0] and known[e + SORT] >= FIRST_OWN:
            sequence = big64(octets, at + known[e + TRANSPORT_AT] + SEQUENCE_AT)
            if sequence >= 0:
                matched[noted, 0] = time
                matched[noted, 1] = known[e + SUMMARY] & ROW
                matched[noted, 2] = sequence
                noted += 1
        reached += 1
    count[MATCHED] = noted
    return reached


@compiled
def scan_expected_frames(
    begin,
    most,
    octets,
    state,
    end,
    unit,
    known,
    pending,
    count,
    bins,
    shift,
    first_bin,
    places,
    rooms,
):
    """`count_expected_frames` for records of pcap from `state[POSITION]` on, which is updated: all
    of the first point. The frames are those from `begin` on; `most` bounds their numbers.
    A frame that goes back in time is not expected.
    """
    prevent_inlining()
    last = min(last_load_offset(octets, rooms), end)
    record = state[POSITION]
    reached = begin
    latest = count[LATEST_NS]
    while reached < most:
        at = record + PCAP_RECORD
        if at > last:
            break
        size = little32(octets, record + 8)
        if size > MAX_CAPLEN or at + size > end:
            break
        e = find_entry(known, octets, NO_LIMIT, at, size, 0)
        time = pcap_time(octets, record, False, unit)
        if time < latest or e == 0:
            break
        if not count_if_expected(
            *(e, octets, at, size, time),
            *(little32(octets, record + 12), known, pending),
            *(bins, shift, first_bin, places, rooms),
        ):
            break
        latest = time
        record = at + size
        reached += 1
    state[POSITION] = record
    count[LATEST_NS] = latest
    return reached
