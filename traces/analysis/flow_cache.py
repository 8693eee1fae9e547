"""Flow cache: frames that match a dissected frame's header need no dissection.

Of frames over Ethernet, at most one 802.1Q tag, IPv4 without options and UDP or TCP, everything
that identifies a flow lies in their first octets. These are remembered, with a mask of what
in them may differ between frames of a flow, and with what the whole dissection found. A frame that
differs in nothing else, and that is long enough for what was looked at, is of the same flow.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.cache_aligned import words_by_lines
from orchestrator.engine.compile_options import LINE_WORDS
from orchestrator.engine.frames import frame_layout
from orchestrator.engine.frames.unaligned import big16, big32, native16, native64, octet, unlike
from orchestrator.engine.jit import compiled, inlined
from traces.analysis.frame_summary import UNCACHED, pack_frame
from traces.analysis.stamp_space import has_stamp_space
from traces.dissect.header_parser import (
    NATIVE_ACK,
    NATIVE_HEADER,
    NATIVE_SACK,
    ROCE_PORT,
    TCP,
    VLAN,
)
from traces.dissect.tunnel_headers import IPV4, TUNNEL_PORTS, UDP

SLOTS, ASSOCIATIVITY = 4096, 4
"""Places in which entries are looked for, by a number made of a frame; a set of WAYS holds what is
looked for in any of them."""
FRAME = 8 * LINE_WORDS
"""Octets of a frame that are compared."""
POINT, SUMMARY, LEAST, LEAST_IP, LEAST_UDP, SORT, TRANSPORT_AT, NUMBERED = range(LINE_WORDS, 16)
"""Words of an entry behind the octets. POINT: the point and 1, so that 0 is of no frame. TOLD: of
all frames of the flow. LEAST, LEAST_IP, LEAST_UDP: octets that must be captured, and that IP and
UDP must announce, for the frame to match the entry. SORT: where its mask begins in MASKS.
PLACE: where the transport header begins. NUMBERED: octets
that must be captured for a number of TCP; 0 of what is no TCP."""
ENTRY = 16
"""Words of an entry, two lines of a cache."""
INDEX = (SLOTS + 1) * ENTRY
"""Where the slots begin, behind the entries, of which the first one is of no frame. A slot holds
where its entry begins, 0 where there is none."""
USED = ENTRY - 1
"""Where in the first entry stands how many others are in use."""
TALL = 18
"""Where IP begins behind one tag; without, it is TAG_OCTETS before."""
IP_HEADER, PORTS, UDP_HEADER = 20, 4, 8
TCP_NUMBERED = 8
"""Octets of TCP up to its sequence number's last."""
MAGIC = frame_layout.MAGIC_WORD
VLAN_IN_MEMORY_ORDER = int(np.array([VLAN], ">u2").view(np.uint16)[0])
PLAIN, VERSIONED, OWN = range(3)
"""What is compared behind the ports: nothing, a version, or magic word and flow number."""
FIRST_OWN = 2 * OWN * LINE_WORDS
"""From this SORT on frames are tailback's own data, whose sequence numbers count them."""


def _masks() -> np.ndarray:
    """Comparison masks by octets behind the ports and by tags (0, 1): int64[3 * 2 * LINE_WORDS]."""
    masks = np.zeros((3, 2, FRAME), np.uint8)
    for tags, ip in enumerate((TALL - frame_layout.TAG_OCTETS, TALL)):
        masks[:, tags, : ip + 1] = 0xFF  # addresses, tag, types, version
        masks[:, tags, ip + 6] = 0x1F  # where a fragment lies; flags before it do not count
        masks[:, tags, [ip + 7, ip + 9]] = 0xFF  # the rest of it, and the protocol
        masks[:, tags, ip + 12 : ip + IP_HEADER + PORTS] = 0xFF
        payload = ip + IP_HEADER + UDP_HEADER
        masks[OWN, tags, payload : payload + 8] = 0xFF
        masks[VERSIONED, tags, payload] = 0xF0
    return masks.view(np.int64).reshape(-1)


MASKS = _masks()


@inlined
def ip_offset(octets, at, size):
    """Offset of IP in a frame that may be cached; 0 for all others.

    Its addresses and ports were captured and lie within the packet that IP announces.
    """
    if size < TALL + IP_HEADER + PORTS:
        return 0
    ip = TALL if big16(octets, at + 12) == VLAN else TALL - frame_layout.TAG_OCTETS
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
def has_octets(octets, at, size, ip, least):
    """True if so many octets behind IP were captured and lie within the IP and UDP lengths."""
    return (
        size >= ip + IP_HEADER + least
        and big16(octets, at + ip + 2) >= IP_HEADER + least
        and big16(octets, at + ip + IP_HEADER + 4) >= least
    )


@inlined
def compared_udp_octets(octets, at, size, ip):
    """Octets of UDP that identify the flow of a frame, 0 where its ports do; -1 for a frame that
    has to be dissected each time.

    Credits are as long as the shorter acknowledgements.
    """
    port = big16(octets, at + ip + IP_HEADER + 2)
    if port == ROCE_PORT or port in TUNNEL_PORTS:
        return np.int64(-1)
    own = port == frame_layout.UDP_PORT
    if not own and port != frame_layout.ACK_PORT and port != frame_layout.CREDIT_PORT:
        return np.int64(0)
    least = UDP_HEADER + (NATIVE_HEADER if own else NATIVE_ACK)
    if not has_octets(octets, at, size, ip, least):
        return np.int64(-1)
    payload = at + ip + IP_HEADER + UDP_HEADER
    if own:
        return np.int64(least if big32(octets, payload) == MAGIC else -1)
    if port == frame_layout.ACK_PORT and octet(octets, payload) >> 4 == frame_layout.SACK_VERSION:
        least = UDP_HEADER + NATIVE_SACK
        return np.int64(least if has_octets(octets, at, size, ip, least) else -1)
    return np.int64(least)


@inlined
def slot_of(octets, at, ip, point):
    """The slot in which a frame is looked for first: by addresses, ports and point."""
    addresses = native64(octets, at + ip + 12)
    ends = native64(octets, at + ip + 16) ^ native64(octets, at + 4)
    mixed = addresses * 0x31191C56C324C985 + ends * 0x2C888696008A05A7
    return (((mixed >> 52) & (SLOTS - 1)) ^ (point * 37)) & (SLOTS - 1)


@inlined
def matches_entry(known, e, octets, at, size, ip, point):
    """True if a frame matches the entry that begins at `e`."""
    return (
        unlike(octets, at, known, e, MASKS, known[e + SORT]) == 0
        and known[e + POINT] == point + 1
        and size >= known[e + LEAST]
        and big16(octets, at + ip + 2) >= known[e + LEAST_IP]
        and big16(octets, at + ip + IP_HEADER + 4) >= known[e + LEAST_UDP]
    )


@inlined
def find_entry(known, octets, last, at, size, point):
    """Offset of the entry that a frame of the same point matches; 0 if there is none.

    `known` is that of `empty_flow_cache`, and `last` the last offset with FRAME octets behind it.
    """
    if at > last:
        return np.int64(0)
    tagged = native16(octets, at + 12) == VLAN_IN_MEMORY_ORDER
    ip = TALL if tagged else TALL - frame_layout.TAG_OCTETS
    slot = slot_of(octets, at, ip, point)
    for way in range(ASSOCIATIVITY):
        e = known[INDEX + (slot ^ way)] & 0x7FFFFFFF
        if matches_entry(known, e, octets, at, size, ip, point):
            return e
    return np.int64(0)


@inlined
def allocate_entry(known, slot):
    """Offset of a free entry for a slot; of a full set the oldest entry is evicted."""
    for way in range(ASSOCIATIVITY):
        if known[INDEX + (slot ^ way)] == 0:
            known[USED] += 1
            known[INDEX + (slot ^ way)] = known[USED] * ENTRY
            return known[USED] * ENTRY
    oldest = known[INDEX + (slot ^ (ASSOCIATIVITY - 1))]
    for way in range(ASSOCIATIVITY - 1, 0, -1):
        known[INDEX + (slot ^ way)] = known[INDEX + (slot ^ (way - 1))]
    known[INDEX + slot] = oldest
    return oldest


@compiled
def insert_entry(known, octets, at, size, point, summary, counts):
    """Insert the summary of a frame's flow, if its header identifies the flow; `counts`: true
    for tailback's own data frames."""
    ip = np.int64(ip_offset(octets, at, size))
    if ip == 0 or at > octets.size - FRAME:
        return
    tcp = octet(octets, at + ip + 9) == TCP
    least = np.int64(0) if tcp else compared_udp_octets(octets, at, size, ip)
    if least < 0:
        return
    sort = PLAIN if least == 0 else (OWN if counts else VERSIONED)
    e = allocate_entry(known, slot_of(octets, at, ip, point))
    for word in range(LINE_WORDS):
        known[e + word] = native64(octets, at + 8 * word)
    transport = ip + IP_HEADER
    known[e + POINT], known[e + SUMMARY] = point + 1, summary
    known[e + SORT] = (2 * sort + np.int64(ip == TALL)) * LINE_WORDS
    known[e + LEAST] = transport + max(least, np.int64(PORTS))
    known[e + LEAST_IP] = IP_HEADER + max(least, np.int64(PORTS))
    known[e + LEAST_UDP] = least
    known[e + TRANSPORT_AT] = transport
    known[e + NUMBERED] = transport + TCP_NUMBERED if tcp else 0


@inlined
def cached_summary(known, octets, at, size, point, places, rooms):
    """Summary of a frame that matches an entry; STRANGE for all others.

    `places` and `rooms` are those of `has_stamp_space`.
    """
    e = find_entry(known, octets, octets.size - FRAME, at, size, point)
    if e == 0:
        return np.int64(UNCACHED)
    place, numbered = known[e + TRANSPORT_AT], known[e + NUMBERED]
    ecn = octet(octets, at + place - IP_HEADER + 1) & 3
    tcp = np.int64(numbered != 0 and numbered <= size)
    room = has_stamp_space(octets, at, size, places, rooms)
    return pack_frame(known[e + SUMMARY], ecn, tcp, room, place)


@compiled
def summarise_frames(
    begin, until, octets, offset, captured, points_of, ethernet, known, places, rooms, summary
):
    """Write the summaries of the frames from `begin` to `until` into `summary` int64[..].

    Returns the number of STRANGE ones."""
    strange = 0
    first = begin & 0x7FFFFFFF
    for index in range(first, until):
        row = index & 0x7FFFFFFF  # known not to be negative
        point = points_of[row] & 0x7FFFFFFF
        at, size = offset[row], captured[row]
        if not ethernet[point]:
            size = 0
        one = cached_summary(known, octets, at, size, point, places, rooms)
        summary[(index - first) & 0x7FFFFFFF] = one
        strange += one == UNCACHED
    return strange


def empty_flow_cache() -> np.ndarray:
    """An empty cache, int64[INDEX + SLOTS]; entries are aligned to cache lines."""
    return words_by_lines(INDEX + SLOTS)
