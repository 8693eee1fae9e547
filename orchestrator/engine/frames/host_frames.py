"""Frames of programs: a VLAN tag and emulated addresses in front of any IPv4 packet.

The source's MAC tells the flow, as of every data frame; behind a router, where the MACs are those
of a hop, the two IPv4 addresses do. Short frames are padded to the length of the shortest data
frame.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames.address_index import UNKNOWN, index_of_ip, index_of_mac, mac_of
from orchestrator.engine.frames.big_endian import get16, get32, get48, put16, put48
from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.frames.ipv4_header import put_word
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import HOST, Frame

SHORTEST = at.DATA_HEADER


@compiled
def destination_of(octets: np.ndarray, length: int) -> int:
    """The address index that a program's IPv4 packet goes to; UNKNOWN for any other frame.

    `octets` has the packet where it lies in a tagged frame; `length` is without the tag.
    """
    if length < at.IP - at.TAG_OCTETS + 20 or get16(octets, at.TYPE) != at.IPV4_TYPE:
        return UNKNOWN
    address = get32(octets, at.IP + 16)
    return index_of_ip(address)


@compiled
def address_host(
    octets: np.ndarray, source: int, destination: int, priority: int, length: int
) -> int:
    """Write addresses and tag of a frame of `length` octets, tag included; returns its length."""
    put48(octets, 0, mac_of(destination))
    put48(octets, at.SOURCE_MAC, mac_of(source))
    put16(octets, at.VLAN, at.VLAN_TYPE)
    put16(octets, at.VLAN + 2, ((priority & 7) << 13) | at.VLAN_ID)
    for place in range(length, SHORTEST):
        octets[place] = 0
    return max(length, SHORTEST)


@compiled
def decode_host(octets: np.ndarray, length: int, frame: Frame) -> bool:
    """Fill a descriptor from a tagged IPv4 frame between emulated addresses; False: it is none."""
    source = index_of_mac(get48(octets, at.SOURCE_MAC))
    destination = index_of_ip(get32(octets, at.IP + 16))
    if length < SHORTEST or source == UNKNOWN or destination == UNKNOWN:
        return False
    if get16(octets, at.VLAN) != at.VLAN_TYPE or get16(octets, at.TYPE) != at.IPV4_TYPE:
        return False
    reset_descriptor(
        frame,
        HOST,
        length,
        get16(octets, at.VLAN + 2) >> 13,
        source,  # type: ignore[arg-type]  # a flow's source address is its number
        source,
        destination,
    )
    frame.mark = get16(octets, at.IP) & 0xFF
    return True


@compiled
def source_of(octets: np.ndarray) -> int:
    """The address index that a program's packet comes from, by its IPv4 address; UNKNOWN."""
    return index_of_ip(get32(octets, at.IP + 12))


@compiled
def rewrite_host(octets: np.ndarray, mark: int, hops: int) -> None:
    """Give a program's packet the TOS of its descriptor, and take `hops` from its TTL."""
    put_word(octets, at.IP, (get16(octets, at.IP) & 0xFF00) | (mark & 0xFF))
    put_word(octets, at.IP + 8, get16(octets, at.IP + 8) - (hops << 8))
