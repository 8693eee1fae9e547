"""Frame guard: a keyed check in every frame of a link, and the balance of the link by frame kind.

Sender and receiver of a link belong to one run and share a key that never leaves their process.
The sender numbers the frames of a link and writes a check word of 32 bits into octets that no node
reads: 24 bits of a keyed hash over the frame's number, link, kind, length and octets, then the 8
low bits of the number. The receiver verifies the word, clears it, and counts by kind: frames with
other contents, copies, frames out of order. The hash is multilinear over words of 32 bits with
random keys of 64, which is strongly universal (Lemire and Kaser, "Strongly universal string hashing
is fast", The Computer Journal 57, 2014): any change passes with a probability of 2^-24.

A frame's number also leads to the time at which it was due, in a ring that both ends share: so each
frame's delay beyond the plan's is known exactly, by kind and by window of time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator.engine.frames.big_endian import get16, put16
from orchestrator.engine.frames.ipv4_header import replace_word
from orchestrator.engine.frames.ipv6_header import put_udp_checksum
from orchestrator.engine.frames.roce_frame_types import layout_of
from orchestrator.engine.frames.roce_icrc import ICRC_OCTETS, put_icrc
from orchestrator.engine.frames.telemetry_header import HEAD_OCTETS, ROOM, WORDS, room_octets
from orchestrator.engine.frames.unaligned import big32
from orchestrator.engine.histogram import add
from orchestrator.engine.index_types import FrameIndex
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import ACK, CE, DATA, HOST, NONE, SACK, TRIMMED, Frame

HIGH, LOW, IP, ICRC, ICRC_FROM, KNOWN, IPV6 = range(7)
"""Words of a layout: octets of the check word's halves (NONE: this kind has no room for one); the
IPv4 header that the high half lies in, 0 for none; the ICRC over it (LAST: in the last octets),
and where that begins, 0 for none; octets that the hash covers; the IPv6 header whose UDP checksum
is the low half, 0 for none."""
MASKS = 7
"""Word of a layout from which the masks of its 32-bit words follow."""
LAYOUT_WORDS = MASKS + 32
LAST = -2
"""In place of the octet of an ICRC: it is in the last four octets of the frame."""
BASE_KEY, NUMBER_KEY, LINK_KEY, FRAME_KEY, STAMP_KEY, OCTET_KEYS = range(6)
STAMP_KEYS = OCTET_KEYS + 33
KEYS = STAMP_KEYS + 5 * 16
"""Words of the key: one for each word that is hashed. Stamps have theirs from STAMP_KEYS on."""
NUMBER_BITS, CHECK_BITS = 8, 24
KIND_BITS = 6
NEXT, SENT_MARKS, SENT_KINDS = 0, 1, 2
"""Words of a link's row of `sent`: number of the next frame, CE marks, then frames by kind."""
EXPECTED, MARKS = range(2)
"""Words of a link's row of `state`: number of the next frame, CE marks that arrived."""
RECEIVED, CHANGED, REPEATED, LATE, TIMED, EXTRA_PS, LONGEST_PS, DELAYED = range(8)
"""Words of a link's counts of a kind. TIMED frames have a delay; EXTRA_PS is the sum of what they
took beyond the plan's, LONGEST_PS the most, DELAYED how many took more than the bound."""
COUNTS = 8
FRAMES, WINDOW_PS, WINDOW_LONGEST_PS = range(3)
"""Words of a window of time: frames, the sum of their extra delays, the longest."""
WINDOWS = 128
BOUND_PS, SHIFT = range(2)
"""Words of `bounds`: extra delay beyond which a frame is DELAYED; the window of a time t is
`t >> SHIFT`."""
FORWARD, BACK = 256, 64
"""Turns of the 8 bits of a number that are searched for the frame's, ahead and back."""


class Guard(NamedTuple):
    """The guarded links of a thread's wires; all arrays but the first two are the run's."""

    out: np.ndarray  # int64[wires]: link that a wire sends on; NONE
    into: np.ndarray  # int64[wires]: link that a wire receives from; NONE
    keys: np.ndarray  # int64[KEYS]
    layouts: np.ndarray  # int64[kinds, LAYOUT_WORDS]
    sent: np.ndarray  # int64[links, SENT_KINDS + kinds], written by the sender
    ring: np.ndarray  # int64[links, n, 2]: number and kind, time due (ps); written by the sender
    state: np.ndarray  # int64[links, 2], written by the receiver, as all that follow
    seen: np.ndarray  # int64[links, n]: the number that was received last of those in a place
    counts: np.ndarray  # int64[links, kinds, COUNTS]
    delays: np.ndarray  # histogram (orchestrator.engine.histogram) of extra delays by link
    windows: np.ndarray  # int64[links, WINDOWS, 3]
    bounds: np.ndarray  # int64[2]


@compiled
def contents_hash(
    w: World, guard: Guard, link: int, index: FrameIndex, frame: Frame, octets: np.ndarray
) -> int:
    """Hash of a frame's contents on a link, but for its number: 64 bits, of which the high ones
    count. `octets` are as on the wire, check word and checksums in any state."""
    layout, keys = guard.layouts[layout_of(w, frame)], guard.keys
    total = int(keys[BASE_KEY]) + int(keys[LINK_KEY]) * int(link)
    total += int(keys[FRAME_KEY]) * int((frame.length << KIND_BITS) | frame.kind)
    covered = min(layout[KNOWN], frame.length)
    words = covered >> 2
    for k in range(words):
        total += int(keys[OCTET_KEYS + k]) * int(big32(octets, 4 * k) & layout[MASKS + k])
    if covered & 3 != 0:
        last = big32(octets, 4 * words) & layout[MASKS + words]
        total += int(keys[OCTET_KEYS + words]) * int(last >> (8 * (4 - (covered & 3))))
    begin = w.types[frame.kind].stamps
    if w.stamps.shape[0] > 1 and begin != 0 and w.stamps[index, ROOM] != 0:
        room = w.stamps[index, ROOM]
        if begin + room_octets(room) <= min(frame.length, octets.size):
            total += int(keys[STAMP_KEY]) * int(get16(octets, begin))
            for k in range(min(WORDS * room, KEYS - STAMP_KEYS)):
                word = big32(octets, begin + HEAD_OCTETS + 4 * k)
                total += int(keys[STAMP_KEYS + k]) * int(word)
    return total


@inlined
def check_of(guard: Guard, total: int, number: int) -> int:
    """The check of a frame with such a hash and number: CHECK_BITS bits."""
    mixed = total + int(guard.keys[NUMBER_KEY]) * int(number & 0xFFFFFFFF)
    return (mixed >> (64 - CHECK_BITS)) & ((1 << CHECK_BITS) - 1)


@inlined
def has_ce_mark(kind: int, mark: int) -> bool:
    """True for a frame that carries a queue's CE mark (RFC 3168)."""
    return mark & 3 == CE and kind in (DATA, HOST, ACK, SACK, TRIMMED)


@compiled
def write_word(layout: np.ndarray, octets: np.ndarray, length: int, word: int) -> None:
    """Write a check word into a frame of `length`; the checksums that cover its octets follow."""
    if layout[IP] != 0:
        replace_word(octets, layout[HIGH], word >> 16, layout[IP])
    else:
        put16(octets, layout[HIGH], word >> 16)
    put16(octets, layout[LOW], word & 0xFFFF)
    if layout[ICRC] != 0:
        place = length - ICRC_OCTETS if layout[ICRC] == LAST else layout[ICRC]
        put_icrc(octets, place, layout[ICRC_FROM])


@compiled
def guard_sent(w: World, guard: Guard, link: int, index: FrameIndex) -> None:
    """Count a frame that leaves for a link, and write its check word; the rest is final."""
    frame, octets = w.frames[index], w.octets[index]
    sent, layout = guard.sent[link], guard.layouts[layout_of(w, frame)]
    sent[SENT_KINDS + frame.kind] += 1
    if has_ce_mark(frame.kind, frame.mark):
        sent[SENT_MARKS] += 1
    if layout[HIGH] == NONE:
        return
    number = sent[NEXT]
    sent[NEXT] = number + 1
    place = guard.ring[link, number & (guard.ring.shape[1] - 1)]
    place[0], place[1] = (number << KIND_BITS) | frame.kind, frame.due
    check = check_of(guard, contents_hash(w, guard, link, index, frame, octets), number)
    word = (check << NUMBER_BITS) | (number & ((1 << NUMBER_BITS) - 1))
    write_word(layout, octets, frame.length, word)


@compiled
def number_of(guard: Guard, total: int, word: int, expected: int) -> int:
    """The number of a frame with such a hash and check word; NONE where none fits."""
    span = 1 << NUMBER_BITS
    off = ((word - expected) & (span - 1) ^ (span >> 1)) - (span >> 1)
    number, check = expected + off, word >> NUMBER_BITS
    if check_of(guard, total, number) == check:
        return number
    for turn in range(1, FORWARD):
        if check_of(guard, total, number + span * turn) == check:
            return number + span * turn
    for turn in range(1, BACK):
        if check_of(guard, total, number - span * turn) == check:
            return number - span * turn
    return NONE


@compiled
def guard_received(w: World, guard: Guard, link: int, index: FrameIndex, now: int) -> None:
    """Verify a frame that came over a link, count it, and clear its check word."""
    frame, octets = w.frames[index], w.octets[index]
    state, layout = guard.state[link], guard.layouts[layout_of(w, frame)]
    counts = guard.counts[link, frame.kind]
    counts[RECEIVED] += 1
    if has_ce_mark(frame.kind, frame.mark):
        state[MARKS] += 1
    if layout[HIGH] == NONE:
        return
    word = (get16(octets, layout[HIGH]) << 16) | get16(octets, layout[LOW])
    total = contents_hash(w, guard, link, index, frame, octets)
    write_word(layout, octets, frame.length, 0)
    if layout[IPV6] != 0:
        put_udp_checksum(octets, layout[IPV6], frame.length)
    expected = state[EXPECTED]
    number = number_of(guard, total, word, expected)
    places = guard.seen.shape[1]
    if number < 0:
        counts[CHANGED] += 1
        return
    place = number & (places - 1)
    if number < expected:
        if expected - number > places or guard.seen[link, place] == number:
            counts[REPEATED] += 1
            return
        counts[LATE] += 1
    else:
        state[EXPECTED] = number + 1
    guard.seen[link, place] = number
    due = guard.ring[link, place]
    if due[0] >> KIND_BITS == number:
        count_delay(guard, link, counts, due[1], now)


@inlined
def count_delay(guard: Guard, link: int, counts: np.ndarray, due: int, now: int) -> None:
    """Count what a frame took beyond its link's delay: from when it was due until now."""
    extra = max(now - due, 0)
    counts[TIMED] += 1
    counts[EXTRA_PS] += extra
    counts[LONGEST_PS] = max(counts[LONGEST_PS], extra)
    if extra > guard.bounds[BOUND_PS]:
        counts[DELAYED] += 1
    add(guard.delays[link], extra)
    window = guard.windows[link, min(max(due, 0) >> guard.bounds[SHIFT], WINDOWS - 1)]
    window[FRAMES] += 1
    window[WINDOW_PS] += extra
    window[WINDOW_LONGEST_PS] = max(window[WINDOW_LONGEST_PS], extra)
