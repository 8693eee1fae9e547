"""Compiled scanners of pcap records and pcapng blocks: one row per frame.

All of it is in one file because compiled code is cached per file (see `orchestrator.engine.jit`).

A scan takes `buffer` uint8[size] of which the octets from `state[POSITION]` to `end` are not yet
scanned, fills rows from `state[COUNT]` on, and answers why it stopped; `state[DETAIL]` and
`state[VALUE]` say more where the answer's comment says so. Position is then where to go on.
"""

from __future__ import annotations

from orchestrator.engine.frames.unaligned import big16, big32, little16, little32
from orchestrator.engine.jit import compiled, inlined
from traces.capture.frame_batch import NO_TIME

POSITION, COUNT, DETAIL, VALUE, ANSWER = range(5)

MORE = 0
"""The record at the position is not wholly in the buffer. DETAIL: its octets, as far as known."""
FULL = 1
"""All rows are used."""
HEADER = 2
"""A section, interface or statistics block is at the position. DETAIL: its octets."""
BAD_LENGTH = 3
"""A block cannot be that long. DETAIL: its type, VALUE: its length."""
BAD_TRAILER = 4
"""A block's two lengths differ. VALUE: the first."""
BAD_CAPLEN = 5
"""A frame's captured octets do not fit. VALUE: their stated number."""
BAD_INTERFACE = 6
"""An interface that was not described. VALUE: its number."""
BAD_OPTION = 7
"""An option runs over the end of its block."""

MAX_CAPLEN = 262_144
"""Octets of a frame at most, as in libpcap and Wireshark: more is damage."""
MOST_BLOCK = 1 << 24
"""Octets of a pcapng block at most, likewise."""
PCAP_RECORD = 16
SECTION, INTERFACE, OBSOLETE, SIMPLE, STATISTICS, ENHANCED = 0x0A0D0D0A, 1, 2, 3, 5, 6
FLAGS, DROP_COUNT = 2, 4
"""Options of enhanced packet blocks: epb_flags and epb_dropcount."""
LOST, UNTIMED, SAYS_LOST = range(3)
"""Columns of `tallies`: frames that the capture lost before its frames, frames whose time is
beyond int64 nanoseconds, blocks that state the first."""
TALLIES = 3
MOST_LOST = 1 << 61
"""Lost frames of an interface at most, so that sums fit an int64."""
TOO_LATE = NO_TIME + 1


@inlined
def half(octets, at, swapped):
    """16 bits: little-endian, or big-endian when `swapped`."""
    return big16(octets, at) if swapped else little16(octets, at)


@inlined
def word(octets, at, swapped):
    """32 bits: little-endian, or big-endian when `swapped`."""
    return big32(octets, at) if swapped else little32(octets, at)


@inlined
def nanoseconds(high, low, clocks, row):
    """A 64-bit count of a clock in ns, rounded down; TOO_LATE beyond int64.

    Exact without 128-bit numbers: a binary fraction of more than 33 bits is taken in two parts,
    a decimal one finer than ns is divided word by word.
    """
    bits, factor, divisor, largest = (
        clocks[row, 0],
        clocks[row, 1],
        clocks[row, 2],
        clocks[row, 3],
    )
    if bits == 0:
        if divisor == 1:
            if high >> 31 or (high << 32) | low > largest:
                return TOO_LATE
            return ((high << 32) | low) * factor + clocks[row, 4]
        count = ((high // divisor) << 32) + (((high % divisor) << 32) | low) // divisor
        if count > largest:
            return TOO_LATE
        return count + clocks[row, 4]
    if bits >= 32:
        seconds = high >> (bits - 32)
        fraction = ((high & ((1 << (bits - 32)) - 1)) << 32) | low
    else:
        seconds = (high << (32 - bits)) | (low >> bits)
        fraction = low & ((1 << bits) - 1)
    if seconds > largest:
        return TOO_LATE
    if bits <= 33:
        return seconds * factor + ((fraction * factor) >> bits) + clocks[row, 4]
    fine = bits - 33
    part = ((fraction & ((1 << fine) - 1)) * factor) >> fine
    return seconds * factor + (((fraction >> fine) * factor + part) >> 33) + clocks[row, 4]


@inlined
def pcap_time(buffer, at, swapped, unit):
    """The time of the record at `at` in ns; `unit` ns per unit of the second time word."""
    return word(buffer, at, swapped) * 1_000_000_000 + word(buffer, at + 4, swapped) * unit


@compiled
def scan_pcap(buffer, state, end, swapped, unit, rows, offsets, kept, lengths, times):
    """Records of a pcap file, up to row `rows`; `unit` as of `pcap_time` (1 or 1000)."""
    at, count = state[POSITION], state[COUNT]
    answer = MORE
    state[DETAIL] = PCAP_RECORD
    while at + PCAP_RECORD <= end:
        if count == rows:
            answer = FULL
            break
        size = word(buffer, at + 8, swapped)
        if size > MAX_CAPLEN:
            answer = BAD_CAPLEN
            state[VALUE] = size
            break
        if at + PCAP_RECORD + size > end:
            state[DETAIL] = PCAP_RECORD + size
            break
        row = count & 0x7FFFFFFF  # known not to be negative: numba would check every index
        times[row] = pcap_time(buffer, at, swapped, unit)
        offsets[row] = at + PCAP_RECORD
        kept[row] = size
        lengths[row] = word(buffer, at + 12, swapped)
        count += 1
        at += PCAP_RECORD + size
    state[POSITION], state[COUNT] = at, count
    return answer


@inlined
def flags_of(buffer, at, end, swapped, enhanced, tallies, owner):
    """The flags word among the options from `at` to `end`; 0 without one, -1 for bad options.

    A drop count among them is added to row `owner` of `tallies`; only enhanced packet blocks have
    one.
    """
    flags = 0
    while at + 4 <= end:
        code = half(buffer, at, swapped)
        if code == 0:
            break
        size = half(buffer, at + 2, swapped)
        if at + 4 + size > end:
            return -1
        if code == FLAGS and size == 4:
            flags = word(buffer, at + 4, swapped)
        elif enhanced and code == DROP_COUNT and size == 8:
            low, high = word(buffer, at + 4, swapped), word(buffer, at + 8, swapped)
            if swapped:
                low, high = high, low
            lost = min(((high & 0x7FFFFFFF) << 32) | low, MOST_LOST)
            tallies[owner, LOST] = min(tallies[owner, LOST] + lost, MOST_LOST)
            tallies[owner, SAYS_LOST] += 1
        at += 4 + ((size + 3) & ~3)
    return flags


@compiled
def scan_pcapng(
    buffer,
    state,
    end,
    swapped,
    first,
    clocks,
    snaplens,
    described,
    offsets,
    kept,
    lengths,
    times,
    owners,
    flags_words,
    tallies,
):
    """Packet blocks of a pcapng section whose first interface is `first` of `described` ones.

    `clocks` int64[>= described, CLOCK_COLUMNS], `snaplens` int64[>= described], `tallies`
    int64[>= described, TALLIES]; `flags_words` int64[rows] gets the word of epb_flags. A frame
    whose time int64 nanoseconds cannot hold has NO_TIME. Blocks that are neither packets nor
    headers are skipped.
    """
    at, count = state[POSITION], state[COUNT]
    rows = offsets.size
    answer = MORE
    state[DETAIL] = 12
    while at + 12 <= end:
        kind = word(buffer, at, swapped)
        if kind == SECTION:
            answer = HEADER  # its byte order is not known yet, nor its length
            break
        size = word(buffer, at + 4, swapped)
        least = 12
        if kind in (ENHANCED, OBSOLETE):
            least = 32
        elif kind == SIMPLE:
            least = 16
        elif kind == INTERFACE:
            least = 20
        elif kind == STATISTICS:
            least = 24
        if size & 3 or size < least or size > MOST_BLOCK:
            answer = BAD_LENGTH
            state[DETAIL], state[VALUE] = kind, size
            break
        if at + size > end:
            state[DETAIL] = size
            break
        stop = at + size - 4
        if word(buffer, stop, swapped) != size:
            answer = BAD_TRAILER
            state[VALUE] = size
            break
        if kind in (INTERFACE, STATISTICS):
            state[DETAIL] = size
            answer = HEADER
            break
        if kind in (ENHANCED, OBSOLETE):
            if count == rows:
                answer = FULL
                break
            if kind == ENHANCED:
                number = word(buffer, at + 8, swapped)
            else:
                number = half(buffer, at + 8, swapped)
            owner = first + number
            if owner >= described:
                answer = BAD_INTERFACE
                state[VALUE] = number
                break
            held = word(buffer, at + 20, swapped)
            if held > MAX_CAPLEN or at + 28 + held > stop:
                answer = BAD_CAPLEN
                state[VALUE] = held
                break
            time = nanoseconds(
                word(buffer, at + 12, swapped), word(buffer, at + 16, swapped), clocks, owner
            )
            if time == TOO_LATE:
                time = NO_TIME
                tallies[owner, UNTIMED] += 1
            options = at + 28 + ((held + 3) & ~3)
            flags = flags_of(buffer, options, stop, swapped, kind == ENHANCED, tallies, owner)
            if flags < 0:
                answer = BAD_OPTION
                break
            row = count & 0x7FFFFFFF  # known not to be negative: numba would check every index
            times[row], owners[row] = time, owner
            offsets[row], kept[row] = at + 28, held
            lengths[row] = word(buffer, at + 24, swapped)
            flags_words[row] = flags
            count += 1
        elif kind == SIMPLE:
            if count == rows:
                answer = FULL
                break
            if first >= described:
                answer = BAD_INTERFACE
                state[VALUE] = 0
                break
            length = word(buffer, at + 8, swapped)
            held = length
            if snaplens[first] > 0:
                held = min(held, snaplens[first])
            if held > MAX_CAPLEN or at + 12 + held > stop:
                answer = BAD_CAPLEN
                state[VALUE] = held
                break
            times[count], owners[count] = NO_TIME, first
            offsets[count], kept[count] = at + 12, held
            lengths[count], flags_words[count] = length, 0
            count += 1
        at += size
    state[POSITION], state[COUNT] = at, count
    return answer
