"""The compiled part of the analysis: one pass over the frames of a batch.

Frames are dissected and counted one by one, so that nothing is written that is only counted. Flows
are found in an open hash table; each has counters, a window of sequence numbers and a row of bins
over time.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import layout
from orchestrator.engine.frames.octets import signed32
from orchestrator.engine.frames.wide import big32, big64
from orchestrator.engine.jit import compiled, inlined
from traces.analysis.familiar import (
    IP_HEADER,
    UDP_HEADER,
    network,
    payload,
    recall,
    remember,
)
from traces.capture.batch import NO_TIME
from traces.dissect.headers import TCP, frame_headers
from traces.dissect.record import ABSENT, Kind

DATA, ROCE, OTHER = int(Kind.DATA), int(Kind.ROCE), int(Kind.OTHER)
CNMS, PAUSES, PROBES = range(3)
"""Sorts of control frames."""
CONTROLS = 3
SORT_OF = {
    Kind.CNM: CNMS,
    Kind.PAUSE: PAUSES,
    Kind.PFC: PAUSES,
    Kind.PROBE: PROBES,
    Kind.ECHO: PROBES,
}
SORTS = tuple(SORT_OF.get(kind, -1) for kind in Kind)
"""By kind; -1 for frames of flows."""
STAMPED = tuple(kind in (Kind.DATA, Kind.ACK, Kind.SACK) for kind in Kind)
"""By kind: those among which are types with room for stamps."""
ROWS, MOST_ROWS, MATCHED, ROOMS, FIRST_CONTROL = range(5)
"""What `count` holds."""
FLOW_AT = UDP_HEADER + layout.FLOW - layout.PAYLOAD
SEQUENCE_AT = UDP_HEADER + layout.SEQUENCE - layout.PAYLOAD
MOST_REQUEST, READ_REQUEST, OPERATION = 11, 12, 0x1F
"""Operations of RoCE (low bits of the opcode): up to 11 each frame takes one number (send, write);
a read request takes one for every frame of the response, which goes the other way."""
PSN_BITS = 24

WORDS = 9
"""int64 words of a flow's key."""
WINDOW = 1024
"""Sequence numbers behind the highest that are remembered one by one; a power of 2."""
OVERFLOW = 0
"""The row of the flow table that takes what no longer finds a place."""

FLOW = np.dtype(
    [
        (name, np.int64)
        for name in (
            "point",
            "kind",
            "vlan",
            "priority",
            "number",  # of tailback's flow
            "headers",  # 4 or 6 with IP
            "frames",
            "octets",
            "first_ns",
            "last_ns",
            "first_length",
            "ect1",
            "ect0",
            "ce",
            "numbered",  # frames with a sequence number
            "low",
            "high",
            "distinct",
            "duplicates",
            "reordered",
            "undecided",
            "reads",
        )
    ]
)
POINT = np.dtype(
    [
        ("frames", np.int64, (len(Kind),)),
        ("octets", np.int64),
        ("first_ns", np.int64),
        ("last_ns", np.int64),
        ("timed", np.int64),
        ("ce", np.int64),
    ]
)


@inlined
def folded(value):  # type: ignore[no-untyped-def]
    """A word in 31 bits."""
    return (value ^ (value >> 31)) & 0x7FFFFFFF


@inlined
def digest(a, b, c, d, e, f, g, h, i):  # type: ignore[no-untyped-def]
    """A hash of a key's words, in 62 bits: cheap, and the same in plain Python."""
    ends = a ^ (b << 3) ^ (c << 9) ^ (d << 16) ^ (e << 13) ^ (f << 24)
    rest = g ^ (h << 7) ^ (i << 19)
    total = folded(ends) * 0x2545F491 ^ folded(rest) * 0x3C6EF373
    return total ^ (total >> 29)


@inlined
def number(flow, seen, index, value):  # type: ignore[no-untyped-def]
    """Account for a sequence number of a flow; `seen` int64[flows, WINDOW / 64], one bit each."""
    if flow["numbered"] == 0:
        flow["numbered"] = 1
        flow["low"] = flow["high"] = value
        flow["distinct"] = 1
        for place in range(seen.shape[1]):
            seen[index, place] = 0
        seen[index, (value & (WINDOW - 1)) >> 6] = np.int64(1) << (value & 63)
        return
    flow["numbered"] += 1
    high = flow["high"]
    place, bit = (value & (WINDOW - 1)) >> 6, np.int64(1) << (value & 63)
    if value > high:
        if value - high >= WINDOW or value - high < 0:
            for other in range(seen.shape[1]):
                seen[index, other] = 0
        else:
            for skipped in range(high + 1, value):
                skipped_place = (skipped & (WINDOW - 1)) >> 6
                seen[index, skipped_place] &= ~(np.int64(1) << (skipped & 63))
        seen[index, place] |= bit
        flow["high"] = value
        flow["distinct"] += 1
        return
    if value < high:
        flow["reordered"] += 1
    if high - value >= WINDOW or high - value < 0:
        # too long ago to know whether it was there already; before the first it was not
        if value < flow["low"]:
            flow["low"] = value
        else:
            flow["undecided"] += 1
        flow["distinct"] += 1
        return
    if value < flow["low"]:
        flow["low"] = value
    if seen[index, place] & bit:
        flow["duplicates"] += 1
    else:
        seen[index, place] |= bit
        flow["distinct"] += 1


@inlined
def find(slots, keys, flows, count, a, b, c, d, e, f, g, h, i):  # type: ignore[no-untyped-def]
    """The row of a key of WORDS words; a new one if it is not there, OVERFLOW if that would be one
    too many.

    `slots` int64[2^k] holds rows, -1 where free; `count` int64[2] the rows in use and the most
    there may be. Answers -1 when the table has to grow first.
    """
    mask = (slots.size - 1) & 0x7FFFFFFF
    slot = digest(a, b, c, d, e, f, g, h, i) & mask
    while slots[slot] >= 0:
        row = slots[slot]
        other = (keys[row, 0] ^ a) | (keys[row, 1] ^ b) | (keys[row, 2] ^ c)
        other |= (keys[row, 3] ^ d) | (keys[row, 4] ^ e) | (keys[row, 5] ^ f)
        other |= (keys[row, 6] ^ g) | (keys[row, 7] ^ h) | (keys[row, 8] ^ i)
        if other == 0:
            return row
        slot = (slot + 1) & mask
    row = count[0]
    if row >= count[1]:
        return OVERFLOW
    if row >= flows.size or 2 * row >= slots.size:
        return -1
    slots[slot] = row
    count[0] = row + 1
    keys[row, 0], keys[row, 1], keys[row, 2] = a, b, c
    keys[row, 3], keys[row, 4], keys[row, 5] = d, e, f
    keys[row, 6], keys[row, 7], keys[row, 8] = g, h, i
    return row


@compiled
def find_flow(slots, keys, flows, count, header, kind, where, flow_number):  # type: ignore[no-untyped-def]
    """The row of the flow of a dissected frame, as `find` has it."""
    ends = ((np.int64(header["source_port"]) + 1) << 20) | (
        np.int64(header["destination_port"]) + 1
    )
    return find(
        slots,
        keys,
        flows,
        count,
        header["source"],
        header["destination"],
        header["from_high"],
        header["from_low"],
        header["to_high"],
        header["to_low"],
        ends | ((np.int64(header["protocol"]) + 1) << 40) | (kind << 50),
        ((np.int64(header["qp"]) + 1) << 32)
        | ((np.int64(header["ethertype"]) + 1) << 13)
        | (np.int64(header["vlan"]) + 1),
        (where << 32) | (flow_number & 0xFFFFFFFF),
    )


@compiled
def rehash(slots, keys, rows):  # type: ignore[no-untyped-def]
    """Put the first `rows` keys (but OVERFLOW) into empty `slots`."""
    mask = (slots.size - 1) & 0x7FFFFFFF
    for row in range(1, rows):
        k = keys[row]
        slot = digest(k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = row


@compiled
def count_frames(  # type: ignore[no-untyped-def]
    begin,
    octets,
    offset,
    captured,
    original,
    times,
    points_of,
    ethernet,
    headers,
    words,
    blank,
    known,
    points,
    slots,
    keys,
    flows,
    seen,
    count,
    bins,
    shift,
    first_bin,
    control,
    matched,
    places,
    rooms,
):
    """Account for the frames from `begin` on; answers how far it came before the table was full.

    `points_of` int64[n] are rows of `points` POINT, `ethernet` bool[points] says which of them are
    dissected. `headers` HEADERS[n + 1], `words` and `blank` are those of `frame_headers`, `known`
    those of `familiar`. `bins` int64[2, flows, n] takes octets and CE-marked frames of the bin
    `(time >> shift) - first_bin`; `control` int64[CONTROLS, 2, n] gets the places of control
    frames in the batch and of their headers in `headers`, and `count[FIRST_CONTROL:]` their
    numbers. `matched` int64[n, 3] gets a row (time, flow, sequence) for each frame that another
    point may have seen too, and `count[MATCHED]` their number; it may be empty. `rooms` int64[n]
    gets the places of frames that may have room for stamps, by one of the octets `places` int64[..]
    of each, and `count[ROOMS]` their number.
    """
    spare = 0
    for sort in range(CONTROLS):
        spare += count[FIRST_CONTROL + sort]
    # what is masked is known not to be negative, which saves numba's check of every index
    for index in range(begin & 0x7FFFFFFF, offset.size):
        at, size = offset[index], captured[index]
        where = points_of[index] & 0x7FFFFFFF
        length, time = original[index], times[index]
        row = np.int64(-1)
        kind, protocol, place, ecn = np.int64(OTHER), np.int64(0), np.int64(0), np.int64(0)
        operation, psn = np.int64(0), np.int64(0)
        ip, telling = np.int64(0), np.int64(-1)
        if ethernet[where]:
            ip = network(octets, at, size)
            if ip:
                telling = payload(octets, at, size, ip)
                if telling != -1:
                    row = recall(known, octets, at, ip, where, telling)
        else:
            size = 0
        if row >= 0:
            kind = np.int64(flows[row]["kind"])
            protocol = np.int64(octets[at + ip + 9])
            place = at + ip + IP_HEADER
            ecn = np.int64(octets[at + ip + 1]) & 3
        else:
            header = headers[spare & 0x7FFFFFFF]
            frame_headers(octets, at, size, header, words[spare & 0x7FFFFFFF], blank)
            kind = np.int64(header["kind"])
            sort = SORTS[kind]
            if sort >= 0:
                entry = count[FIRST_CONTROL + sort]
                control[sort, 0, entry] = index
                control[sort, 1, entry] = spare
                count[FIRST_CONTROL + sort] = entry + 1
                spare += 1
            else:
                place = at + header["place"]
                flow_number = ABSENT
                if kind == DATA:
                    flow_number = signed32(big32(octets, place + FLOW_AT))
                    # a flow may have many, by its path entropy
                    own_port = layout.SOURCE_PORT_BASE | (flow_number & layout.SOURCE_PORT_MASK)
                    header["source_port"] = own_port
                row = find_flow(slots, keys, flows, count, header, kind, where, flow_number)
                if row < 0:
                    return index
                flow = flows[row]
                if flow["frames"] == 0:
                    flow["point"], flow["kind"], flow["headers"] = where, kind, header["version"]
                    flow["vlan"], flow["priority"] = header["vlan"], header["priority"]
                    flow["number"] = flow_number
                    flow["first_ns"], flow["last_ns"] = time, time
                    flow["first_length"] = length
                if telling != -1 and row != OVERFLOW:
                    remember(known, octets, at, ip, where, telling, row)
                ecn = np.int64(header["ecn"])
                protocol = np.int64(header["protocol"])
                if header["source_port"] < 0:
                    protocol = np.int64(0)
                operation, psn = np.int64(header["opcode"]) & OPERATION, np.int64(header["psn"])
        if STAMPED[kind]:
            for room in places:
                if size > room and octets[at + room] != 0:
                    rooms[count[ROOMS]] = index
                    count[ROOMS] += 1
                    break
        if row >= 0:
            row &= 0x7FFFFFFF
            flow = flows[row]
            flow["frames"] += 1
            flow["octets"] += length
            if time != NO_TIME:
                if flow["first_ns"] == NO_TIME or time < flow["first_ns"]:
                    flow["first_ns"] = time
                    flow["first_length"] = length
                if time > flow["last_ns"]:
                    flow["last_ns"] = time
                bin_ = ((time >> shift) - first_bin) & 0xFFFF
                bins[0, row, bin_] += length
                if ecn == 3:
                    bins[1, row, bin_] += 1
            if ecn > 0:
                if ecn == 3:
                    flow["ce"] += 1
                    points[where]["ce"] += 1
                elif ecn == 2:
                    flow["ect0"] += 1
                else:
                    flow["ect1"] += 1
            if row != OVERFLOW:
                sequence = np.int64(-1)
                if kind == DATA:
                    sequence = np.int64(big64(octets, place + SEQUENCE_AT))
                    number(flow, seen, row, sequence)
                elif kind == ROCE:
                    if operation <= MOST_REQUEST:
                        sequence = psn
                        if flow["numbered"]:
                            step = (sequence - flow["high"]) & ((1 << PSN_BITS) - 1)
                            step -= (step >> (PSN_BITS - 1)) << PSN_BITS
                            sequence = flow["high"] + step
                        number(flow, seen, row, sequence)
                    elif operation == READ_REQUEST:
                        flow["reads"] += 1
                elif protocol == TCP and place + 8 <= at + size:
                    forward = big32(octets, place + 4)
                    if flow["numbered"]:
                        step = (forward - flow["high"]) & 0xFFFFFFFF
                        if step >> 31:
                            flow["reordered"] += 1
                            forward = flow["high"]
                    flow["high"] = forward
                    flow["numbered"] += 1
                if sequence >= 0 and matched.shape[0] and time != NO_TIME:
                    matched[count[MATCHED], 0] = time
                    matched[count[MATCHED], 1] = row
                    matched[count[MATCHED], 2] = sequence
                    count[MATCHED] += 1
        point = points[where]
        point["frames"][kind] += 1
        point["octets"] += length
        if time != NO_TIME:
            if point["timed"] == 0 or time < point["first_ns"]:
                point["first_ns"] = time
            if point["timed"] == 0 or time > point["last_ns"]:
                point["last_ns"] = time
            point["timed"] += 1
    return offset.size
