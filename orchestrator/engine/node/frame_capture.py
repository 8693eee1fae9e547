"""Frame capture at a port: time and first octets per frame; overflow is counted.

A capture is taken on the wire, behind the sender's delay line: an outgoing frame and the same
frame at the other end have the same time, but for what a real wire adds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.engine.frames.address_index import GROUP, UNKNOWN
from orchestrator.engine.frames.big_endian import get16, put16
from orchestrator.engine.frames.frame_field import AT, ICRC, LAST_ICRC, OP
from orchestrator.engine.frames.ipv4_header import address_hop
from orchestrator.engine.frames.ipv4_header import udp_checksum as udp_checksum_of_ipv4
from orchestrator.engine.frames.ipv6_header import UDP_CHECKSUM, put_udp_checksum, udp_checksum
from orchestrator.engine.frames.roce_frame_types import encode_frame, layout_of
from orchestrator.engine.frames.roce_icrc import ICRC_OCTETS
from orchestrator.engine.index_types import FrameIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.telemetry_stamping import encode_stamps
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import ALTERED, NONE, WRONG_ICRC, WRONG_IPV4, WRONG_UDP, Frame

IPV4_CHECKSUM_AT, IPV4_UDP_CHECKSUM_AT = 10, 26
"""Octets of an IPv4 packet over UDP."""


@compiled
def store_frame(w: World, slot: int, frame: Frame, now: int, outgoing: int, octets: Any) -> None:
    """Store one frame in a capture slot: `octets` are its first ones, zeros follow."""
    position = w.capture_count[slot, 0]
    if position == w.capture_times.shape[1]:
        w.capture_count[slot, 1] += 1
        return
    w.capture_count[slot, 0] = position + 1
    w.capture_times[slot, position] = now
    w.capture_lengths[slot, position] = ~frame.length if outgoing else frame.length
    snap = min(w.capture_octets.shape[2], frame.length, octets.size)
    for place in range(snap):
        w.capture_octets[slot, position, place] = octets[place]


@compiled
def write_hop_addresses(w: World, port_index: PortIndex, frame: Frame, octets: np.ndarray) -> None:
    """Write the MAC addresses that an IP frame has on the way from a port to or from a router."""
    port = w.ports[port_index]
    if port.next_hop != NONE and w.types[frame.kind].is_ip != 0 and frame.destination & GROUP == 0:
        routed = w.nodes[port.node].routed != 0
        address_hop(octets, port.address if routed else UNKNOWN, port.next_hop)


@compiled
def corrupt_last_octet(octets: Any, known: int, length: int) -> None:
    """Invert the last octet of a frame of which `known` octets are written; zeros lie between."""
    if length <= octets.size:
        for place in range(known, length):
            octets[place] = 0
        octets[length - 1] ^= 0xFF


@compiled
def check_octet(w: World, frame: Frame, check: int) -> int:
    """The first octet of the check of a frame that WRONG_IPV4, WRONG_UDP or WRONG_ICRC means; NONE
    where frames of its type have none."""
    t = w.types[layout_of(w, frame)]
    if check == WRONG_ICRC:
        for k in range(t.fields_used):
            if t.fields[k, OP] == ICRC:
                return t.fields[k, AT]
            if t.fields[k, OP] == LAST_ICRC:
                return frame.length - ICRC_OCTETS
        return NONE
    if t.ip == 0 or (check == WRONG_IPV4 and t.ip_version != 4):
        return NONE
    if check == WRONG_IPV4:
        return t.ip + IPV4_CHECKSUM_AT
    return t.ip + (UDP_CHECKSUM if t.ip_version == 6 else IPV4_UDP_CHECKSUM_AT)


@compiled
def corrupt_check(w: World, frame: Frame, octets: Any, known: int) -> int:
    """Write a wrong check into a frame of which `known` octets are written, and zeros follow: one
    bit differs from the right one. Returns the two octets that were there, as a number."""
    place = check_octet(w, frame, frame.port)
    if place == NONE or place + 2 > octets.size:
        return 0
    before = get16(octets, place)
    wrong = before ^ 1
    if frame.port == WRONG_UDP:
        t = w.types[layout_of(w, frame)]
        if t.ip_version == 6:
            wrong = udp_checksum(octets, t.ip, known) ^ 1
        else:
            wrong = udp_checksum_of_ipv4(octets, t.ip, known) ^ 1
        if wrong == 0:  # which says that there is no checksum
            wrong = 2
    put_check(w, frame, octets, known, wrong)
    return before


@compiled
def put_check(w: World, frame: Frame, octets: Any, known: int, word: int) -> None:
    """Write two octets of the check that a corrupted frame's `port` means. A UDP checksum over IPv6
    covers the ICRC, and follows it."""
    place = check_octet(w, frame, frame.port)
    if place == NONE or place + 2 > octets.size:
        return
    put16(octets, place, word)
    t = w.types[layout_of(w, frame)]
    if frame.port == WRONG_ICRC and t.ip_version == 6:
        put_udp_checksum(octets, t.ip, known)


@compiled
def store_corrupted(
    w: World, slot: int, frame: Frame, now: int, octets: np.ndarray, known: int
) -> None:
    """Store an outgoing frame with the corrupted octets that its link gives it, of which `known`
    are written and zeros follow. The octets are as before afterwards."""
    if frame.port == ALTERED:
        corrupt_last_octet(octets, known, frame.length)
        store_frame(w, slot, frame, now, True, octets)
        corrupt_last_octet(octets, frame.length, frame.length)
        return
    before = corrupt_check(w, frame, octets, known)
    store_frame(w, slot, frame, now, True, octets)
    put_check(w, frame, octets, known, before)


@inlined
def capture(w: World, port_index: PortIndex, index: FrameIndex, now: int, outgoing: int) -> None:
    """Capture a frame if the plan captures its port; else not even a call is made."""
    if w.captured[port_index] != NONE:
        store_encoded(w, port_index, index, now, outgoing)


@compiled
def store_encoded(
    w: World, port_index: PortIndex, index: FrameIndex, now: int, outgoing: int
) -> None:
    """Keep a frame of a captured port whose octets have to be written from its descriptor first."""
    slot = w.captured[port_index]
    if w.capture_count[slot, 0] == w.capture_times.shape[1]:
        w.capture_count[slot, 1] += 1
        return
    frame = w.frames[index]
    octets = w.octets[0]
    sender = port_index if outgoing else w.ports[port_index].peer
    written = encode_stamps(w, index, octets, encode_frame(w, frame, octets))
    write_hop_addresses(w, sender, frame, octets)
    octets[written : w.capture_octets.shape[2]] = 0
    if frame.port == ALTERED:
        corrupt_last_octet(octets, written, frame.length)
    elif frame.port <= WRONG_IPV4:
        corrupt_check(w, frame, octets, written)
    store_frame(w, slot, frame, now, outgoing, octets)
