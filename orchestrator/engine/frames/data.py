"""Data frames: Ethernet, VLAN tag, IPv4, UDP, payload header, zeros up to the frame's length.

A data frame that was returned to its source (P4QCN's feedback packet) has the same octets, but for
its ends, which are exchanged, and its TOS. No source sends to its own flow's address, and a flow's
address index is its number: so the two can be told apart.
"""

from __future__ import annotations

from orchestrator.engine.frames import layout as at
from orchestrator.engine.frames.addresses import UNKNOWN, index_of_ip, index_of_mac, ip_of, mac_of
from orchestrator.engine.frames.blank import blank
from orchestrator.engine.frames.octets import (
    get16,
    get32,
    get48,
    get64,
    put16,
    put32,
    put48,
    put64,
    signed32,
)
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import CE, DATA, RETURNED

VERSION_AND_LENGTH = 0x4500  # IPv4, five words of header; the low octet is TOS
TTL_AND_PROTOCOL = (at.IP_TTL << 8) | at.IP_PROTOCOL_UDP
UDP_OVER = at.UDP - at.IP  # octets of the IP packet before UDP


@compiled
def put_msdu(octets, start, length, source, destination, flow, sequence, created, tos, hops):  # type: ignore[no-untyped-def]
    """Write the MSDU's known octets (EtherType to payload header) of a data frame at `start`.

    `length` is the whole frame's, tag included. Offsets of the layout are relative to a frame
    whose MSDU starts at `layout.MSDU`.
    """
    shift = start - at.MSDU
    packet = length - at.IP
    ip = at.IP + shift
    source_ip, destination_ip = ip_of(source), ip_of(destination)
    put16(octets, at.TYPE + shift, at.IPV4_TYPE)
    put16(octets, ip, VERSION_AND_LENGTH | (tos & 0xFF))
    put16(octets, ip + 2, packet)
    put16(octets, ip + 4, 0)  # identification: never fragmented, RFC 6864 lets it be constant
    put16(octets, ip + 6, at.IP_DONT_FRAGMENT)
    put16(octets, ip + 8, TTL_AND_PROTOCOL - (hops << 8))
    put16(octets, ip + 10, 0)
    put32(octets, ip + 12, source_ip)
    put32(octets, ip + 16, destination_ip)
    put16(octets, ip + 10, checksum(octets, ip))
    udp = at.UDP + shift
    put16(octets, udp, at.SOURCE_PORT_BASE + (flow & at.SOURCE_PORT_MASK))
    put16(octets, udp + 2, at.UDP_PORT)
    put16(octets, udp + 4, packet - UDP_OVER)
    put16(octets, udp + 6, 0)  # no UDP checksum
    put32(octets, at.MAGIC + shift, at.MAGIC_WORD)
    put32(octets, at.FLOW + shift, flow)
    put64(octets, at.SEQUENCE + shift, sequence)
    put64(octets, at.CREATED + shift, created)


@compiled
def checksum(octets, ip):  # type: ignore[no-untyped-def]
    """The IPv4 header checksum (RFC 791) over the ten words at `ip`."""
    total = 0
    for word in range(10):
        total += get16(octets, ip + 2 * word)
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@compiled
def put_tag(octets, priority):  # type: ignore[no-untyped-def]
    """Write the VLAN tag: priority code point, our VLAN."""
    put16(octets, at.VLAN, at.VLAN_TYPE)
    put16(octets, at.VLAN + 2, ((priority & 7) << 13) | at.VLAN_ID)


@compiled
def encode_data(frame, octets):  # type: ignore[no-untyped-def]
    """Write a data frame's header. Returns its octets; 0 when the frame is too short for it."""
    length = frame.length
    if length < at.DATA_HEADER:
        return 0
    put48(octets, 0, mac_of(frame.destination))
    put48(octets, at.SOURCE_MAC, mac_of(frame.source))
    put_tag(octets, frame.priority)
    put_msdu(
        octets,
        at.MSDU,
        length,
        frame.source,
        frame.destination,
        frame.flow,
        frame.sequence,
        frame.created,
        frame.mark,
        frame.hops,
    )
    return at.DATA_HEADER


@compiled
def is_ours(octets, start):  # type: ignore[no-untyped-def]
    """Whether the MSDU at `start` (54 octets at least) is that of a data frame of ours."""
    shift = start - at.MSDU
    ip = at.IP + shift
    return (
        get16(octets, at.TYPE + shift) == at.IPV4_TYPE
        and get16(octets, ip) & 0xFF00 == VERSION_AND_LENGTH
        and get16(octets, ip + 8) & 0xFF == at.IP_PROTOCOL_UDP
        and get16(octets, at.UDP + shift + 2) == at.UDP_PORT
        and get32(octets, at.MAGIC + shift) == at.MAGIC_WORD
        and checksum(octets, ip) == 0
    )


@compiled
def decode_data(octets, length, frame):  # type: ignore[no-untyped-def]
    """Fill a descriptor from a tagged frame of `length` octets. False when it is not ours."""
    macs = (index_of_mac(get48(octets, at.SOURCE_MAC)), index_of_mac(get48(octets, 0)))
    source = index_of_ip(get32(octets, at.IP + 12))  # behind a router the MACs are those of a hop
    destination = index_of_ip(get32(octets, at.IP + 16))
    packet = length - at.IP
    if UNKNOWN in macs or UNKNOWN in (source, destination) or not is_ours(octets, at.MSDU):
        return False
    if get16(octets, at.IP + 2) != packet or get16(octets, at.UDP + 4) != packet - UDP_OVER:
        return False
    tos = get16(octets, at.IP) & 0xFF
    flow = signed32(get32(octets, at.FLOW))
    kind = RETURNED if tos & 3 == CE and destination == flow else DATA
    blank(frame, kind, length, get16(octets, at.VLAN + 2) >> 13, flow, source, destination)
    frame.sequence = get64(octets, at.SEQUENCE)
    frame.created = get64(octets, at.CREATED)
    frame.feedback = tos >> 2 if kind == RETURNED else 0
    frame.mark = tos
    frame.hops = at.IP_TTL - (get16(octets, at.IP + 8) >> 8)
    return True


@compiled
def rewrite(octets, mark, hops):  # type: ignore[no-untyped-def]
    """Give a data frame's octets the TOS and the TTL that its descriptor says."""
    tos = get16(octets, at.IP)
    put_word(octets, at.IP, (tos & 0xFF00) | (mark & 0xFF))
    put_word(octets, at.IP + 8, TTL_AND_PROTOCOL - (hops << 8))


@compiled
def put_word(octets, place, new):  # type: ignore[no-untyped-def]
    """Write a word of the IP header where it differs; the checksum follows (RFC 1624)."""
    old = get16(octets, place)
    if new == old:
        return
    put16(octets, place, new)
    total = (get16(octets, at.IP + 10) ^ 0xFFFF) + (old ^ 0xFFFF) + new
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    put16(octets, at.IP + 10, total ^ 0xFFFF)


@compiled
def address_hop(octets, source, destination):  # type: ignore[no-untyped-def]
    """Write the MAC addresses of one hop; a `source` that is UNKNOWN stays as it is."""
    put48(octets, 0, mac_of(destination))
    if source != UNKNOWN:
        put48(octets, at.SOURCE_MAC, mac_of(source))
