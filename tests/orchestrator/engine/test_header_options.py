"""Frame types with other headers: tags, IPv6 and DSCP, judged by tshark, by scapy and by hand."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether

from orchestrator.engine.frames import captured_codec, captured_tables, frame_codec
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_type import LINK
from orchestrator.engine.frames.header_options import DEFAULT, HeaderOptions, shapes
from orchestrator.engine.frames.ipv6_header import ipv6_text, rewrite_header, udp_checksum
from orchestrator.engine.frames.type_registry import registered_types, type_table
from orchestrator.engine.records import ACK, CE, CNM, CNP, DATA, FRAME, RETURNED
from orchestrator.registry import Registry
from tests.traces.capture.tshark import needs_tshark, rows
from tests.traces.dissect.samples import capture

TYPES = {each.name: each for each in Registry.load().frame_types if each.is_read()}
EVERY = [
    HeaderOptions(vlan, outer, ip, dscp)
    for vlan, outer in ((None, None), (1, None), (100, None), (300, 4094))
    for ip in (4, 6)
    for dscp in (False, True)
]
"""Untagged, VLAN 1, another one, QinQ; IPv4 and IPv6; priority by PCP and by DSCP."""
KNOWN = 128
MARK = 46 << 2 | 1
BY_HAND = {
    HeaderOptions(None, None, 4, True): (
        "025442000009 025442000007 0800"
        "45b905ce 0000 4000 40 11 2057 0a000007 0a000009"  # DSCP 46, ECT(1)
        "c807 c7b1 05ba 0000"
    ),
    HeaderOptions(100, 7, 4): (
        "025442000009 025442000007 88a8a007 8100a064 0800"  # priority 5
        "45b905c6 0000 4000 40 11 205f 0a000007 0a000009"
        "c807 c7b1 05b2 0000"
    ),
    HeaderOptions(100, None, 6): (
        "025442000009 025442000007 8100a064 86dd"
        "6b900000 05a2 11 40"
        "fd746261636b0000000000000a000007 fd746261636b0000000000000a000009"
        "c807 c7b1 05a2 {checksum}"
    ),
}
"""Headers of a data frame of 1500 octets, flow and source 7, destination 9, priority 5, MARK."""


def descriptor(name: str, rng: random.Random, options: HeaderOptions) -> np.record:
    """A frame of a type with some values, that its octets have room for."""
    kind = type_table(options)[TYPES[name].kind]
    frame = empty_descriptors(1)[0]
    frame.kind = TYPES[name].kind
    frame.length = int(kind.octets) or rng.choice([200, 1500, 1501])
    frame.priority, frame.flow = rng.randrange(8), rng.randrange(2**20)
    frame.source, frame.destination = rng.randrange(2**20), 2**20 + rng.randrange(2**20)
    frame.sequence, frame.created = rng.randrange(2**31), rng.randrange(2**40)
    frame.mark = rng.randrange(256)
    if frame.kind == DATA:
        frame.inner = rng.choice([-1, 5])
    if frame.kind == CNM:
        frame.inner, frame.mark = rng.randrange(2**20), rng.choice([100, 1500])
        frame.feedback, frame.offset, frame.delta = rng.randrange(64), 6400, -640
    if frame.kind == RETURNED:
        frame.destination, frame.feedback, frame.mark = frame.flow, rng.randrange(64), CE
    return frame


def octets_of(frame: np.record, options: HeaderOptions) -> bytes:
    octets = np.zeros(KNOWN, np.uint8)
    known = frame_codec.encode(type_table(options), frame, octets)
    assert known > 0
    return octets[:known].tobytes().ljust(int(frame.length), b"\0")


def read(octets: bytes, types: np.ndarray) -> tuple[int, dict[str, int]]:
    back = empty_descriptors(1)[0]
    kind = int(frame_codec.decode(types, np.frombuffer(octets, np.uint8), len(octets), back))
    return kind, {name: int(back[name]) for name in FRAME.names}


def names(options: HeaderOptions) -> list[str]:
    """Types that there are with some headers."""
    return [name for name, each in TYPES.items() if options.ip == 4 or not each.sample]


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_every_type_comes_back_and_lengths_are_as_long_as_headers_are(options: HeaderOptions):
    """What is read from octets gives the same octets; fields come back as with the usual headers,
    but for a priority that nothing carries."""
    rng = random.Random(str(options))
    types, usual = type_table(options), type_table()
    for name in names(options):
        for _ in range(5):
            frame = descriptor(name, rng, options)
            kind, back = read(octets_of(frame, options), types)
            assert kind == frame.kind, name
            again = empty_descriptors(1)[0]
            for field, value in back.items():
                again[field] = value
            if options.by_dscp or not options.tags:
                assert TYPES[name].carried == LINK or name == "CNM" or back["priority"] == 0
            assert octets_of(again, options) == octets_of(frame, options) or (
                not options.tags and name == "CNM"
            )
            row, same = types[kind], usual[kind]
            frame.length += int(same.least) - int(row.least) if same.least != 60 else 0
            if frame.kind == CNM:
                frame.length, frame.mark = int(same.octets), frame.mark - options.longer
                back["mark"] -= options.longer
            _, expected = read(octets_of(frame, DEFAULT), usual)
            left = {"length"} | ({"priority"} if not back["priority"] else set())
            left |= {"mark"} if name == "CNM" and frame.mark == 100 else set()
            for field in set(back) - left:
                assert back[field] == expected[field], (name, field)


@pytest.mark.parametrize("options", BY_HAND, ids=str)
def test_headers_are_those_written_by_hand(options: HeaderOptions):
    frame = empty_descriptors(1)[0]
    frame.kind, frame.length, frame.priority, frame.flow = DATA, 1500, 5, 7
    frame.source, frame.destination, frame.mark = 7, 9, MARK
    octets = octets_of(frame, options)
    wanted = bytes.fromhex(BY_HAND[options].format(checksum=octets[64:66].hex()))
    assert octets[: len(wanted)].hex() == wanted.hex()
    assert len(wanted) + 24 == options.octets


@needs_tshark
@pytest.mark.parametrize("options", EVERY, ids=str)
def test_tshark_reads_every_field_and_finds_no_error(options: HeaderOptions, tmp_path: Path):
    rng = random.Random(1)
    wanted = [name for name in names(options) if TYPES[name].is_ip]
    frames = [descriptor(name, rng, options) for name in wanted for _ in range(3)]
    path = tmp_path / "a.pcap"
    path.write_bytes(capture([octets_of(frame, options) for frame in frames]))
    source = "ipv6.src" if options.ip == 6 else "ip.src"
    fields = ["eth.type", "vlan.id", "ieee8021ad.id", "ip.checksum.status", "udp.checksum.status"]
    fields += ["_ws.expert.severity", "ip.dsfield", "ipv6.tclass", "udp.length", source]
    fields += ["vlan.priority", "ieee8021ad.priority"]
    checks = ("ip.check_checksum:TRUE", "udp.check_checksum:TRUE")
    found = rows(path, fields, preferences=checks)
    assert len(found) == len(frames)
    for frame, row in zip(frames, found, strict=True):
        tags = [row["ieee8021ad.id"], row["vlan.id"]]
        assert [int(tag) for tag in tags if tag] == [vlan for _, vlan in options.tags]
        assert int(row["_ws.expert.severity"] or 0) < 0x600000, row  # no warning, no error
        behind = int(frame.length) - options.msdu - 2 - (40 if options.ip == 6 else 20)
        assert int(row["udp.length"]) == behind
        shown = int(row["ipv6.tclass"] or row["ip.dsfield"], 0)
        if frame.kind in (DATA, ACK):
            assert shown == frame.mark
        for each in ("vlan.priority", "ieee8021ad.priority"):
            if row[each]:
                assert int(row[each]) == (0 if options.by_dscp else frame.priority)
        if options.ip == 6:
            assert row["udp.checksum.status"] == "1"
            assert row["ipv6.src"] == ipv6_text(int(frame.source))
        else:
            assert row["ip.checksum.status"] == "1"


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_scapy_makes_the_same_checksums(options: HeaderOptions):
    """Each packet built anew by scapy, its checksums and ICRC left out, is the packet."""
    rng = random.Random(2)
    for name in (name for name in names(options) if TYPES[name].is_ip):
        frame = descriptor(name, rng, options)
        octets = octets_of(frame, options)
        packet = Ether(octets)
        tags = [packet[layer].vlan for layer in (Dot1AD, Dot1Q) if layer in packet]
        assert tags == [vlan for _, vlan in options.tags]
        if options.ip == 6:
            assert packet[IPv6].hlim == 64
            del packet[UDP].chksum
        else:
            assert packet[IP].ttl == 64
            del packet[IP].chksum
        if frame.kind == CNP:
            assert packet[BTH].becn == 1
            packet[BTH].icrc = None
            packet = Ether(bytes(packet))  # UDP's checksum covers the ICRC
            if options.ip == 6:
                del packet[UDP].chksum
        assert bytes(packet) == octets, name


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_a_router_rewrites_the_header_as_a_new_frame_has_it(options: HeaderOptions):
    rng = random.Random(3)
    types = type_table(options)
    for _ in range(20):
        frame = descriptor("data", rng, options)
        octets = np.frombuffer(octets_of(frame, options), np.uint8).copy()
        frame.mark, frame.hops = rng.randrange(256), rng.randrange(5)
        rewrite_header(types[DATA], octets, frame.mark, frame.hops)
        assert octets.tobytes() == octets_of(frame, options)


@pytest.mark.parametrize("size", [0, 1, 2, 33, 90])
def test_the_udp_checksum_covers_every_octet_of_the_payload(size: int):
    """Any payload, as telemetry stamps are, also of an odd length; zeros behind it add nothing."""
    rng = random.Random(size)
    packet = IPv6(src="fd74:6261:636b::1", dst="fd74:6261:636b::2") / UDP(sport=7, dport=9)
    octets = bytes(packet / rng.randbytes(size))
    row = np.frombuffer(octets + bytes(10), np.uint8).copy()
    row[46:48] = 0
    for end in (len(octets), len(octets) + 10):
        checksum = int(udp_checksum(row, 0, end))
        assert checksum == int.from_bytes(octets[46:48], "big")


def test_a_captured_frame_is_read_by_the_headers_that_it_has():
    rng = random.Random(4)
    for number, options in enumerate(shapes()):
        for name in names(options):
            octets = np.frombuffer(octets_of(descriptor(name, rng, options), options), np.uint8)
            back = empty_descriptors(1)[0]
            kind = captured_codec.decode_captured(captured_tables(), octets, len(octets), back)
            assert kind == TYPES[name].kind, (options, name)
            if TYPES[name].carried != LINK:
                assert captured_codec.header_shape(octets, len(octets)) == number or (
                    not TYPES[name].is_ip
                )


def test_headers_are_66_to_94_octets_and_link_control_has_none():
    assert {options.octets for options in EVERY} == {66, 70, 74, 86, 90, 94}
    usual = type_table()
    for options in EVERY:
        types = type_table(options)
        for each in registered_types():
            if each.carried == LINK:
                for column in ("known", "fields", "template", "mask", "octets"):
                    assert np.array_equal(types[each.kind][column], usual[each.kind][column])
