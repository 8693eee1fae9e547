"""MAC learning: a switch forwards the frames of other devices by the addresses that it learns.

IEEE 802.1Q-2018: learning (8.7), the filtering database with its ageing time (8.8.3), flooding of
what is unknown and filtering of what would go back (8.6.1), reserved addresses (8.6.3). All VLANs
share one database. Stations lie in sets of WAYS entries, as in the tables of switches: a station
that finds its set full takes the place of the one that was silent for longest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator.engine.frames import frame_layout as at
from orchestrator.engine.frames.address_index import MULTICAST
from orchestrator.engine.frames.big_endian import get16, get48
from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.frames.ipv4_header import replace_word
from orchestrator.engine.index_types import FrameIndex, PortIndex, int64
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.next_hop import LOW_32, MIX
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import BRIDGED, NEVER, NONE

WAYS = 8
KEY, PORT, SEEN = range(3)
"""Columns of a station: its address and switch, the port that it was last seen at, and when (ps).
A KEY of 0: there is none."""
AGEING, LONGEST = range(2)
"""How long a station is remembered (ps); octets of the longest frame without tags and FCS."""
FORGOTTEN = -NEVER
"""Time at which a place without a station was last seen."""
ETHERNET = 14
"""Octets of the shortest header: a frame without so many is none."""
RESERVED = 0x0180C2000000
"""The first of the 16 addresses that no bridge forwards (802.1Q-2018, table 8-1)."""


class Learning(NamedTuple):
    """What the switches of a thread learn."""

    floods: np.ndarray
    """int64[ports]: where a frame that came in there floods to, a port or a row of the ways; NONE:
    nowhere, or the port belongs to no switch that learns."""
    rules: np.ndarray
    """int64[ports, 2]: AGEING and LONGEST of its switch; 0: it does not learn."""
    stations: np.ndarray
    """int64[WAYS n, 3], n a power of 2."""


def no_learning(ports: int) -> Learning:
    """Of a thread without a switch that learns."""
    floods = np.full(max(ports, 1), NONE, np.int64)
    return Learning(floods, np.zeros((max(ports, 1), 2), np.int64), empty_stations(1))


def empty_stations(sets: int) -> np.ndarray:
    """A database of `sets` (a power of 2) times WAYS stations that knows none."""
    stations = np.zeros((sets * WAYS, 3), np.int64)
    stations[:, SEEN] = FORGOTTEN
    return stations


@compiled
def set_begin(stations: np.ndarray, key: int) -> int:
    """The first row of the set of a station."""
    mixed = ((key & LOW_32) ^ (key >> 32)) * MIX & LOW_32
    return ((mixed ^ (mixed >> 15)) & (stations.shape[0] // WAYS - 1)) * WAYS


@compiled
def learn(stations: np.ndarray, key: int, port: PortIndex, now: int) -> None:
    """A station was seen at a port: in its own place, or in that of the one silent for longest."""
    first = set_begin(stations, key)
    oldest = first
    for row in range(first, first + WAYS):
        if stations[row, KEY] == key:
            oldest = row
            break
        if stations[row, SEEN] < stations[oldest, SEEN]:
            oldest = row
    stations[oldest, KEY] = key
    stations[oldest, PORT] = port
    stations[oldest, SEEN] = now


@compiled
def port_of_station(stations: np.ndarray, key: int, now: int, ageing: int) -> int:
    """The port that a station was seen at within the ageing time; NONE."""
    first = set_begin(stations, key)
    for row in range(first, first + WAYS):
        if stations[row, KEY] == key:
            return stations[row, PORT] if now - stations[row, SEEN] <= ageing else NONE
    return NONE


@compiled
def output_of(
    w: World, learning: Learning, port_index: PortIndex, octets: np.ndarray, now: int
) -> int:
    """Where a frame goes that came in at a port: a port or a row of the ways; NONE: nowhere."""
    source, destination = get48(octets, at.SOURCE_MAC), get48(octets, 0)
    if source & MULTICAST != 0 or destination >> 4 == RESERVED >> 4:
        return NONE
    node = (w.ports[port_index].node + 1) << 48
    learn(learning.stations, node | source, port_index, now)
    if destination & MULTICAST != 0:
        return learning.floods[port_index]
    ageing = learning.rules[port_index, AGEING]
    port = port_of_station(learning.stations, node | destination, now, ageing)
    if port == NONE:
        return learning.floods[port_index]
    return NONE if port == port_index else port


@compiled
def tags_end(octets: np.ndarray, length: int) -> int:
    """The octet behind the addresses and up to two VLAN tags of a frame."""
    place = at.VLAN
    for _ in range(at.MOST_TAGS):
        kind = get16(octets, place)
        if (kind != at.VLAN_TYPE and kind != at.OUTER_TYPE) or length < place + 6:
            break
        place += at.TAG_OCTETS
    return place


@compiled
def ip_header(octets: np.ndarray, length: int) -> int:
    """The octet at which the IP header of a frame begins, behind up to two VLAN tags; NONE."""
    place = tags_end(octets, length)
    kind = get16(octets, place)
    place += 2
    least = 20 if kind == at.IPV4_TYPE else 40
    if (kind != at.IPV4_TYPE and kind != at.IPV6_TYPE) or length < place + least:
        return NONE
    return place if octets[place] >> 4 == (4 if kind == at.IPV4_TYPE else 6) else NONE


@compiled
def type_of_service(octets: np.ndarray, ip: int) -> int:
    """The TOS octet or traffic class (RFC 2474, RFC 3168) of the IP header at `ip`."""
    word = get16(octets, ip)
    return (word >> 4) & 0xFF if octets[ip] >> 4 == 6 else word & 0xFF


@compiled
def rewrite_bridged(octets: np.ndarray, length: int, mark: int) -> None:
    """Give a frame of others the TOS or traffic class of its descriptor, if it has one."""
    ip = ip_header(octets, length)
    if ip == NONE:
        return
    word = get16(octets, ip)
    if octets[ip] >> 4 == 6:
        octets[ip] = (word >> 8 & 0xF0) | (mark >> 4 & 0x0F)
        octets[ip + 1] = (word & 0x0F) | (mark & 0x0F) << 4
    else:
        replace_word(octets, ip, (word & 0xFF00) | (mark & 0xFF), ip)


@compiled
def describe(w: World, port_index: PortIndex, index: FrameIndex, length: int) -> None:
    """Fill the descriptor of a frame of others: its priority is that of its outer VLAN tag, or of
    its DSCP where the plan's priorities are those; of a frame without either it is 0."""
    octets, frame = w.octets[index], w.frames[index]
    ip = ip_header(octets, length)
    mark = 0 if ip == NONE else type_of_service(octets, ip)
    kind, priority = get16(octets, at.VLAN), 0
    classifier = w.nodes[w.ports[port_index].node].classifier
    if classifier != 0:
        if ip != NONE:
            priority = w.dscp_maps[classifier, (mark >> 2) & 0x3F]
    elif (kind == at.VLAN_TYPE or kind == at.OUTER_TYPE) and length >= ETHERNET + at.TAG_OCTETS:
        priority = octets[at.VLAN + 2] >> 5
    reset_descriptor(frame, BRIDGED, length, int64(priority), NONE, NONE, NONE)
    frame.mark = mark
    frame.port = port_index


@compiled
def bridged(
    w: World, learning: Learning, port_index: PortIndex, index: FrameIndex, length: int, now: int
) -> int:
    """Take in a frame of others that lies in row `index`, and fill its descriptor; returns where
    its switch forwards it to, a port or a row of the ways. NONE: nowhere, and no descriptor is
    filled."""
    octets = w.octets[index]
    if length < ETHERNET or length > octets.size:
        return NONE
    longest = learning.rules[port_index, LONGEST] + tags_end(octets, length) - at.VLAN
    if learning.rules[port_index, AGEING] == 0 or length > longest:
        return NONE
    way = output_of(w, learning, port_index, octets, now)
    if way != NONE:
        describe(w, port_index, index, length)
    return way
