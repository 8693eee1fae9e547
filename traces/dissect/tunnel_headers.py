"""Compiled recognition of tunnels: what lies inside of IP, UDP, GRE and MPLS.

VXLAN (RFC 7348) and VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe), Geneve (RFC 8926), GRE (RFC 2784, 2890)
with NVGRE (RFC 7637) and ERSPAN types I, II and III (draft-foschiano-erspan-03), IP in IP (RFC
2003, 2473, 4213), MPLS (RFC 3032) in Ethernet, IP (RFC 4023), GRE and UDP (RFC 7510), with IP or
Ethernet (RFC 4448, with a control word or without) below.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.unaligned import big16, big32
from orchestrator.engine.jit import inlined
from traces.dissect.header_record import ABSENT, TUNNELS

ETHERNET_PAYLOAD = 0x6558
"""EtherType of a whole Ethernet frame (transparent Ethernet bridging)."""
IPV4, IPV6, MPLS, MPLS_MULTICAST = 0x0800, 0x86DD, 0x8847, 0x8848
FRAME_TYPES = (IPV4, IPV6, 0x0806, 0x8100, 0x88A8, 0x8808, 0x8915, 0x88CC, MPLS)
"""EtherTypes by which an Ethernet frame below labels is recognised."""
ASSOCIATED_CHANNEL = 1
"""First four bits of a control message of a pseudowire (RFC 4385)."""
ERSPAN, ERSPAN_III = 0x88BE, 0x22EB
IP_IN_IP, UDP, IPV6_IN_IP, GRE, MPLS_IN_IP = 4, 17, 41, 47, 137
VXLAN_PORT, GENEVE_PORT, MPLS_PORT, GPE_PORT = 4789, 6081, 6635, 4790
LINUX_VXLAN_PORT = 8472
"""Linux's default port of VXLAN, older than the assigned one, which overlays keep using; OTV, to
which it is assigned, has the same layout."""
TUNNEL_PORTS = (VXLAN_PORT, LINUX_VXLAN_PORT, GPE_PORT, GENEVE_PORT, MPLS_PORT)
"""Destination ports of UDP by which `udp_payload` recognises a tunnel."""
GPE_NEXT, GPE_IPV4, GPE_IPV6, GPE_ETHERNET = 0x04, 1, 2, 3
"""The flag that a next protocol is stated, and the next protocols that are read."""
VXLAN_HEADER, GENEVE_HEADER, UDP_HEADER = 8, 8, 8
ERSPAN_HEADER, ERSPAN_III_HEADER, ERSPAN_SUBHEADER = 8, 12, 8
VALID_VNI, GENEVE_CONTROL = 0x08, 0x80
CHECKSUM, ROUTED, KEYED, NUMBERED, VERSION = 0x8000, 0x4000, 0x2000, 0x1000, 7
"""Bits of the first two octets of GRE."""
TUNNEL_VXLAN, TUNNEL_GENEVE, TUNNEL_GRE, TUNNEL_ERSPAN, TUNNEL_IP, TUNNEL_MPLS = (
    1 << bit for bit in range(len(TUNNELS))
)


@inlined
def has_header(octets, at, end, kind):
    """True if the header that the EtherType `kind` announces at `at` was captured and is one."""
    if kind == ETHERNET_PAYLOAD:
        return at + 14 <= end
    if kind == IPV4:
        return at + 20 <= end and octets[at] >> 4 == 4
    if kind == IPV6:
        return at + 40 <= end and octets[at] >> 4 == 6
    return kind in (MPLS, MPLS_MULTICAST) and at + 4 <= end


@inlined
def is_frame(octets, at, end):
    """True if a known EtherType follows the addresses of an Ethernet frame at `at`."""
    return at + 14 <= end and big16(octets, at + 12) in FRAME_TYPES


@inlined
def below_labels(octets, at, end):
    """The EtherType of what is below the labels of MPLS at `at`, 0 if unknown, and where it begins.

    Labels do not say it: the first four bits do. An Ethernet control word begins with 16 bits of 0
    (RFC 4448, 4.6); other bits than those of IP and of an associated channel are the beginning of a
    frame without a control word, if an EtherType of `FRAME_TYPES` follows its addresses.
    """
    while at + 4 < end:
        bottom = octets[at + 2] & 1
        at += 4
        if bottom:
            first = octets[at] >> 4
            if first == 4:
                return np.int64(IPV4), at
            if first == 6:
                return np.int64(IPV6), at
            if at + 2 <= end and big16(octets, at) == 0:
                return np.int64(ETHERNET_PAYLOAD), at + 4
            if first != ASSOCIATED_CHANNEL and is_frame(octets, at, end):
                return np.int64(ETHERNET_PAYLOAD), at
            break
    return np.int64(0), at


@inlined
def gre_payload(octets, at, end):
    """Tunnel, EtherType, place and number of what is in GRE at `at`, as `tunnel_of` has them."""
    number = np.int64(ABSENT)
    if at + 4 > end:
        return np.int64(0), np.int64(0), at, number
    flags, kind = big16(octets, at), big16(octets, at + 2)
    if flags & (ROUTED | VERSION):
        return np.int64(0), np.int64(0), at, number
    place = at + 4
    if flags & CHECKSUM:
        place += 4
    if flags & KEYED:
        if place + 4 > end:
            return np.int64(0), np.int64(0), at, number
        number = big32(octets, place)
        if kind == ETHERNET_PAYLOAD:  # NVGRE: the rest is the flow's entropy
            number >>= 8
        place += 4
    if flags & NUMBERED:
        place += 4
    if kind == ERSPAN:  # type I has neither a number nor a header
        place += ERSPAN_HEADER if flags & NUMBERED else 0
        return np.int64(TUNNEL_ERSPAN), np.int64(ETHERNET_PAYLOAD), place, np.int64(ABSENT)
    if kind == ERSPAN_III:
        if place + ERSPAN_III_HEADER > end:
            return np.int64(0), np.int64(0), at, number
        word = big16(octets, place + 10)
        place += ERSPAN_III_HEADER
        if word & 1:
            place += ERSPAN_SUBHEADER
        frame = (word >> 10) & 31
        inner = np.int64(ETHERNET_PAYLOAD)
        if frame == 2:  # IP without Ethernet
            inner = np.int64(IPV6 if place < end and octets[place] >> 4 == 6 else IPV4)
        return np.int64(TUNNEL_ERSPAN), inner, place, np.int64(ABSENT)
    return np.int64(TUNNEL_GRE), np.int64(kind), place, number


@inlined
def udp_payload(octets, at, end):
    """Tunnel, EtherType, place and number of what is in UDP at `at`, as `tunnel_of` has them."""
    port, place = big16(octets, at + 2), at + UDP_HEADER
    if (
        port in (VXLAN_PORT, LINUX_VXLAN_PORT)
        and place + VXLAN_HEADER <= end
        and octets[place] & VALID_VNI
    ):
        number = np.int64(big32(octets, place + 4) >> 8)
        # bits that VXLAN reserves tell other users of Linux's port apart
        if port == VXLAN_PORT or (octets[place] == VALID_VNI and octets[place + 7] == 0):
            return np.int64(TUNNEL_VXLAN), np.int64(ETHERNET_PAYLOAD), place + VXLAN_HEADER, number
    elif port == GPE_PORT and place + VXLAN_HEADER <= end and octets[place] & VALID_VNI:
        number = np.int64(big32(octets, place + 4) >> 8)
        following = np.int64(octets[place + 3]) if octets[place] & GPE_NEXT else GPE_ETHERNET
        inner = np.int64(0)
        if following == GPE_IPV4:
            inner = np.int64(IPV4)
        elif following == GPE_IPV6:
            inner = np.int64(IPV6)
        elif following == GPE_ETHERNET:
            inner = np.int64(ETHERNET_PAYLOAD)
        return np.int64(TUNNEL_VXLAN), inner, place + VXLAN_HEADER, number
    if port == GENEVE_PORT and place + GENEVE_HEADER <= end and octets[place] >> 6 == 0:
        if octets[place + 1] & GENEVE_CONTROL == 0:
            inner = np.int64(big16(octets, place + 2))
            number = np.int64(big32(octets, place + 4) >> 8)
            options = (np.int64(octets[place]) & 63) * 4
            return np.int64(TUNNEL_GENEVE), inner, place + GENEVE_HEADER + options, number
    elif port == MPLS_PORT:
        return np.int64(TUNNEL_MPLS), np.int64(MPLS), place, np.int64(ABSENT)
    return np.int64(0), np.int64(0), at, np.int64(ABSENT)


@inlined
def tunnel_of(octets, at, end, protocol):
    """The tunnel of an IP payload at `at`, as a bit of TUNNELS, 0 without one; the EtherType of its
    payload, where it begins, and the number of its network, ABSENT without one."""
    if protocol == UDP and at + UDP_HEADER <= end:
        return udp_payload(octets, at, end)
    if protocol == GRE:
        return gre_payload(octets, at, end)
    if protocol == IP_IN_IP:
        return np.int64(TUNNEL_IP), np.int64(IPV4), at, np.int64(ABSENT)
    if protocol == IPV6_IN_IP:
        return np.int64(TUNNEL_IP), np.int64(IPV6), at, np.int64(ABSENT)
    if protocol == MPLS_IN_IP:
        return np.int64(TUNNEL_MPLS), np.int64(MPLS), at, np.int64(ABSENT)
    return np.int64(0), np.int64(0), at, np.int64(ABSENT)
