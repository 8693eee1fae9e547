"""Replies of hosts to ARP requests and neighbour solicitations of the devices that they face.

A router between hosts asks for the MAC address of the host that it forwards to: by an ARP request
(RFC 826), or by a neighbour solicitation of IPv6 (RFC 4861, 4.3; an ICMPv6 message, RFC 4443). A
host answers for its own addresses, those of its node and of its flows, at the ports that face an
external node, in the plan's version of IP and with the plan's VLAN tags. The reply takes the place
of the request in its row, and leaves past the host's queues, as all control frames do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames import ipv6_header as ipv6
from orchestrator.engine.frames.address_index import (
    MULTICAST,
    index_of_ip,
    index_of_mac,
    mac_of,
)
from orchestrator.engine.frames.big_endian import (
    get16,
    get32,
    get48,
    get64,
    put16,
    put32,
    put48,
)
from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.frames.ipv4_header import upper_layer_checksum
from orchestrator.engine.index_types import FrameIndex, NodeIndex, PortIndex, int64
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import BRIDGED, NONE

ANSWERS, ANSWERED = range(2)
"""Columns of a port's row: 1 where it faces an external node and replies; replies so far."""
IP_VERSION, TAGS = 0, 1
"""Words of `rules`: the version of IP, then EtherType and VLAN id of each tag, 0 for none."""
MOST_WAITING = 8
"""Control frames that may wait at a port before a reply: beyond, requests have none, so that a
device that floods its network takes no descriptors from the run."""

ARP_TYPE = 0x0806
ARP_ETHERNET = 0x000108000604
"""Ethernet, IPv4, lengths of 6 and 4 octets: hardware type up to address lengths (RFC 826)."""
OPERATION, SENDER_MAC, SENDER_IP, TARGET_MAC, TARGET_IP, ARP_OCTETS = 6, 8, 14, 18, 24, 28
"""Octets of its fields, from the hardware type; octets of all of it."""
REQUEST, REPLY = 1, 2

ICMPV6 = 58
HOP_LIMIT = 255
"""Of a solicitation and its reply: no router forwarded them (RFC 4861, 7.1.1)."""
SOLICITATION, ADVERTISEMENT = 135, 136
CHECKSUM, FLAGS, TARGET, OPTIONS = 2, 4, 8, 24
"""Octets of their fields, from the ICMPv6 type."""
SOLICITED, OVERRIDE = 0x40000000, 0x20000000
SOURCE_LINK_ADDRESS, TARGET_LINK_ADDRESS = 1, 2
"""Options (RFC 4861, 4.6.1), of one unit of 8 octets on Ethernet."""
OPTION_OCTETS = 8
LINK_MULTICAST = 0xFF02
"""First two octets of a multicast address of the link (RFC 4291, 2.7)."""
SOLICITED_NODE = 0xFF000000
"""Last four octets of the solicited-node address of nodes whose addresses end alike, ff02::1:ff00:0
(RFC 4291, 2.7.1); the last three are those of the address."""
ALL_NODES_MAC = 0x333300000001
"""MAC address of ff02::1 (RFC 2464, section 7)."""


class Neighbours(NamedTuple):
    """Addresses that the hosts of a thread reply for."""

    ports: np.ndarray
    """int64[ports, 2]: ANSWERS and ANSWERED."""
    owners: np.ndarray
    """int64[addresses]: row of the node that an address index is one of; NONE."""
    rules: np.ndarray
    """int64[1 + 2 MOST_TAGS]: the plan's IP_VERSION and TAGS."""


def no_neighbours(ports: int) -> Neighbours:
    """Of a thread without a host that faces an external node."""
    rules = np.zeros(TAGS + 2 * at.MOST_TAGS, np.int64)
    return Neighbours(np.zeros((max(ports, 1), 2), np.int64), np.full(1, NONE, np.int64), rules)


@compiled
def ether_type_offset(rules: Any, octets: np.ndarray, length: int) -> int:
    """The octet of the EtherType behind the plan's VLAN tags; NONE of a frame with others."""
    place = at.VLAN
    for tag in range(TAGS, rules.size, 2):
        if rules[tag] == 0:
            break
        if length < place + at.TAG_OCTETS or get16(octets, place) != rules[tag]:
            return NONE
        if get16(octets, place + 2) & 0xFFF != rules[tag + 1]:
            return NONE
        place += at.TAG_OCTETS
    return place


@inlined
def is_own(neighbours: Neighbours, node: NodeIndex, index: int) -> bool:
    """True if an address index is one of a node's."""
    return 0 <= index < neighbours.owners.size and neighbours.owners[index] == node


@inlined
def is_for_host(neighbours: Neighbours, node: NodeIndex, octets: np.ndarray) -> bool:
    """True if the destination MAC address of a frame is a group's or one of a node's."""
    destination = get48(octets, 0)
    return destination & MULTICAST != 0 or is_own(neighbours, node, index_of_mac(destination))


@compiled
def reply_to_arp(
    neighbours: Neighbours, node: NodeIndex, octets: np.ndarray, begin: int, length: int
) -> int:
    """Turn an ARP request that begins at `begin` into its reply (RFC 826, "Packet Reception");
    returns the octets of the reply, 0 where there is none."""
    if length < begin + ARP_OCTETS or get48(octets, begin) != ARP_ETHERNET:
        return 0
    if get16(octets, begin + OPERATION) != REQUEST:
        return 0
    target = get32(octets, begin + TARGET_IP)
    index = index_of_ip(target)
    asker = get48(octets, begin + SENDER_MAC)
    if not is_own(neighbours, node, index) or asker & MULTICAST != 0:
        return 0
    put16(octets, begin + OPERATION, REPLY)
    put48(octets, begin + TARGET_MAC, asker)
    put32(octets, begin + TARGET_IP, get32(octets, begin + SENDER_IP))
    put48(octets, begin + SENDER_MAC, mac_of(index))
    put32(octets, begin + SENDER_IP, target)
    put48(octets, 0, asker)
    put48(octets, at.SOURCE_MAC, mac_of(index))
    return begin + ARP_OCTETS


@compiled
def icmpv6_checksum(octets: np.ndarray, ip: int, end: int) -> int:
    """The checksum of the ICMPv6 message between the IPv6 header at `ip` and octet `end` (RFC 4443,
    2.3); 0 of a message that has its right checksum."""
    length = end - ip - ipv6.HEADER
    return upper_layer_checksum(octets, ip + ipv6.SOURCE, end, length, ICMPV6, NONE)


@inlined
def is_unspecified(octets: np.ndarray, place: int) -> bool:
    """True if the IPv6 address at `place` is `::`."""
    return get64(octets, place) == 0 and get64(octets, place + 8) == 0


@compiled
def is_solicited_node(octets: np.ndarray, place: int, target: int) -> bool:
    """True if the IPv6 address at `place` is the solicited-node multicast address of the address at
    `target`: ff02::1:ff and its last three octets."""
    if get16(octets, place) != LINK_MULTICAST or get48(octets, place + 2) != 0:
        return False
    last = get32(octets, target + 12) & 0xFFFFFF
    return get32(octets, place + 8) == 1 and get32(octets, place + 12) == SOLICITED_NODE | last


@compiled
def has_valid_options(octets: np.ndarray, place: int, end: int, unspecified: int) -> bool:
    """True if the options of a solicitation have lengths, and none says the link-layer address of a
    source that has no address (RFC 4861, 7.1.1)."""
    while place < end:
        if place + 2 > end:
            return False
        units = octets[place + 1]
        if units == 0 or place + 8 * units > end:
            return False
        if unspecified and octets[place] == SOURCE_LINK_ADDRESS:
            return False
        place += 8 * units
    return True


@compiled
def is_valid_solicitation(octets: np.ndarray, ip: int, end: int) -> bool:
    """True for a neighbour solicitation that a node may answer (RFC 4861, 7.1.1)."""
    begin = ip + ipv6.HEADER
    if end < begin + OPTIONS or octets[ip] >> 4 != 6 or octets[ip + ipv6.NEXT_HEADER] != ICMPV6:
        return False
    if octets[ip + ipv6.HOP_LIMIT] != HOP_LIMIT or get16(octets, begin) != SOLICITATION << 8:
        return False
    if icmpv6_checksum(octets, ip, end) != 0:
        return False
    unspecified = is_unspecified(octets, ip + ipv6.SOURCE)
    to_group = is_solicited_node(octets, ip + ipv6.DESTINATION, begin + TARGET)
    if unspecified and not to_group:
        return False
    if not to_group and not (
        get64(octets, ip + ipv6.DESTINATION) == get64(octets, begin + TARGET)
        and get64(octets, ip + ipv6.DESTINATION + 8) == get64(octets, begin + TARGET + 8)
    ):
        return False
    return has_valid_options(octets, begin + OPTIONS, end, unspecified)


@compiled
def reply_to_solicitation(
    neighbours: Neighbours, node: NodeIndex, octets: np.ndarray, ip: int, length: int
) -> int:
    """Turn a neighbour solicitation whose IPv6 header is at `ip` into the advertisement that
    answers it (RFC 4861, 7.2.4); returns the octets of the advertisement, 0 where there is none."""
    begin = ip + ipv6.HEADER
    if length < begin + OPTIONS:
        return 0
    end = begin + get16(octets, ip + ipv6.PAYLOAD_LENGTH)
    if end > length or not is_valid_solicitation(octets, ip, end):
        return 0
    index = ipv6.index_of_ipv6(octets, begin + TARGET)
    source = get48(octets, at.SOURCE_MAC)
    if not is_own(neighbours, node, index) or source & MULTICAST != 0:
        return 0
    flags = OVERRIDE
    if is_unspecified(octets, ip + ipv6.SOURCE):  # it looks for a duplicate: answer all nodes
        source = ALL_NODES_MAC
        put16(octets, ip + ipv6.SOURCE, LINK_MULTICAST)
        octets[ip + ipv6.SOURCE + 15] = 1
    else:
        flags |= SOLICITED
    ipv6.copy_address(octets, ip + ipv6.DESTINATION, ip + ipv6.SOURCE)
    ipv6.copy_address(octets, ip + ipv6.SOURCE, begin + TARGET)
    put48(octets, 0, source)
    put48(octets, at.SOURCE_MAC, mac_of(index))
    put32(octets, ip, 0x60000000)
    put16(octets, ip + ipv6.PAYLOAD_LENGTH, OPTIONS + OPTION_OCTETS)
    put16(octets, begin, ADVERTISEMENT << 8)
    put16(octets, begin + CHECKSUM, 0)
    put32(octets, begin + FLAGS, flags)
    put16(octets, begin + OPTIONS, TARGET_LINK_ADDRESS << 8 | 1)
    put48(octets, begin + OPTIONS + 2, mac_of(index))
    end = begin + OPTIONS + OPTION_OCTETS
    put16(octets, begin + CHECKSUM, icmpv6_checksum(octets, ip, end))
    return end


@compiled
def reply_octets(neighbours: Neighbours, node: NodeIndex, octets: np.ndarray, length: int) -> int:
    """Turn a request for an address of a node into its reply; returns the octets of the reply, 0
    where the frame is none, or is for another node."""
    if length > octets.size or not is_for_host(neighbours, node, octets):
        return 0
    place = ether_type_offset(neighbours.rules, octets, length)
    if place == NONE or length < place + 2:
        return 0
    kind, version = get16(octets, place), neighbours.rules[IP_VERSION]
    if kind == ARP_TYPE and version == 4:
        return reply_to_arp(neighbours, node, octets, place + 2, length)
    if kind == at.IPV6_TYPE and version == 6:
        return reply_to_solicitation(neighbours, node, octets, place + 2, length)
    return 0


@inlined
def has_room_for_reply(w: World, port_index: PortIndex) -> bool:
    """True if fewer than MOST_WAITING control frames wait at a port."""
    index, waiting = w.ports[port_index].control_head, 0
    while index != NONE and waiting < MOST_WAITING:
        index = w.frames[index].next
        waiting += 1
    return waiting < MOST_WAITING


@compiled
def is_answered(
    w: World, neighbours: Neighbours, port_index: PortIndex, index: FrameIndex, length: int
) -> bool:
    """Turn the frame of another device in row `index`, which came in at a port, into the reply that
    it asks for, and fill its descriptor. False, and neither, where the host has no reply."""
    if neighbours.ports[port_index, ANSWERS] == 0 or not has_room_for_reply(w, port_index):
        return False
    octets, frame = w.octets[index], w.frames[index]
    written = reply_octets(neighbours, w.ports[port_index].node, octets, length)
    if written == 0:
        return False
    neighbours.ports[port_index, ANSWERED] += 1
    tagged = neighbours.rules[TAGS] != 0
    priority = octets[at.VLAN + 2] >> 5 if tagged else 0
    octets_out = max(written, at.MINIMUM)
    for place in range(written, octets_out):
        octets[place] = 0
    reset_descriptor(frame, BRIDGED, octets_out, int64(priority), NONE, NONE, NONE)
    frame.port = port_index
    return True
