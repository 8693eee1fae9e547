"""IPv4 header of a frame: checksum and per-hop rewrite."""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames.address_index import UNKNOWN, mac_of
from orchestrator.engine.frames.big_endian import get16, put16, put48
from orchestrator.engine.jit import compiled, inlined


@compiled
def checksum(octets: np.ndarray, ip: int) -> int:
    """The IPv4 header checksum (RFC 791) over the ten words at `ip`."""
    total = 0
    for word in range(10):
        total += get16(octets, ip + 2 * word)
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@compiled
def upper_layer_checksum(
    octets: np.ndarray, addresses: int, end: int, length: int, protocol: int, skipped: int
) -> int:
    """The one's complement checksum (RFC 1071) of the octets from behind an IP header without
    options to before `end`, with the pseudo-header (RFC 768; RFC 8200, 8.1) of `length`, `protocol`
    and the addresses, which begin at `addresses` and end the header. The word at `skipped` counts
    as 0; NONE: each word counts, so the sum over a right checksum is 0.
    """
    total = length + protocol
    for place in range(addresses, end - 1, 2):
        if place != skipped:
            total += get16(octets, place)
    if (end - addresses) & 1 != 0:
        total += octets[end - 1] << 8
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@compiled
def udp_checksum(octets: np.ndarray, ip: int, end: int) -> int:
    """The UDP checksum of the packet without options that begins at `ip` (RFC 768): over
    pseudo-header and datagram, of which zeros follow octet `end`. 0 is sent as 0xFFFF; the octets
    of the checksum itself count as 0.
    """
    udp = ip + 20
    length = get16(octets, udp + 4)
    last = min(end, udp + length)
    total = upper_layer_checksum(octets, ip + 12, last, length, at.IP_PROTOCOL_UDP, udp + 6)
    return total if total != 0 else 0xFFFF


@compiled
def rewrite(octets: np.ndarray, mark: int, hops: int) -> None:
    """Give a data frame's octets the TOS and the TTL that its descriptor says."""
    put_word(octets, at.IP, (get16(octets, at.IP) & 0xFF00) | (mark & 0xFF))
    protocol = get16(octets, at.IP + 8) & 0xFF
    put_word(octets, at.IP + 8, ((at.IP_TTL - hops) << 8) | protocol)


@compiled
def put_word(octets: np.ndarray, place: int, new: int) -> None:
    """Write a word of the frame's IP header where it differs; the checksum follows."""
    replace_word(octets, place, new, at.IP)


@inlined
def replace_word(octets: np.ndarray, place: int, new: int, header: int) -> None:
    """Write a word of the IP header that begins at `header` where it differs; the checksum follows
    (RFC 1624)."""
    old = get16(octets, place)
    if new == old:
        return
    put16(octets, place, new)
    total = (get16(octets, header + 10) ^ 0xFFFF) + (old ^ 0xFFFF) + new
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    put16(octets, header + 10, total ^ 0xFFFF)


@compiled
def address_hop(octets: np.ndarray, source: int, destination: int) -> None:
    """Write the MAC addresses of one hop: that of the address index `source`, unless it is UNKNOWN,
    and `destination`."""
    put48(octets, 0, destination)
    if source != UNKNOWN:
        put48(octets, at.SOURCE_MAC, mac_of(source))
