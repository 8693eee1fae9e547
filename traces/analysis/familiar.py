"""Frames that look like one that was dissected before need no dissection.

Of frames over Ethernet, at most one 802.1Q tag, IPv4 without options and UDP or TCP, everything
that flows are told apart by lies in four words of octets. They are remembered with the row of the
flow that the whole dissection found; a frame with the same words is of the same flow. What else the
dissection depends on (lengths, fragments) is looked at each time.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames import layout
from orchestrator.engine.frames.wide import big16, big32, big64, octet
from orchestrator.engine.jit import compiled, inlined
from traces.analysis.room import has_room
from traces.analysis.told import STRANGE, frame_told
from traces.dissect.headers import IPV4, OUR_ACK, OUR_HEADER, OUR_SACK, ROCE_PORT, TCP, UDP, VLAN

SETS, WAYS, FIELDS = 1024, 4, 8
"""Words that are remembered: SETS x WAYS rows of FIELDS words, a cache line each."""
TALL = 18
"""Where IP begins behind one tag; without, it is TAG_OCTETS before."""
IP_HEADER, PORTS, UDP_HEADER = 20, 4, 8
TCP_NUMBERED = 8
"""Octets of TCP up to its sequence number's last."""
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
    version = octet(octets, at + ip + IP_HEADER + UDP_HEADER) >> 4
    longer = port == layout.ACK_PORT and version == layout.SACK_VERSION
    if longer and not holds(octets, at, size, ip, UDP_HEADER + OUR_SACK):
        return np.int64(-1)
    return 1 + version


@inlined
def payload(octets, at, size, ip):  # type: ignore[no-untyped-def]
    """What tells tailback's flows apart: its magic word and the flow's number, or the version of
    what its ends say to each other; 0 for other UDP and TCP, -1 for what has to be dissected.
    """
    if octet(octets, at + ip + 9) == TCP:
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
    service = octet(octets, at + ip + 1)
    protocol = octet(octets, at + ip + 9)
    return big32(octets, at + ip + IP_HEADER) | (service << 32) | (protocol << 40) | (ip << 48)


@inlined
def ecn_of(ports):  # type: ignore[no-untyped-def]
    """The ECN code point in the word of `ends`."""
    return (ports >> 32) & 3


@inlined
def protocol_of(ports):  # type: ignore[no-untyped-def]
    """IP's protocol in the word of `ends`."""
    return (ports >> 40) & 0xFF


@inlined
def place_of(first, second, addresses, ports, words):  # type: ignore[no-untyped-def]
    """The set in which these words are remembered."""
    mixed = first ^ second ^ addresses ^ ports ^ ((words & LOW_54) << 9)
    mixed ^= mixed >> 32
    return (((mixed & 0xFFFFFFFF) * 0x9E3779B1) >> 20) & (SETS - 1)


@inlined
def entry_at(place, way):  # type: ignore[no-untyped-def]
    """Where an entry begins among all words."""
    return (place * WAYS + way) * FIELDS


@inlined
def recall(known, octets, at, ip, point, words, ports):  # type: ignore[no-untyped-def]
    """What was remembered of a frame like it, at the same point; STRANGE for a new one.

    `known` int64[SETS * WAYS * FIELDS]; `words` are those of `payload`, `ports` those of `ends`.
    """
    first, second = big64(octets, at), big64(octets, at + 8)
    addresses = big64(octets, at + ip + 12)
    place = place_of(first, second, addresses, ports, words)
    for way in range(WAYS):
        e = entry_at(place, way)
        other = (known[e] ^ first) | (known[e + 1] ^ second) | (known[e + 2] ^ addresses)
        other |= (known[e + 3] ^ ports) | (known[e + 4] ^ words) | (known[e + 5] ^ point)
        if other == 0:
            return known[e + 6]
    return np.int64(STRANGE)


@compiled
def remember(known, octets, at, ip, point, words, flow):  # type: ignore[no-untyped-def]
    """Note what is told of a frame's flow; of a full set the oldest gives way."""
    first, second = big64(octets, at), big64(octets, at + 8)
    addresses, ports = big64(octets, at + ip + 12), ends(octets, at, ip)
    place = place_of(first, second, addresses, ports, words)
    for way in range(WAYS - 1, 0, -1):
        for field in range(FIELDS):
            known[entry_at(place, way) + field] = known[entry_at(place, way - 1) + field]
    e = entry_at(place, 0)
    known[e], known[e + 1], known[e + 2] = first, second, addresses
    known[e + 3], known[e + 4], known[e + 5], known[e + 6] = ports, words, point, flow


@inlined
def familiar(known, octets, at, size, point, places, rooms):  # type: ignore[no-untyped-def]
    """What is told of a frame that looks like one before; STRANGE of all others.

    `places` and `rooms` are those of `has_room`.
    """
    ip = network(octets, at, size)
    if ip == 0:
        return np.int64(STRANGE)
    words = payload(octets, at, size, ip)
    if words == -1:
        return np.int64(STRANGE)
    ports = ends(octets, at, ip)
    flow = recall(known, octets, at, ip, point, words, ports)
    if flow < 0:
        return np.int64(STRANGE)
    tcp = np.int64(protocol_of(ports) == TCP and ip + IP_HEADER + TCP_NUMBERED <= size)
    room = has_room(octets, at, size, places, rooms)
    return frame_told(flow, ecn_of(ports), tcp, room, ip + IP_HEADER)


@compiled
def tell(begin, octets, offset, captured, points_of, ethernet, known, places, rooms, told):  # type: ignore[no-untyped-def]
    """Write what is told of each of the frames from `begin` on, as far as `told` int64[..] goes.

    Answers how many of them are STRANGE."""
    strange = 0
    first = begin & 0x7FFFFFFF
    for index in range(first, min(first + told.size, offset.size)):
        row = index & 0x7FFFFFFF  # known not to be negative
        point = points_of[row] & 0x7FFFFFFF
        at, size = offset[row], captured[row]
        if not ethernet[point]:
            size = 0
        one = familiar(known, octets, at, size, point, places, rooms)
        told[(index - first) & 0x7FFFFFFF] = one
        strange += one == STRANGE
    return strange


def nothing_known() -> np.ndarray:
    """An empty table, int64[SETS, WAYS, FIELDS]."""
    return np.zeros((SETS, WAYS, FIELDS), np.int64)
