"""Layouts of RoCEv2 packets: every field judged by tshark, the ICRC by scapy."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from orchestrator.engine.frames import FOREIGN, captured_codec, captured_tables, frame_codec
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.header_options import HeaderOptions
from orchestrator.engine.frames.roce_frame_types import (
    ACK_OCTETS,
    ACK_OPCODE,
    ACK_SYNDROME,
    LAST,
    LEAST_PAYLOAD,
    MIDDLE,
    NAK_SYNDROME,
    ONLY,
    RETH_OCTETS,
    RNR_SYNDROME,
    ROCE_TYPES,
    SEND_FIRST,
    WRITE_FIRST,
    extend_sequence,
    roce_length,
)
from orchestrator.engine.frames.roce_icrc import crc_octet, crc_zeros, icrc
from orchestrator.engine.frames.type_registry import type_table
from orchestrator.engine.records import ACK, CNP, DATA, FRAME, ROCE_ACK, ROCE_CNP, ROCE_DATA
from tests.traces.capture.tshark import needs_tshark, rows
from tests.traces.dissect.samples import capture

EVERY = [
    HeaderOptions(vlan, outer, ip, dscp, roce=True)
    for vlan, outer in ((None, None), (1, None), (300, 4094))
    for ip in (4, 6)
    for dscp in (False, True)
]
WITH_RETH = (WRITE_FIRST, WRITE_FIRST + ONLY)
OPCODES = [first + more for first in (SEND_FIRST, WRITE_FIRST) for more in (0, MIDDLE, LAST, ONLY)]
SYNDROMES = (ACK_SYNDROME, NAK_SYNDROME, *(RNR_SYNDROME | code for code in (0, 1, 12, 31)))
BTH_FIELDS = {"opcode", "m", "padcnt", "tver", "p_key", "destqp", "a", "psn"}
FIELDS = [
    *(f"infiniband.bth.{name}" for name in sorted(BTH_FIELDS)),
    *("infiniband.reth.va", "infiniband.reth.r_key", "infiniband.reth.dmalen"),
    *("infiniband.aeth.syndrome", "infiniband.aeth.msn", "infiniband.invariant.crc"),
    *("_ws.expert.severity", "ip.checksum.status", "udp.checksum.status"),
    *("udp.srcport", "udp.dstport", "udp.length", "ip.dsfield", "ipv6.tclass"),
]
CHECKS = ("ip.check_checksum:TRUE", "udp.check_checksum:TRUE")
WARNING = 0x600000


class Packet(NamedTuple):
    """A frame, and the row of the table of types that it is written by."""

    frame: np.record
    row: int


def data(opcode: int, payload: int, rng: random.Random, options: HeaderOptions) -> Packet:
    """A data packet with a payload of so many octets."""
    frame = _blank(DATA, rng)
    has_reth = opcode in WITH_RETH
    frame.length = roce_length(options.roce_octets, payload, has_reth)
    frame.feedback, frame.delta = opcode, (-payload & 3) << 1 | rng.randrange(2)
    frame.offset = rng.randrange(1, 2**32) if has_reth else 0
    return Packet(frame, ROCE_DATA)


def answer(syndrome: int, rng: random.Random, options: HeaderOptions) -> Packet:
    """An acknowledgement, or a negative one."""
    frame = _blank(ACK, rng)
    frame.length = ACK_OCTETS + options.longer
    frame.created, frame.feedback, frame.delta = 0, syndrome, rng.randrange(2**24)
    return Packet(frame, ROCE_ACK)


def notification(rng: random.Random, options: HeaderOptions) -> Packet:
    """A CNP."""
    frame = _blank(CNP, rng)
    frame.length = int(type_table(options)[ROCE_CNP].octets)
    frame.sequence = frame.created = frame.mark = 0
    return Packet(frame, ROCE_CNP)


def _blank(kind: int, rng: random.Random) -> np.record:
    frame = empty_descriptors(1)[0]
    frame.kind, frame.priority, frame.flow = kind, rng.randrange(8), rng.randrange(2**20)
    frame.source, frame.destination = rng.randrange(2**20), 2**20 + rng.randrange(2**20)
    frame.sequence, frame.created = rng.randrange(2**24), rng.randrange(2**50)
    frame.mark = rng.randrange(256)
    return frame


def packets(options: HeaderOptions, rng: random.Random) -> list[Packet]:
    """Every opcode with full and with odd payloads, all answers, a CNP."""
    found = [
        data(opcode, payload, rng, options)
        for opcode in OPCODES
        for payload in (256, 4096, *((1, 30) if opcode in WITH_RETH else (LEAST_PAYLOAD, 30, 33)))
    ]
    found += [answer(syndrome, rng, options) for syndrome in SYNDROMES]
    return [*found, notification(rng, options)]


def octets_of(packet: Packet, options: HeaderOptions) -> bytes:
    octets = np.full(9000, 0xAA, np.uint8)
    written = frame_codec.encode_by(type_table(options)[packet.row], packet.frame, octets)
    assert written == packet.frame.length  # an ICRC is the last that is written
    return octets[:written].tobytes()


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_packets_come_back(options: HeaderOptions):
    rng = random.Random(str(options))
    for packet in packets(options, rng):
        row = np.frombuffer(octets_of(packet, options), np.uint8)
        for held in (len(row), 128):  # of a capture that is cut there
            for tables in (type_table(options), None):
                back = empty_descriptors(1)[0]
                few = row[:held]
                if tables is None:
                    read = captured_codec.decode_captured
                    kind = read(captured_tables(), few, len(row), back)
                else:
                    kind = frame_codec.decode(tables, few, len(row), back)
                assert kind == packet.frame.kind
                left = {"priority"} if options.by_dscp or not options.tags else set()
                if tables is None and not options.by_dscp:
                    left = set() if options.tags else left
                for name in set(FRAME.names) - left:
                    assert back[name] == packet.frame[name], (name, packet)


@pytest.mark.parametrize("options", EVERY, ids=str)
@needs_tshark
def test_tshark_reads_every_field_and_finds_no_error(options: HeaderOptions, tmp_path: Path):
    rng = random.Random(1)
    sent = packets(options, rng)
    path = tmp_path / "a.pcap"
    path.write_bytes(capture([octets_of(packet, options) for packet in sent]))
    found = rows(path, FIELDS, preferences=CHECKS)
    assert len(found) == len(sent)
    for (frame, row), seen in zip(sent, found, strict=True):
        assert int(seen["_ws.expert.severity"] or 0) < WARNING, seen
        assert seen["udp.dstport"] == "4791"
        assert int(seen["udp.srcport"]) == 0xC800 | int(frame.flow) & 0x7FF
        behind = int(frame.length) - options.msdu - 2 - (40 if options.ip == 6 else 20)
        assert int(seen["udp.length"]) == behind
        assert int(seen["ipv6.tclass"] or seen["ip.dsfield"], 0) == (frame.mark or 0xC0)
        status = "udp.checksum.status" if options.ip == 6 else "ip.checksum.status"
        assert seen[status] == "1"
        value = {name: int(seen[f"infiniband.bth.{name}"], 0) for name in BTH_FIELDS}
        assert (value["p_key"], value["tver"]) == (0xFFFF, 0)
        if row != ROCE_CNP:  # tshark 4.0 names no header of opcode 0x81 behind the BTH
            assert len(seen["infiniband.invariant.crc"]) == len("0x12345678")
        side = 0x800000 if row == ROCE_DATA else 0x400000
        assert value["destqp"] == side + frame.flow
        assert value["psn"] == frame.sequence
        reth = [seen[f"infiniband.reth.{name}"] for name in ("va", "r_key", "dmalen")]
        aeth = [seen[f"infiniband.aeth.{name}"] for name in ("syndrome", "msn")]
        if row == ROCE_DATA:
            assert value["opcode"] == frame.feedback
            assert (value["a"], value["padcnt"]) == (frame.delta & 1, frame.delta >> 1)
            if frame.feedback in WITH_RETH:
                assert [int(one, 0) for one in reth] == [frame.created, 0, frame.offset]
            else:
                assert reth == ["", "", ""]
            assert aeth == ["", ""]
        elif row == ROCE_ACK:
            assert value["opcode"] == ACK_OPCODE
            assert [int(one, 0) for one in aeth] == [frame.feedback, frame.delta]
        else:
            assert value["opcode"] == 0x81


@pytest.mark.parametrize("options", EVERY, ids=str)
def test_scapy_makes_the_same_icrc(options: HeaderOptions):
    """Each packet built anew by scapy, its ICRC and checksums left out, is the packet."""
    rng = random.Random(2)
    for packet in packets(options, rng):
        octets = octets_of(packet, options)
        again = Ether(octets)
        assert again[BTH].opcode in (*OPCODES, ACK_OPCODE, 0x81)
        assert again[BTH].padcount == (packet.frame.delta >> 1 if packet.row == ROCE_DATA else 0)
        if packet.row == ROCE_ACK:
            assert again[AETH].syndrome == packet.frame.feedback
        again[BTH].icrc = None
        if options.ip == 4:
            del again[IP].chksum
        again = Ether(bytes(again))
        if options.ip == 6:
            del again[UDP].chksum  # it covers the ICRC
        assert bytes(again) == octets


@pytest.mark.parametrize("options", EVERY[:2], ids=str)
def test_a_changed_octet_is_found_by_the_icrc(options: HeaderOptions):
    """But for those that routers change, and tags, which it does not cover."""
    rng = random.Random(5)
    packet = data(WRITE_FIRST + MIDDLE, 256, rng, options)
    octets = octets_of(packet, options)
    types, ip = type_table(options), options.msdu + 2
    free = {1, 8, 10, 11, 26, 27, 32} if options.ip == 4 else {0, 1, 2, 3, 7, 46, 47, 52}
    for place in range(ip, len(octets)):
        if place - ip in free:
            continue
        row = np.frombuffer(octets, np.uint8).copy()
        row[place] ^= 1 << rng.randrange(8)
        kind = frame_codec.decode(types, row, len(row), empty_descriptors(1)[0])
        assert kind == FOREIGN, place - ip


def test_a_run_of_zeros_is_as_so_many_octets_of_zeros():
    rng = random.Random(6)
    for count in (0, 1, 2, 63, 64, 65, 1000, 4096):
        crc = rng.randrange(2**32)
        one = crc
        for _ in range(count):
            one = int(crc_octet(one, 0))
        assert int(crc_zeros(crc, count)) == one


@pytest.mark.parametrize("ip", [4, 6])
def test_any_payload_has_the_icrc_that_scapy_computes(ip: int):
    """Payloads with runs of zeros of any length, at any place."""
    rng = random.Random(ip)
    options = HeaderOptions(None, None, ip, roce=True)
    for _ in range(20):
        payload = b"".join(
            rng.randbytes(rng.randrange(20)) + bytes(rng.choice([0, 7, 63, 64, 65, 200]))
            for _ in range(rng.randrange(1, 6))
        )
        packet = data(WRITE_FIRST + MIDDLE, len(payload) + LEAST_PAYLOAD, rng, options)
        frame = octets_of(packet, options)
        padding = bytes(packet.frame.delta >> 1)
        octets = frame[: -4 - len(padding) - len(payload)] + payload + padding
        built = Ether(octets + bytes(4))
        built[BTH].icrc = None
        wanted = bytes(built)[-4:]
        row = np.frombuffer(octets + bytes(4), np.uint8).copy()
        begin = options.msdu + 2
        assert int(icrc(row, begin, len(octets))).to_bytes(4, "little") == wanted


def test_a_sequence_is_the_one_near_the_last_that_a_psn_stands_for():
    rng = random.Random(7)
    for _ in range(1000):
        near, off = rng.randrange(2**40), rng.randrange(-(2**23), 2**23)
        assert int(extend_sequence((near + off) & 0xFFFFFF, near)) == near + off
        assert int(extend_sequence(near + off, near)) == near + off  # the simulator's


def test_the_shortest_frames_need_no_padding_of_ethernet():
    for options in EVERY:
        table = type_table(options)
        for each in ROCE_TYPES:
            assert table[each.kind].least >= 60
        assert roce_length(options.roce_octets, 1, True) >= table[ROCE_DATA].least
        assert roce_length(options.roce_octets, LEAST_PAYLOAD, False) == table[ROCE_DATA].least
    assert RETH_OCTETS == 16
