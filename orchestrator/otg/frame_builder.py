"""Octets of a flow's next frame: template, fields that differ, stamp, lengths, checksums."""

from __future__ import annotations

from orchestrator.engine.datapath.libc import memcpy, memset
from orchestrator.engine.jit import compiled
from orchestrator.otg.frame_template import BAD, LEFT
from orchestrator.otg.generator_state import EPOCH, MAGIC, TIME_BITS
from orchestrator.otg.otg_flow import INCREMENT, RANDOM, STAMP_OCTETS

UDP_OVER_IP = 17


@compiled
def next_size(flow):
    """Length of the flow's next frame (octets without FCS)."""
    span = flow["size_high"] - flow["size_low"] + 1
    if flow["size_kind"] == INCREMENT:
        steps = (span - 1) // flow["size_step"] + 1
        return flow["size_low"] + flow["begun"] % steps * flow["size_step"]
    if flow["size_kind"] == RANDOM:
        flow["draw"] = (flow["draw"] * 1103515245 + 12345) & 0x7FFFFFFF
        return flow["size_low"] + (flow["draw"] >> 8) % span
    return flow["size_low"]


@compiled
def put(row, at, octets, value):
    """Write a number of so many octets, the most significant first."""
    for place in range(octets):
        row[at + place] = (value >> (8 * (octets - 1 - place))) & 0xFF


@compiled
def read(row, at, octets):
    """Read a number of so many octets, the most significant first."""
    value = 0
    for place in range(octets):
        value = (value << 8) | row[at + place]
    return value


@compiled
def put_bits(row, bit, bits, value):
    """Write a number of up to 32 bits from a bit position on."""
    for place in range(bits):
        at = bit + place
        shift = 7 - (at & 7)
        one = (value >> (bits - 1 - place)) & 1
        row[at >> 3] = (row[at >> 3] & ~(1 << shift) & 0xFF) | (one << shift)


@compiled
def sum_words(row, first, last, total):
    """Add the 16-bit words from `first` to before `last` (RFC 1071); an odd octet ends with 0."""
    for at in range(first, last, 2):
        total += row[at] << 8
        if at + 1 < last:
            total += row[at + 1]
    return total


@compiled
def checksum_of(total):
    """One's complement of a one's complement sum (RFC 1071)."""
    while total >> 16 != 0:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@compiled
def put_stamp(row, at, epoch, flow, sequence, time_ns):
    """Write a stamp: see MAGIC."""
    put(row, at, 4, (MAGIC << 8) | epoch)
    put(row, at + 4, 2, flow)
    put(row, at + 6, 4, sequence & 0xFFFFFFFF)
    put(row, at + 10, 6, time_ns & ((1 << TIME_BITS) - 1))


@compiled
def stamp_of(row, at):
    """Read the time of a stamp (ns modulo 2^48)."""
    return read(row, at + 10, 6)


@compiled
def count_latency(flow, sent_ns, now_ns):
    """Count the latency of a frame, from its stamp to its arrival (ns modulo 2^48)."""
    late = (now_ns - sent_ns) & ((1 << TIME_BITS) - 1)
    if late >> (TIME_BITS - 1) != 0:  # the clock was set back
        late = 0
    if flow["latency_count"] == 0 or late < flow["latency_min_ns"]:
        flow["latency_min_ns"] = late
    flow["latency_max_ns"] = max(flow["latency_max_ns"], late)
    flow["latency_sum_ns"] += late
    flow["latency_count"] += 1


@compiled
def put_ipv4(flow, row, length):
    """Write total length and checksum of the IPv4 header (RFC 791)."""
    at = flow["ipv4_at"]
    if flow["total_length"] != 0:
        put(row, at + 2, 2, length - at)
    if flow["ipv4_checksum"] != LEFT:
        put(row, at + 10, 2, 0)
        value = checksum_of(sum_words(row, at, at + 20, 0))
        put(row, at + 10, 2, value ^ 0x0101 if flow["ipv4_checksum"] == BAD else value)


@compiled
def put_udp(flow, row, length):
    """Write length and checksum of the UDP header (RFC 768; over IPv6 RFC 8200, section 8.1).

    The payload is zeros and a stamp at its end, on an odd octet where the length is odd.
    """
    at = flow["udp_at"]
    if flow["udp_length"] != 0:
        put(row, at + 4, 2, length - at)
    if flow["udp_checksum"] == LEFT:
        return
    put(row, at + 6, 2, 0)
    total = UDP_OVER_IP + length - at
    if flow["ipv4_at"] >= 0:
        total = sum_words(row, flow["ipv4_at"] + 12, flow["ipv4_at"] + 20, total)
    else:
        total = sum_words(row, flow["ipv6_at"] + 8, flow["ipv6_at"] + 40, total)
    total = sum_words(row, at, flow["first"], total)
    if flow["stamped"] != 0:
        begins = length - STAMP_OCTETS
        total = sum_words(row, begins - ((begins - at) & 1), length, total)
    value = checksum_of(total)
    if flow["udp_checksum"] == BAD:
        value ^= 0x0101
    put(row, at + 6, 2, 0xFFFF if value == 0 else value)


@compiled
def build_frame(state, number, row, length, time_ns):
    """Write the next frame of flow `number`; returns the octets that are not zero for sure."""
    flow = state.flows[number]
    first = flow["first"]
    memcpy(row.ctypes.data, state.templates[number].ctypes.data, first)
    for entry in range(state.modifiers.shape[0]):
        if state.modifiers[entry, 0] == number:
            place = state.modifiers[entry, 3] + flow["begun"] % state.modifiers[entry, 4]
            put_bits(row, state.modifiers[entry, 1], state.modifiers[entry, 2], state.values[place])
    written = first
    if flow["stamped"] != 0:
        written = length
        at = length - STAMP_OCTETS
        memset(row.ctypes.data + first, 0, at - first)
        put_stamp(row, at, state.control[EPOCH], number, flow["begun"], time_ns)
    if flow["ipv6_at"] >= 0 and flow["payload_length"] != 0:
        put(row, flow["ipv6_at"] + 4, 2, length - flow["ipv6_at"] - 40)
    if flow["ipv4_at"] >= 0:
        put_ipv4(flow, row, length)
    if flow["udp_at"] >= 0:
        put_udp(flow, row, length)
    return written
