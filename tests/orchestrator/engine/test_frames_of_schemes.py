"""Frames that schemes other than QCN need: probes, returned data frames, CNPs; marks and hops."""

from __future__ import annotations

from ipaddress import IPv4Address

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from orchestrator.engine.frames import FOREIGN
from orchestrator.engine.frames.address_index import mac_of
from orchestrator.engine.frames.ipv4_header import address_hop, rewrite
from orchestrator.engine.frames.roce_icrc import icrc
from orchestrator.engine.records import CE, CNP, DATA, ECHO, ECT0, PROBE, RETURNED
from tests.orchestrator.engine.test_frames import data, descriptor, fields, index, read, written

PROBE_BY_HAND = bytes.fromhex(
    "025442000007 025442000102 81006001 88b6"  # priority 3, VLAN 1, local experimental 2
    "0101"  # version 1, on its way forward
    "00000002540be400"  # 10 Gb/s
    "00000003 0000000000000009 0000000000000100" + 12 * "00"
)
KNOWN_GOOD_CNP = bytes.fromhex(
    "4589003c98c6400020116927 16161608 16161607 dbae12b700280000"
    "8100ffff400000d2 00000000 00000000000000000000000000000000 dafc1bef"
)
"""A packet that a NIC's maker has published as the example of a CNP, from its IP header on."""


def probe() -> np.record:
    return descriptor(
        kind=PROBE,
        length=60,
        priority=3,
        flow=3,
        source=0x102,
        destination=7,
        sequence=9,
        created=0x100,
        feedback=10**10,
    )


def test_a_probe_has_the_octets_that_are_documented():
    assert written(probe()) == PROBE_BY_HAND


@pytest.mark.parametrize("kind", [PROBE, ECHO])
def test_a_probe_comes_back_as_it_was(kind):
    frame = probe()
    frame.kind = kind
    found, back = read(written(frame))
    assert found == kind
    assert fields(back) == fields(frame)


def test_a_probe_of_another_version_is_foreign():
    octets = bytearray(PROBE_BY_HAND)
    octets[18] = 2
    assert read(bytes(octets))[0] == FOREIGN


@given(flow=st.integers(0, 2**24 - 1), source=index, feedback=st.integers(0, 63))
def test_a_returned_frame_is_told_from_data_by_where_it_goes(flow, source, feedback):
    mark = CE | (feedback << 2)
    ends = {"flow": flow, "source": source, "destination": flow}
    frame = descriptor(kind=RETURNED, length=1500, mark=mark, feedback=feedback, **ends)
    kind, back = read(written(frame))
    assert kind == RETURNED
    assert fields(back) == fields(frame)
    frame.kind, frame.mark = DATA, ECT0
    assert read(written(frame))[0] == DATA


@given(flow=st.integers(0, 2**22 - 1), source=index, destination=index, hops=st.integers(0, 9))
def test_a_cnp_comes_back_and_scapy_finds_its_icrc_right(flow, source, destination, hops):
    frame = descriptor(
        kind=CNP,
        length=78,
        priority=6,
        flow=flow,
        source=source,
        destination=destination,
        hops=hops,
    )
    octets = written(frame)
    kind, back = read(octets)
    assert kind == CNP
    assert fields(back) == fields(frame)
    packet = Ether(octets)
    assert packet[IP].dst == str(IPv4Address(0x0A000000 + destination))
    assert packet[UDP].dport == 4791
    bth = packet[BTH]
    assert (bth.opcode, bth.becn, bth.dqpn, bth.psn) == (0x81, 1, flow, 0)
    assert bth.payload.name == "CNPPadding"
    assert bth.compute_icrc(bytes(bth)[:-4]) == octets[-4:]


def test_the_icrc_is_that_of_the_known_good_packet():
    octets = np.frombuffer(KNOWN_GOOD_CNP, np.uint8)
    found = int(icrc(octets, 0, octets.size - 4))
    assert found.to_bytes(4, "little") == KNOWN_GOOD_CNP[-4:]
    assert written(descriptor(kind=CNP, length=78, flow=0xD2))[46:74] == KNOWN_GOOD_CNP[28:56]


def test_a_cnp_whose_icrc_is_wrong_is_foreign():
    octets = bytearray(written(descriptor(kind=CNP, length=78, flow=2, source=9, destination=2)))
    octets[77] ^= 1
    assert read(bytes(octets))[0] == FOREIGN


@given(mark=st.integers(0, 255), before=st.integers(0, 255), hops=st.integers(0, 63))
def test_a_mark_and_a_hop_are_written_into_a_frame_that_stays_valid(mark, before, hops):
    frame = data(mark=before)
    row = np.frombuffer(written(frame), np.uint8).copy()
    rewrite(row, mark, hops)
    frame.mark, frame.hops = mark, hops
    assert row.tobytes() == written(frame)


def test_a_router_gives_a_frame_the_addresses_of_a_hop_and_it_is_still_the_same_frame():
    frame = data()
    row = np.frombuffer(written(frame), np.uint8).copy()
    address_hop(row, 0x55, mac_of(0x66))
    assert row[:12].tobytes() == bytes.fromhex("025442000066 025442000055")
    assert fields(read(row.tobytes())[1]) == fields(frame)
