"""Frame accounting: the compiled pass over the frames of a batch.

Frames are dissected and counted one by one, so that nothing is written that is only counted. Flows
are found in an open hash table; each has counters, a window of sequence numbers and a row of bins
over time.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import frame_layout
from orchestrator.engine.frames.big_endian import signed32
from orchestrator.engine.frames.unaligned import big32, big64
from orchestrator.engine.jit import compiled, inlined
from traces.analysis.deferred_counts import BEGUN, NEXT, apply_pending, note_point, set_expected
from traces.analysis.fast_loop import SEQUENCE_AT, count_expected_frames, scan_expected_frames
from traces.analysis.flow_cache import (
    TCP_NUMBERED,
    UDP_HEADER,
    cached_summary,
    insert_entry,
    summarise_frames,
)
from traces.analysis.flow_records import (
    CNP,
    CONTROLS,
    DATA,
    FIRST_CONTROL,
    FIRST_ROCE_ANSWER,
    LATEST_NS,
    LLDP,
    LLDPS,
    MATCHED,
    OVERFLOW,
    OVERFLOWN,
    ROCE,
    ROOMS,
    ROWS,
    SORTS,
    STAMPED,
)
from traces.analysis.frame_summary import (
    CONTROL,
    ECN_AT,
    FULL,
    KIND_AT,
    KINDS,
    OFFSET_AT,
    OFFSETS,
    ROW,
    STAMP_SPACE_AT,
    TCP_AT,
    UNCACHED,
    pack_flow,
    pack_frame,
)
from traces.analysis.sequence_numbers import (
    PSN_BITS,
    count_sequence_number,
    transport_number,
)
from traces.analysis.stamp_space import has_stamp_space
from traces.capture.frame_batch import NO_TIME
from traces.capture.scanner import ANSWER, COUNT, POSITION, scan_pcap
from traces.capture.time_order import note_order
from traces.dissect.header_parser import MAC, TCP, frame_headers
from traces.dissect.header_record import ABSENT

FLOW_AT = UDP_HEADER + frame_layout.FLOW - frame_layout.PAYLOAD
MAC_BITS = 48
LAST = 2**63 - 1
"""No time is later."""
UNCOUNTED = -1
"""Answer in place of a scan's while there are records left."""
FEW = 8
"""Frames that go straight on between two that do not, for these to be taken one by one."""


@inlined
def folded(value):
    """A word in 31 bits."""
    return (value ^ (value >> 31)) & 0x7FFFFFFF


@inlined
def digest(a, b, c, d, e, f, g, h, i):
    """A hash of a key's words, in 62 bits: cheap, and the same in plain Python."""
    ends = a ^ (b << 3) ^ (c << 9) ^ (d << 16) ^ (e << 13) ^ (f << 24)
    rest = g ^ (h << 7) ^ (i << 19)
    total = folded(ends) * 0x2545F491 ^ folded(rest) * 0x3C6EF373
    return total ^ (total >> 29)


@inlined
def find_or_add_key(slots, keys, flows, count, a, b, c, d, e, f, g, h, i):
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
def find_flow(slots, keys, flows, count, header, kind, where, flow_number):
    """The row of the flow of a dissected frame, as `find_or_add_key` has it.

    A flow is identified by what its ends set and hops keep. Over IP these are addresses, protocol
    and ports, so that neither the MAC addresses of next hops nor VLAN tags separate its frames; of
    RoCE, addresses, queue pair and partition, since the source port is entropy for ECMP (InfiniBand
    annex A17.9). Without IP they are MAC addresses and, but for RoCE, the VLAN. What is in a tunnel
    is apart from what is not, and so are the networks of tunnels, whose addresses may be the same.
    """
    roce = kind in (ROCE, CNP)
    first, second = np.int64(header["source"]), np.int64(header["destination"])
    third, network = np.int64(header["from_high"]), np.int64(header["network"])
    source_port, vlan = np.int64(header["source_port"]), np.int64(header["vlan"])
    if header["protocol"] >= 0:
        first, second, vlan = np.int64(0), network, np.int64(ABSENT)
    else:
        third = network
    if roce:
        source_port, vlan = np.int64(ABSENT), np.int64(ABSENT)
        flow_number = np.int64(header["partition"])
    ends = ((source_port + 1) << 20) | (np.int64(header["destination_port"]) + 1)
    return find_or_add_key(
        slots,
        keys,
        flows,
        count,
        (first & MAC) | (np.int64(header["tunnel"]) << MAC_BITS),
        second,
        third,
        header["from_low"],
        header["to_high"],
        header["to_low"],
        ends | ((np.int64(header["protocol"]) + 1) << 40) | (kind << 50),
        ((np.int64(header["qp"]) + 1) << 32)
        | ((np.int64(header["ethertype"]) + 1) << 13)
        | (vlan + 1),
        (where << 32) | (flow_number & 0xFFFFFFFF),
    )


@compiled
def rehash(slots, keys, rows):
    """Put the first `rows` keys (but OVERFLOW) into empty `slots`."""
    mask = (slots.size - 1) & 0x7FFFFFFF
    for row in range(1, rows):
        k = keys[row]
        slot = digest(k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = row


@compiled
def time_span(times, points_of, summary):
    """The earliest and the latest time of a batch, LAST and NO_TIME where there is none, and its
    last point: into `summary` int64[3]."""
    low, high, last = np.int64(LAST), np.int64(NO_TIME), np.int64(0)
    for index in range(times.size):
        time = times[index]
        low = min(low, time if time != NO_TIME else np.int64(LAST))
        high, last = max(high, time), max(last, points_of[index])
    summary[0], summary[1], summary[2] = low, high, last


@compiled
def dissect_frame(
    index,
    octets,
    at,
    size,
    where,
    length,
    time,
    headers,
    words,
    blank,
    known,
    slots,
    keys,
    flows,
    count,
    control,
    places,
    rooms,
    packet_numbers,
    mine,
):
    """Dissect frame `index`, find its flow and return its summary, or note a control frame.

    What it takes is what `count_frames` has, `size` 0 where a frame is not dissected. Its headers
    are in the first row of `headers` behind those of the control frames. Of RoCE,
    `packet_numbers[mine]` gets opcode and packet number.
    """
    spare = 0
    for sort in range(CONTROLS):
        spare += count[FIRST_CONTROL + sort]
    header = headers[spare & 0x7FFFFFFF]
    frame_headers(octets, at, size, header, words[spare & 0x7FFFFFFF], blank)
    kind = np.int64(header["kind"])
    sort = SORTS[kind]
    if sort >= 0:
        entry = count[FIRST_CONTROL + sort]
        control[sort, 0, entry] = index
        control[sort, 1, entry] = spare
        count[FIRST_CONTROL + sort] = entry + 1
        return np.int64(CONTROL) - kind
    if kind == LLDP:
        control[CONTROLS, 0, count[LLDPS]] = index
        count[LLDPS] += 1
    place = np.int64(header["place"])
    flow_number = ABSENT
    if kind == DATA:
        flow_number = signed32(big32(octets, at + place + FLOW_AT))
        # a flow may have many, by its path entropy
        own_port = frame_layout.SOURCE_PORT_BASE | (flow_number & frame_layout.SOURCE_PORT_MASK)
        header["source_port"] = own_port
    # ACKs and NAKs of a queue pair are one flow, and are told apart by the point's counts
    flow_kind = np.int64(ROCE) if kind >= FIRST_ROCE_ANSWER else kind
    rows = count[ROWS]
    row = find_flow(slots, keys, flows, count, header, flow_kind, where, flow_number)
    if row < 0:
        return np.int64(FULL)
    flow = flows[row]
    if count[ROWS] > rows or (row == OVERFLOW and count[OVERFLOWN] == 0):
        if row == OVERFLOW:
            count[OVERFLOWN] = 1
        flow["point"], flow["kind"], flow["headers"] = where, flow_kind, header["version"]
        flow["source"], flow["destination"] = header["source"], header["destination"]
        flow["vlan"], flow["priority"] = header["vlan"], header["priority"]
        flow["tunnel"], flow["network"] = header["tunnel"], header["network"]
        flow["ttl"] = header["ttl"]
        flow["number"] = flow_number
        flow["first_ns"], flow["last_ns"] = time, time
        flow["first_length"] = length
    summary = pack_flow(row, kind)
    if row != OVERFLOW:
        insert_entry(known, octets, at, size, where, summary, kind == DATA)
    ecn = max(np.int64(header["ecn"]), np.int64(0))
    ports = header["protocol"] == TCP and header["source_port"] >= 0
    tcp = np.int64(ports and place + TCP_NUMBERED <= size)
    if flow_kind == ROCE:
        opcode = np.int64(header["opcode"])
        packet_numbers[mine] = (opcode << PSN_BITS) | np.int64(header["psn"])
    room = has_stamp_space(octets, at, size, places, rooms)
    return pack_frame(summary, ecn, tcp, room, max(place, np.int64(0)))


@compiled
def count_frames(
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
    pending,
    seen,
    count,
    bins,
    shift,
    first_bin,
    control,
    matched,
    places,
    rooms,
    roomy,
    summary,
    packet_numbers,
    unit,
    state,
    end,
):
    """Account for the frames from `begin` on; returns the next row when the table is full.

    `points_of` int64[n] are rows of `points` POINT, `ethernet` bool[points] says which of them are
    dissected. `headers` HEADERS[n + 1], `words` and `blank` are those of `frame_headers`, `known`
    those of `cached_summary`, `pending` those of `set_expected`. `bins` int64[2, n, flows], the
    room of a Series, takes octets and CE-marked frames of the bin `(time >> shift) - first_bin`;
    `control` int64[CONTROLS + 1, 2, n] gets the rows of control frames in the batch and of their
    headers in `headers`, and `count[FIRST_CONTROL:]` their numbers; its last row gets the rows of
    LLDP frames, and `count[LLDPS]` their number. `matched` int64[n, 3] gets a row (time,
    flow, sequence) for each frame that another point may have seen too, and `count[MATCHED]` their
    number; it may be empty. `roomy` int64[n] gets the rows of frames that may have stamp space,
    by `places` and `rooms` of `has_stamp_space`, and `count[ROOMS]` their number.

    With a `unit`, records of pcap are scanned on the way by `scan_expected_frames`; then
    `offset`, `captured`, `original` and `times` are as long as there may be frames, and are written
    for those alone that the fast loop leaves. `state[COUNT]` gets the number of records, and
    `state[ANSWER]` the answer of the scan; UNCOUNTED where it is not over: then a frame's time is
    in no bin, or the table is full.

    For the frames that the fast loop leaves, `summary` and `packet_numbers` int64[m]
    are scratch: some frames are compared with the flow cache, then the others dissected, then all
    counted. Their number is the size of `summary` where the fast loop takes hardly any frame, and 1
    where it takes nearly all.
    """
    reached = begin
    some = 1
    while reached < offset.size or unit:
        ahead = reached
        if unit and rooms[0] >= 0:
            ahead = scan_expected_frames(
                reached,
                offset.size,
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
            )
        elif rooms[0] >= 0:
            ahead = count_expected_frames(
                reached,
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
            )
        some = 1 if ahead - reached > FEW else min(2 * some, summary.size)
        reached = ahead
        wanted = min(reached + some, offset.size)
        if unit:
            place = state[POSITION]
            state[COUNT] = reached
            answer = scan_pcap(
                octets, state, end, False, unit, wanted, offset, captured, original, times
            )
            wanted = state[COUNT]
            state[ANSWER] = UNCOUNTED
            if not lie_in_bins(times, reached, wanted, shift, first_bin, bins.shape[1]):
                state[POSITION], state[COUNT] = place, reached
                return reached
            note_order(times[reached:wanted], count[LATEST_NS:FIRST_CONTROL])
            if wanted == reached:
                state[ANSWER] = answer
                return reached
        until = wanted
        strange = summarise_frames(
            reached,
            until,
            octets,
            offset,
            captured,
            points_of,
            ethernet,
            known,
            places,
            rooms,
            summary,
        )
        met = False
        for index in range(reached, until if strange else reached):
            mine = (index - reached) & 0x7FFFFFFF
            if summary[mine] != UNCACHED:
                continue
            at, where = offset[index], points_of[index]
            size = captured[index] if ethernet[where] else np.int64(0)
            one = np.int64(UNCACHED)
            if met:  # like one of the same stretch, perhaps
                one = cached_summary(known, octets, at, size, where, places, rooms)
            if one == UNCACHED:
                met = True
                one = dissect_frame(
                    index,
                    octets,
                    at,
                    size,
                    where,
                    original[index],
                    times[index],
                    headers,
                    words,
                    blank,
                    known,
                    slots,
                    keys,
                    flows,
                    count,
                    control,
                    places,
                    rooms,
                    packet_numbers,
                    mine,
                )
            if one == FULL:
                until = index
                break
            summary[mine] = one
        account_summaries(
            reached,
            until,
            octets,
            offset,
            original,
            times,
            points_of,
            points,
            flows,
            pending,
            seen,
            count,
            bins,
            shift,
            first_bin,
            matched,
            roomy,
            summary,
            packet_numbers,
        )
        if until < wanted:
            return until
        reached = until
    return reached


@inlined
def lie_in_bins(times, begin, until, shift, first_bin, bins):
    """True if all times from row `begin` to `until` lie in bins."""
    for row in range(begin, until):
        bin_ = (times[row] >> shift) - first_bin
        if bin_ < 0 or bin_ >= bins:
            return False
    return True


@compiled
def account_summaries(
    begin,
    until,
    octets,
    offset,
    original,
    times,
    points_of,
    points,
    flows,
    pending,
    seen,
    count,
    bins,
    shift,
    first_bin,
    matched,
    roomy,
    summary,
    packet_numbers,
):
    """Account for the frames from `begin` to `until` by `summary` (summaries) and
    `packet_numbers`; other parameters as for `count_frames`."""
    # the counts of a point are summed up for as long as frames come from the same point
    here = np.int64(-1)
    here_octets, timed, low, high = np.int64(0), np.int64(0), np.int64(LAST), np.int64(NO_TIME)
    first = begin & 0x7FFFFFFF
    # what is masked is known not to be negative, which saves numba's check of every index
    for every in range(first, until):
        index = every & 0x7FFFFFFF
        where = points_of[index] & 0x7FFFFFFF
        length, time = original[index], times[index]
        if where != here:
            if here >= 0:
                note_point(points[here & 0x7FFFFFFF], here_octets, timed, low, high)
            here = where
            here_octets, timed = np.int64(0), np.int64(0)
            low, high = np.int64(LAST), np.int64(NO_TIME)
        one = summary[(index - first) & 0x7FFFFFFF]
        if one >= 0:
            row, kind, ecn = one & ROW, (one >> KIND_AT) & KINDS, (one >> ECN_AT) & 3
            if (one >> STAMP_SPACE_AT) & 1 and STAMPED[kind]:
                roomy[count[ROOMS]] = index
                count[ROOMS] += 1
            flow = flows[row]
            if pending[row, NEXT] != pending[row, BEGUN]:
                apply_pending(pending, row, flow, seen, points)
            flow["frames"] += 1
            flow["octets"] += length
            if time != NO_TIME:
                if flow["first_ns"] == NO_TIME or time < flow["first_ns"]:
                    flow["first_ns"] = time
                    flow["first_length"] = length
                if time > flow["last_ns"]:
                    flow["last_ns"] = time
                bin_ = ((time >> shift) - first_bin) & 0xFFFF
                bins[0, bin_, row] += length
                if ecn == 3:
                    bins[1, bin_, row] += 1
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
                place = offset[index] + ((one >> OFFSET_AT) & OFFSETS)
                if kind == DATA:
                    sequence = np.int64(big64(octets, place + SEQUENCE_AT))
                    count_sequence_number(flow, seen, row, sequence)
                elif kind == ROCE or kind >= FIRST_ROCE_ANSWER:
                    packet_number = packet_numbers[(index - first) & 0x7FFFFFFF]
                    sequence = transport_number(
                        *(flow, seen, row, packet_number >> PSN_BITS),
                        packet_number & ((1 << PSN_BITS) - 1),
                    )
                elif (one >> TCP_AT) & 1:
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
                set_expected(pending, row, flow)
        else:
            kind = np.int64(CONTROL) - one
        points[where]["frames"][kind] += 1
        here_octets += length
        if time != NO_TIME:
            low, high = min(low, time), max(high, time)
            timed += 1
    if here >= 0:
        note_point(points[here & 0x7FFFFFFF], here_octets, timed, low, high)
