"""IPv6 header of a frame (RFC 8200): UDP checksum behind it, per-hop rewrite of either IP version.

Addresses are `PREFIX` and the IPv4 address of the same index, so a capture can be read without a
table: index 7 is fd74:6261:636b::a00:7.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames.address_index import UNKNOWN, index_of_ip, ip_of
from orchestrator.engine.frames.big_endian import get16, get32, get64, put16, put64
from orchestrator.engine.frames.frame_type import TypeRow
from orchestrator.engine.frames.ipv4_header import replace_word, upper_layer_checksum
from orchestrator.engine.jit import compiled

PREFIX = "fd746261636b000000000000"
"""First 12 octets (hexadecimal) of an address: a locally assigned one (RFC 4193), "tback"."""
PREFIX_HIGH = int.from_bytes(bytes.fromhex(PREFIX)[:8], "big", signed=True)
"""Its first 8 octets; zeros follow."""
HEADER = 40
"""Octets of the header."""
PAYLOAD_LENGTH, NEXT_HEADER, HOP_LIMIT, SOURCE, DESTINATION = 4, 6, 7, 8, 24
"""Octets of its fields, from its beginning."""
UDP_CHECKSUM = HEADER + 6


@compiled
def udp_checksum(octets: np.ndarray, ip: int, end: int) -> int:
    """The UDP checksum of the packet that begins at `ip` (RFC 768): over pseudo-header and
    datagram, of which zeros follow octet `end`. 0 is sent as 0xFFFF.
    """
    udp = ip + HEADER
    length = get16(octets, udp + 4)
    last = min(end, udp + length)
    addresses, skipped = ip + SOURCE, ip + UDP_CHECKSUM
    total = upper_layer_checksum(octets, addresses, last, length, at.IP_PROTOCOL_UDP, skipped)
    return total if total != 0 else 0xFFFF


@compiled
def put_udp_checksum(octets: np.ndarray, ip: int, end: int) -> None:
    """Write the UDP checksum of the IPv6 packet that begins at `ip`; zeros follow octet `end`."""
    put16(octets, ip + UDP_CHECKSUM, udp_checksum(octets, ip, end))


@compiled
def rewrite_header(t: TypeRow, octets: np.ndarray, mark: int, hops: int) -> None:
    """Give the octets of a frame of type `t` the TOS or traffic class, and the TTL or hop limit,
    that its descriptor says. No UDP checksum covers either."""
    ip = t.ip
    if t.ip_version == 6:
        put16(octets, ip, (get16(octets, ip) & 0xF00F) | (mark & 0xFF) << 4)
        octets[ip + HOP_LIMIT] = at.IP_TTL - hops
        return
    replace_word(octets, ip, (get16(octets, ip) & 0xFF00) | (mark & 0xFF), ip)
    protocol = get16(octets, ip + 8) & 0xFF
    replace_word(octets, ip + 8, ((at.IP_TTL - hops) << 8) | protocol, ip)


@compiled
def copy_address(octets: np.ndarray, place: int, source: int) -> None:
    """Copy the IPv6 address at `source` to `place`."""
    put64(octets, place, get64(octets, source))
    put64(octets, place + 8, get64(octets, source + 8))


@compiled
def index_of_ipv6(octets: np.ndarray, place: int) -> int:
    """The address index of the IPv6 address at `place`; UNKNOWN when it is not an emulated one."""
    if get64(octets, place) != PREFIX_HIGH or get32(octets, place + 8) != 0:
        return UNKNOWN
    return index_of_ip(get32(octets, place + 12))


def ipv6_text(index: int) -> str:
    """The IPv6 address of an address index as text: `fd74:6261:636b::a00:7`."""
    address = int(ip_of(index))
    return f"fd74:6261:636b::{address >> 16:x}:{address & 0xFFFF:x}"
