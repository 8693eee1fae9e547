"""Telemetry stamps (INT, CSIG): records that ports write into a data frame on its path.

A frame has room for so many of them from its source on; its length does not change on its way. An
acknowledgement has the same room and echoes them. Behind the octet where a type says that they
begin: how many there is room for (1 octet), how many ports have stamped (1 octet, which counts on
when the room is full), then for each, five words of 32 bits: the queue in octets, the octets that
have left it modulo 2^32, the time in ns modulo 2^32, the rate in kbit/s, the port's address index.
Octets that no port has written are 0: no room. Ports that let a frame keep one record alone (CSIG)
write the first one, in which the first word is what they compare.

A row of stamps is int64[2 + WORDS * n]: the room, how many have stamped, then WORDS for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.engine.frames.big_endian import get32, put32
from orchestrator.engine.index_types import int64
from orchestrator.engine.jit import compiled, inlined, word_at
from orchestrator.engine.records import Flow, Limiter

MOST_STAMPS = 16
"""Hops that there can be room for."""
WORDS = 5
"""Words of 32 bits in a stamp."""
ROOM, STAMPED, FIRST = 0, 1, 2
QUEUED, SENT, TIME, RATE, PORT = range(WORDS)
"""Words of a stamp: octets; octets modulo 2^32; ns modulo 2^32; bit/s, in 1000; address index."""
SIGNAL = QUEUED
"""The word that is compared where a frame keeps one stamp, in the unit of its port."""
EVERY, HIGHEST, LOWEST = range(3)
"""Stamps that a frame keeps: every port's; the one whose signal is largest, or smallest."""
WORD_MASK = (1 << 32) - 1
KILO = 1000
HEAD_OCTETS = 2
STAMP_OCTETS = 4 * WORDS


@inlined
def room_octets(hops: int) -> int:
    """Octets of a frame that the stamps of `hops` ports take."""
    return 0 if hops == 0 else HEAD_OCTETS + STAMP_OCTETS * hops


@inlined
def headers_of(flow: Flow) -> int:
    """Octets of a flow's segments that are no part of a message."""
    return flow.headers + room_octets(flow.stamps)


@compiled
def write_stamp(
    row: np.ndarray, queued: int, sent: int, time_ps: int, rate: int, port: int
) -> None:
    """A port stamps: each word as its octets say it. Without room it is only counted."""
    hop = row[STAMPED]
    row[STAMPED] = min(hop + 1, 255)
    if hop >= row[ROOM]:
        return
    begin = FIRST + WORDS * hop
    row[begin + QUEUED] = min(max(queued, 0), WORD_MASK)
    row[begin + SENT] = sent & WORD_MASK
    row[begin + TIME] = (time_ps // KILO) & WORD_MASK
    row[begin + RATE] = min(max(rate, 0) // KILO, WORD_MASK) * KILO
    row[begin + PORT] = port & WORD_MASK


@compiled
def write_extreme_stamp(
    row: np.ndarray, which: int, signal: int, sent: int, time_ps: int, rate: int, port: int
) -> None:
    """A port stamps a frame that keeps HIGHEST or LOWEST alone: its stamp replaces the one that
    is there where its own signal is larger, or smaller. Every port is counted.
    """
    before = row[STAMPED]
    kept = row[FIRST + SIGNAL]
    said = min(max(signal, 0), WORD_MASK)
    beyond = said > kept if which == HIGHEST else said < kept
    if before == 0 or beyond:
        row[STAMPED] = 0
        write_stamp(row, said, sent, time_ps, rate, port)
    row[STAMPED] = min(before + 1, 255)


@compiled
def put_stamps(begin: int, row: np.ndarray, octets: np.ndarray) -> int:
    """Write a row into a frame's octets from `begin` on; the octet behind its room."""
    octets[begin] = row[ROOM]
    octets[begin + 1] = row[STAMPED]
    at = begin + HEAD_OCTETS
    written = min(row[STAMPED], row[ROOM])
    for hop in range(row[ROOM]):
        for word in range(WORDS):
            value = row[FIRST + WORDS * hop + word] if hop < written else 0
            put32(octets, at, value // KILO if word == RATE else value)
            at += 4
    return at


@compiled
def get_stamps(begin: int, octets: np.ndarray, length: int, row: Any) -> None:
    """Fill a row from the octets of a frame of `length`, whose stamps begin at `begin`.

    Stamps that do not fit the frame or the row are foreign: there is no room then.
    """
    row[ROOM] = 0
    row[STAMPED] = 0
    held = min(length, octets.shape[0])
    if begin == 0 or held < begin + HEAD_OCTETS:
        return
    room = int64(octets[begin])
    if held < begin + room_octets(room) or FIRST + WORDS * room > row.shape[0]:
        return
    row[ROOM] = room
    row[STAMPED] = octets[begin + 1]
    at = begin + HEAD_OCTETS
    for place in range(FIRST, FIRST + WORDS * min(row[STAMPED], room)):
        value = get32(octets, at)
        row[place] = value * KILO if (place - FIRST) % WORDS == RATE else value
        at += 4


@inlined
def stamp_of(limiter: Limiter, hop: int, word: int) -> int:
    """For kernels: a word of the stamp of hop 0, 1 .. on the acknowledgement; 0 where none is."""
    if limiter.stamps == 0 or hop < 0 or hop >= stamps_of(limiter):
        return 0
    return word_at(limiter.stamps, FIRST + WORDS * hop + word)


@inlined
def stamps_of(limiter: Limiter) -> int:
    """For kernels: how many stamps the acknowledgement carries."""
    if limiter.stamps == 0:
        return 0
    return min(word_at(limiter.stamps, STAMPED), word_at(limiter.stamps, ROOM))


@inlined
def since(limiter: Limiter, hop: int, word: int, before: int) -> int:
    """For kernels: how much more that word says than `before`, modulo 2^32."""
    return (stamp_of(limiter, hop, word) - before) & WORD_MASK
