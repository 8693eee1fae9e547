"""Sequence number accounting of a flow: a sliding window of received numbers."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import compiled, inlined
from traces.analysis.flow_records import WINDOW

MOST_REQUEST, READ_REQUEST, LAST_READ_RESPONSE = 11, 12, 16
ACKNOWLEDGE, OPERATION = 17, 0x1F
"""Operations of RoCE (low bits of the opcode): up to 11 each frame takes one number (send, write);
a read request takes one for every frame of the response, which goes the other way."""
PSN_BITS = 24
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


@compiled
def transport_number(flow, seen, row, operation, sequence):
    """Account for a frame of RoCE; returns the number by which other points recognise it: its
    packet number, of 24 bits, or RESPONSE and that of an answer; -1 for what repeats its number."""
    if operation <= MOST_REQUEST:
        number = sequence
        if flow["numbered"]:
            step = (sequence - flow["high"]) & ((1 << PSN_BITS) - 1)
            step -= (step >> (PSN_BITS - 1)) << PSN_BITS
            number = flow["high"] + step
        count_sequence_number(flow, seen, row, number)
        return sequence
    if operation == READ_REQUEST:
        flow["reads"] += 1
        return sequence
    if operation <= LAST_READ_RESPONSE:
        flow["responses"] += 1
    if operation <= ACKNOWLEDGE:
        return sequence | RESPONSE
    return np.int64(-1)
