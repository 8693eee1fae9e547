"""Sequence number accounting of a flow: a sliding window of received numbers."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import compiled, inlined
from traces.analysis.flow_records import WINDOW

MOST_REQUEST, READ_REQUEST, LAST_READ_RESPONSE = 11, 12, 16
ATOMIC_ACKNOWLEDGE, LAST_ATOMIC, LAST_SEND_INVALIDATE = 18, 20, 23
FLUSH, ATOMIC_WRITE = 28, 29
OPERATION, SERVICE = 0x1F, 5
"""Operations of RoCE (low 5 bits of the opcode; InfiniBand, volume 1, 9.2.1). Sends, writes,
atomics, sends with invalidate, flushes and atomic writes take one number per frame; a read request
takes one for every frame of the response, which goes the other way."""
CONNECTED, UNRELIABLE, EXTENDED = 0, 1, 5
"""Transport services (high 3 bits) whose queue pair numbers frames of one sender: RC, UC, XRC.
Datagrams are numbered by queue pair of the source, and any number of these send to one."""
PSN_BITS = 24
RESTART = 1 << 16
"""Least step, forward or back, that is a new connection of a queue pair (which begins at any
number), not a loss or a retransmission: more frames than any sender has under way."""
RESPONSE = 1 << 62
"""Added to the packet number of an answer, whose numbers are those of the requests."""


@inlined
def count_sequence_number(flow, seen, index, value):
    """Account for a sequence number of a flow; `seen` int64[flows, WINDOW / 64], one bit each."""
    if flow["numbered"] != 0 and value == flow["high"] + 1:  # as most are
        flow["numbered"] += 1
        seen[index, (value & (WINDOW - 1)) >> 6] |= np.int64(1) << (value & 63)
        flow["high"] = value
        flow["distinct"] += 1
        return
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
def is_numbered_request(operation):
    """True for an operation each frame of which takes one packet number."""
    return (
        operation <= MOST_REQUEST
        or ATOMIC_ACKNOWLEDGE < operation <= LAST_ATOMIC
        or LAST_ATOMIC + 2 <= operation <= LAST_SEND_INVALIDATE
        or operation in (FLUSH, ATOMIC_WRITE)
    )


@inlined
def unwrapped_number(flow, sequence):
    """A packet number without its wrap; where numbering begins anew, the losses so far are kept."""
    if flow["numbered"] == 0:
        return sequence
    step = (sequence - flow["high"]) & ((1 << PSN_BITS) - 1)
    signed = step - ((step >> (PSN_BITS - 1)) << PSN_BITS)
    if -RESTART < signed < RESTART:
        return flow["high"] + signed
    flow["restarts"] += 1
    flow["low"] += step - 1
    return flow["high"] + step


@compiled
def transport_number(flow, seen, row, opcode, sequence):
    """Account for a frame of RoCE; returns the number by which other points recognise it: its
    packet number, of 24 bits, or RESPONSE and that of an answer; -1 for what repeats its number."""
    operation, service = opcode & OPERATION, opcode >> SERVICE
    if service not in (CONNECTED, UNRELIABLE, EXTENDED):
        flow["datagrams"] += 1
        return np.int64(-1)
    if is_numbered_request(operation):
        count_sequence_number(flow, seen, row, unwrapped_number(flow, sequence))
        return sequence
    if operation == READ_REQUEST:
        flow["reads"] += 1
        return sequence
    if operation <= LAST_READ_RESPONSE:
        flow["responses"] += 1
    if operation <= ATOMIC_ACKNOWLEDGE:
        return sequence | RESPONSE
    return np.int64(-1)
