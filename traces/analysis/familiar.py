"""Frames that look like one that was dissected before need no dissection.

Of frames over Ethernet, at most one 802.1Q tag, IPv4 without options and UDP or TCP, everything
that flows are told apart by lies in four words of octets. They are remembered with the row of the
flow that the whole dissection found; a frame with the same words is of the same flow. What else the
dissection depends on (lengths, fragments) is looked at each time.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import layout
from orchestrator.engine.frames.wide import big16, big32, big64
from orchestrator.engine.jit import compiled, inlined
from traces.dissect.headers import IPV4, OUR_ACK, OUR_HEADER, OUR_SACK, ROCE_PORT, TCP, UDP, VLAN

SETS, WAYS, FIELDS = 1024, 4, 8
"""Words that are remembered: SETS x WAYS rows of FIELDS words, a cache line each."""
TALL = 18
"""Where IP begins behind one tag; without, it is TAG_OCTETS before."""
IP_HEADER, PORTS, UDP_HEADER = 20, 4, 8
MAGIC = layout.MAGIC_WORD
LOW_54 = (1 << 54) - 1
"""Of a word, what is within an int64 when it is shifted by 9: in plain Python as compiled."""


@inlined
def network(octets, at, size):  # type: ignore[no-untyped-def]
    """Where IP begins in a frame that may be familiar; 0 for all others.

    Its addresses and ports were captured and lie within the packet that IP announces.
    """
    if size < TALL + IP_HEADER + PORTS:
        return 0
    ip = TALL if big16(octets, at + 12) == VLAN else TALL - layout.TAG_OCTETS
    if big32(octets, at + ip - 2) >> 8 != (IPV4 << 8) | 0x45:
        return 0
    if big16(octets, at + ip + 2) < IP_HEADER + PORTS:
        return 0
    below = big32(octets, at + ip + 6)
    protocol = below & 0xFF
    if (below >> 16) & 0x1FFF != 0 or (protocol != UDP and protocol != TCP):
        return 0
    return ip


@inlined
def holds(octets, at, size, ip, least):  # type: ignore[no-untyped-def]
    """Whether so many octets behind IP were captured and lie within what IP and UDP announce."""
    return (
        size >= ip + IP_HEADER + least
        and big16(octets, at + ip + 2) >= IP_HEADER + least
        and big16(octets, at + ip + IP_HEADER + 4) >= least
    )


@inlined
def said(octets, at, size, ip, port):  # type: ignore[no-untyped-def]
    """1 and the version of what ends of a flow say to each other: both ways the ports are alike.

    -1 where the header was not captured; credits are as long as the shorter acknowledgements.
    """
    if not holds(octets, at, size, ip, UDP_HEADER + OUR_ACK):
        return np.int64(-1)
    version = np.int64(octets[at + ip + IP_HEADER + UDP_HEADER]) >> 4
    longer = port == layout.ACK_PORT and version == layout.SACK_VERSION
    if longer and not holds(octets, at, size, ip, UDP_HEADER + OUR_SACK):
        return np.int64(-1)
    return 1 + version


@inlined
def payload(octets, at, size, ip):  # type: ignore[no-untyped-def]
    """What tells tailback's flows apart: its magic word and the flow's number, or the version of
    what its ends say to each other; 0 for other UDP and TCP, -1 for what has to be dissected.
    """
    if octets[at + ip + 9] == TCP:
        return 0
    port = big16(octets, at + ip + IP_HEADER + 2)
    if port == layout.ACK_PORT or port == layout.CREDIT_PORT:
        return said(octets, at, size, ip, port)
    if port != layout.UDP_PORT:
        return -1 if port == ROCE_PORT else 0
    if not holds(octets, at, size, ip, UDP_HEADER + OUR_HEADER):
        return -1
    words = big64(octets, at + ip + IP_HEADER + UDP_HEADER)
    return words if words >> 32 == MAGIC else -1


@inlined
def ends(octets, at, ip):  # type: ignore[no-untyped-def]
    """Ports, type of service, protocol and the place of IP, in one word that is not 0."""
    service = np.int64(octets[at + ip + 1])
    protocol = np.int64(octets[at + ip + 9])
    return big32(octets, at + ip + IP_HEADER) | (service << 32) | (protocol << 40) | (ip << 48)


@inlined
def place_of(first, second, addresses, ports, words):  # type: ignore[no-untyped-def]
    """The set in which these words are remembered."""
    mixed = first ^ second ^ addresses ^ ports ^ ((words & LOW_54) << 9)
    mixed ^= mixed >> 32
    return (((mixed & 0xFFFFFFFF) * 0x9E3779B1) >> 20) & (SETS - 1)


@inlined
def recall(known, octets, at, ip, point, words):  # type: ignore[no-untyped-def]
    """The flow's row of a frame like one before, at the same point; -1 for a new one.

    `known` int64[SETS, WAYS, FIELDS]; `words` are those of `payload`.
    """
    first, second = big64(octets, at), big64(octets, at + 8)
    addresses, ports = big64(octets, at + ip + 12), ends(octets, at, ip)
    place = place_of(first, second, addresses, ports, words)
    for way in range(WAYS):
        entry = known[place, way]
        other = (entry[0] ^ first) | (entry[1] ^ second) | (entry[2] ^ addresses)
        other |= (entry[3] ^ ports) | (entry[4] ^ words) | (entry[5] ^ point)
        if other == 0:
            return entry[6]
    return np.int64(-1)


@compiled
def remember(known, octets, at, ip, point, words, row):  # type: ignore[no-untyped-def]
    """Note the flow's row of a frame; of a full set the oldest gives way."""
    first, second = big64(octets, at), big64(octets, at + 8)
    addresses, ports = big64(octets, at + ip + 12), ends(octets, at, ip)
    place = place_of(first, second, addresses, ports, words)
    for way in range(WAYS - 1, 0, -1):
        for field in range(FIELDS):
            known[place, way, field] = known[place, way - 1, field]
    entry = known[place, 0]
    entry[0], entry[1], entry[2] = first, second, addresses
    entry[3], entry[4], entry[5], entry[6] = ports, words, point, row


def nothing_known() -> np.ndarray:
    """An empty table, int64[SETS, WAYS, FIELDS]."""
    return np.zeros((SETS, WAYS, FIELDS), np.int64)
