"""MAC learning beside a dictionary, and headers of frames of others beside scapy."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

from orchestrator.engine.datapath.mac_learning import (
    WAYS,
    empty_stations,
    ip_header,
    learn,
    port_of_station,
    rewrite_bridged,
    set_begin,
    tags_end,
    type_of_service,
)
from orchestrator.engine.records import NONE

AGEING = 300


def test_stations_are_found_where_they_were_last_seen_until_they_age() -> None:
    draw = random.Random(7)
    stations, last = empty_stations(64), dict[int, tuple[int, int]]()
    keys = [1 << 48 | draw.getrandbits(46) for _ in range(100)]
    now = 0
    for _ in range(5000):
        now += draw.randrange(4)
        key = draw.choice(keys)
        if draw.random() < 0.3:
            port = draw.randrange(8)
            learn(stations, key, port, now)
            last[key] = port, now
        port, seen = last.get(key, (NONE, 0))
        wanted = port if now - seen <= AGEING else NONE
        assert port_of_station(stations, key, now, AGEING) == wanted
    assert any(now - seen > AGEING for _, seen in last.values())


def test_a_full_set_forgets_the_station_that_was_silent_for_longest() -> None:
    stations = empty_stations(4)
    keys = [key for key in range(1 << 48, (1 << 48) + 200) if set_begin(stations, key) == WAYS]
    assert len(keys) > WAYS
    for now, key in enumerate(keys[:WAYS]):
        learn(stations, key, 3, now)
    learn(stations, keys[0], 4, WAYS)
    learn(stations, keys[WAYS], 5, WAYS + 1)
    known = [port_of_station(stations, key, WAYS + 1, AGEING) for key in keys[: WAYS + 1]]
    assert known == [4, NONE, *[3] * (WAYS - 2), 5]


def test_stations_spread_over_the_sets() -> None:
    stations = empty_stations(256)
    for count, keys in ((1024, range(1024)), (1024, range(0, 1024 << 16, 1 << 16))):
        sets = np.bincount([set_begin(stations, 1 << 48 | key) // WAYS for key in keys])
        assert len(sets) <= 256
        assert sum(np.minimum(sets, WAYS)) >= 0.95 * count


def frames() -> Iterator[tuple[Any, int, int]]:
    """A frame, octets of its tags, its TOS or traffic class; NONE: it has no IP header."""
    tags: list[tuple[Any, int]] = [
        (Ether(), 0),
        (Ether() / Dot1Q(vlan=5, prio=3), 4),
        (Ether() / Dot1AD(vlan=9) / Dot1Q(vlan=5), 8),
    ]
    for head, octets in tags:
        yield head / IP(tos=0x6A) / UDP(sport=5, dport=6) / Raw(b"x" * 31), octets, 0x6A
        yield head / IPv6(tc=0x93, fl=0xABCDE) / UDP(sport=5, dport=6) / Raw(b"xy"), octets, 0x93
        yield head / ARP(), octets, NONE
        yield head / IP(tos=1, options=[]) / Raw(b""), octets, 1
        yield (head / IP())[Ether].__class__(bytes(head / IP())[: 14 + octets + 19]), octets, NONE


@pytest.mark.parametrize("frame", list(frames()), ids=lambda frame: frame[0].summary()[:60])
def test_headers_are_where_scapy_has_them(frame: tuple[Any, int, int]) -> None:
    packet, tags, tos = frame
    octets = np.frombuffer(bytes(packet).ljust(128, b"\0"), np.uint8).copy()
    length = len(bytes(packet))
    assert tags_end(octets, length) == 12 + tags
    ip = int(ip_header(octets, length))
    assert ip == (NONE if tos == NONE else 14 + tags)
    if tos != NONE:
        assert type_of_service(octets, ip) == tos
    for mark in (0, 3, 0xB8, 0xFF):
        rewrite_bridged(octets, length, mark)
        wanted = Ether(bytes(packet))
        if tos != NONE and IPv6 in wanted:
            wanted[IPv6].tc = mark
        elif tos != NONE:
            wanted[IP].tos = mark
            del wanted[IP].chksum
        assert octets[:length].tobytes() == bytes(wanted)
