"""Congestion notification packets of RoCEv2: UDP 4791, BTH opcode 0x81, BECN, 16 zeros, ICRC.

The destination queue pair holds the flow's number. The invariant CRC is that of Ethernet over eight
octets of ones in place of an InfiniBand route header, then the packet from its IP header on, with
ones in place of what routers change: TOS, TTL, both checksums, the BTH's fifth octet (RoCEv2,
annex A17; docs/settled/frames.md#congestion-notification-packet has a packet to hold it against).
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import layout as at
from orchestrator.engine.frames.addresses import UNKNOWN, index_of_ip, index_of_mac, ip_of, mac_of
from orchestrator.engine.frames.blank import blank
from orchestrator.engine.frames.data import UDP_OVER, VERSION_AND_LENGTH, checksum, put_tag
from orchestrator.engine.frames.octets import get16, get32, get48, put16, put32, put48
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import CNP, NONE

CRC_POLYNOMIAL = 0xEDB88320
ROUTE_HEADER = 8
"""Octets of ones that stand for an InfiniBand local route header."""
PAIR_BITS = 24
TTL_AND_UDP = (at.IP_TTL << 8) | at.IP_PROTOCOL_UDP


@compiled
def crc_octet(crc, octet):  # type: ignore[no-untyped-def]
    """The CRC-32 of Ethernet, reflected, one octet further; not complemented."""
    crc ^= octet
    for _ in range(8):
        crc = (crc >> 1) ^ (CRC_POLYNOMIAL if crc & 1 else 0)
    return crc


@compiled
def icrc(octets, ip, end):  # type: ignore[no-untyped-def]
    """The ICRC over an IPv4 packet without options from `ip` to before `end`, UDP and BTH in it."""
    crc = 0xFFFFFFFF
    for _ in range(ROUTE_HEADER):
        crc = crc_octet(crc, 0xFF)
    for place in range(ip, end):
        offset = place - ip
        # TOS, TTL, checksums of IP and UDP, reserved octet of the BTH
        changes = offset in (1, 8, 10, 11, 26, 27, 32)
        crc = crc_octet(crc, np.int64(0xFF) if changes else np.int64(octets[place]))
    return crc ^ 0xFFFFFFFF


@compiled
def encode_cnp(frame, octets):  # type: ignore[no-untyped-def]
    """Write a CNP. Returns its octets; 0 when the frame is too short for it."""
    if frame.length < at.CNP_LENGTH:
        return 0
    packet = at.CNP_LENGTH - at.IP
    put48(octets, 0, mac_of(frame.destination))
    put48(octets, at.SOURCE_MAC, mac_of(frame.source))
    put_tag(octets, frame.priority)
    put16(octets, at.TYPE, at.IPV4_TYPE)
    put16(octets, at.IP, VERSION_AND_LENGTH | at.ROCE_TOS)
    put16(octets, at.IP + 2, packet)
    put16(octets, at.IP + 4, 0)
    put16(octets, at.IP + 6, at.IP_DONT_FRAGMENT)
    put16(octets, at.IP + 8, TTL_AND_UDP - (frame.hops << 8))
    put16(octets, at.IP + 10, 0)
    put32(octets, at.IP + 12, ip_of(frame.source))
    put32(octets, at.IP + 16, ip_of(frame.destination))
    put16(octets, at.IP + 10, checksum(octets, at.IP))
    put16(octets, at.UDP, at.SOURCE_PORT_BASE + (frame.flow & at.SOURCE_PORT_MASK))
    put16(octets, at.UDP + 2, at.ROCE_PORT)
    put16(octets, at.UDP + 4, packet - UDP_OVER)
    put16(octets, at.UDP + 6, 0)
    put16(octets, at.BTH, at.CNP_OPCODE << 8)
    put16(octets, at.BTH + 2, at.BTH_PKEY)
    put32(octets, at.BTH + 4, (at.BTH_BECN << PAIR_BITS) | (frame.flow & 0xFFFFFF))
    put32(octets, at.BTH + 8, 0)
    octets[at.BTH + 12 : at.CNP_ICRC] = 0
    crc = icrc(octets, at.IP, at.CNP_ICRC)
    for place in range(4):  # little-endian
        octets[at.CNP_ICRC + place] = (crc >> (8 * place)) & 0xFF
    return at.CNP_LENGTH


@compiled
def decode_cnp(octets, length, frame):  # type: ignore[no-untyped-def]
    """Fill a descriptor from a tagged IPv4 frame. False when it is not a CNP between our nodes, or
    its ICRC is wrong."""
    macs = (index_of_mac(get48(octets, at.SOURCE_MAC)), index_of_mac(get48(octets, 0)))
    source = index_of_ip(get32(octets, at.IP + 12))
    destination = index_of_ip(get32(octets, at.IP + 16))
    if UNKNOWN in macs or UNKNOWN in (source, destination):
        return False
    if get16(octets, at.IP) & 0xFF00 != VERSION_AND_LENGTH or checksum(octets, at.IP) != 0:
        return False
    if get16(octets, at.IP + 2) != at.CNP_LENGTH - at.IP:
        return False
    if get16(octets, at.IP + 8) & 0xFF != at.IP_PROTOCOL_UDP:
        return False
    if get16(octets, at.UDP + 2) != at.ROCE_PORT or get16(octets, at.BTH) >> 8 != at.CNP_OPCODE:
        return False
    crc = icrc(octets, at.IP, at.CNP_ICRC)
    for place in range(4):
        if octets[at.CNP_ICRC + place] != (crc >> (8 * place)) & 0xFF:
            return False
    pair = get32(octets, at.BTH + 4) & 0xFFFFFF
    flow = NONE if pair == 0xFFFFFF else pair
    blank(frame, CNP, length, get16(octets, at.VLAN + 2) >> 13, flow, source, destination)
    frame.hops = at.IP_TTL - (get16(octets, at.IP + 8) >> 8)
    return True
