"""Cooked captures, raw IP and BSD loopback are dissected as Ethernet frames are, wherever a buffer
ends."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from tests.traces.capture import captures as make
from tests.traces.capture.test_frame_flags import T, seen, text_of, written
from tests.traces.capture.tshark import needs_tshark, rows
from traces.capture import open_capture
from traces.capture.capture_stream import CaptureStream
from traces.capture.frame_batch import Batch
from traces.capture.link_headers import is_readable, to_ethernet


def packets() -> list[bytes]:
    """IP packets of many kinds, with the EtherType in front."""
    ends = {"src": "10.0.0.1", "dst": "10.0.0.2"}
    v6 = {"src": "fd00::1", "dst": "fd00::2"}
    bth = bytes.fromhex("0a00ffff 00000011 00000005")
    kinds = [
        (0x0800, IP(**ends, tos=3) / UDP(sport=7, dport=9) / bytes(30)),
        (0x0800, IP(**ends) / TCP(sport=80, dport=1000, seq=5) / bytes(60)),
        (0x0800, IP(**ends) / UDP(sport=50000, dport=4791) / (bth + bytes(20))),
        (0x86DD, IPv6(**v6) / UDP(sport=50000, dport=4791) / (bth + bytes(20))),
        (0x86DD, IPv6(**v6) / TCP(sport=1, dport=2) / bytes(9)),
    ]
    return [struct.pack(">H", kind) + bytes(packet) for kind, packet in kinds]


MAC = bytes.fromhex("020000000007")


def cooked(packet: bytes, way: int = 0) -> bytes:
    """SLL: packet type, ARPHRD, address length, address, protocol."""
    return struct.pack(">HHH", way, 1, 6) + MAC + bytes(2) + packet


def cooked2(packet: bytes, way: int = 0) -> bytes:
    """SLL2: protocol, reserved, interface, ARPHRD, packet type, address length, address."""
    return packet[:2] + struct.pack(">HIHBB", 0, 3, 1, way, 6) + MAC + bytes(2) + packet[2:]


def loopback(order: str, family_of_ip6: int) -> Callable[..., bytes]:
    """NULL, in either order of octets, and LOOP: the address family."""

    def framed(packet: bytes, way: int = 0) -> bytes:
        family = 2 if packet[:2] == b"\x08\x00" else family_of_ip6
        return struct.pack(f"{order}I", family) + packet[2:]

    return framed


LINKS = {
    113: cooked,
    276: cooked2,
    101: lambda packet, way=0: packet[2:],
    0: loopback("<", 30),
    108: loopback(">", 24),
}
HEADERLESS = (101, 0, 108)
"""IP packets alone: without the length of an Ethernet header, and without addresses."""


def of_linktype(path: Path, linktype: int, frames: Sequence[bytes], form: str) -> Path:
    """Frames in a pcap, or in enhanced or simple packet blocks of pcapng."""
    if form == "pcap":
        records = [(1, n, frame, len(frame)) for n, frame in enumerate(frames)]
        return written(path, make.pcap(records, linktype=linktype))
    interface = make.block(1, struct.pack("<HHI", linktype, 0, 0) + make.option(9, b"\x09"))
    blocks = [
        make.simple(frame, len(frame)) if form == "simple" else make.enhanced(0, T + n, frame)
        for n, frame in enumerate(frames)
    ]
    return written(path, make.section(), interface, *blocks)


@pytest.mark.parametrize("form", ["pcap", "enhanced", "simple"])
@pytest.mark.parametrize("linktype", LINKS)
def test_cooked_captures_and_raw_ip_are_dissected(tmp_path: Path, linktype: int, form: str) -> None:
    """The same flows as over Ethernet, wherever the borders of the buffer lie."""
    plain = [MAC + MAC + packet for packet in packets()]
    reference = seen(of_linktype(tmp_path / "ether", 1, plain, form))
    path = of_linktype(tmp_path / "a", linktype, [LINKS[linktype](p) for p in packets()], form)
    one = seen(path)
    assert (one.linktype, one.frames, one.ce) == (linktype, reference.frames, 1)
    link_header = 0 if linktype in HEADERLESS else 14
    assert one.octets == sum(len(packet) - 2 + link_header for packet in packets())
    names = (
        "from_address",
        "to_address",
        "protocol",
        "source_port",
        "destination_port",
        "qp",
        "kind",
    )
    wanted, flows = (
        sorted(str([getattr(flow, name) for name in names]) for flow in seen_.conversations)
        for seen_ in (reference, one)
    )
    assert flows == wanted
    assert {flow.source for flow in one.conversations} == (
        {"00:00:00:00:00:00"} if linktype in HEADERLESS else {"02:00:00:00:00:07"}
    )

    def octets(buffer: int, rows: int = 1 << 14) -> list[bytes]:
        with CaptureStream(path, buffer, rows, ethernet=True) as stream:
            return [b.frame(row)[12:] for b in stream.batches() for row in range(len(b))]

    assert octets(64) == octets(1 << 20) == octets(300, 2) == packets()


@pytest.mark.parametrize("linktype", [113, 276])
def test_cooked_headers_state_directions_and_may_be_cut(tmp_path: Path, linktype: int) -> None:
    frames = [LINKS[linktype](packets()[0], way) for way in (0, 1, 4)]
    frames += [frames[0][:cut] for cut in (0, 5, 15, 19)]
    path = of_linktype(tmp_path / "a", linktype, frames, "pcap")
    with open_capture(path, ethernet=True) as stream:
        (batch,) = stream.batches()
        assert batch.direction.tolist()[:3] == [1, 1, 2]
    assert seen(path).frames["other"] == 7


def test_any_cooked_octets_are_read(tmp_path: Path) -> None:
    rng = random.Random(5)
    for linktype in (113, 276, 101, 228, 14, 0, 108):
        frames = [rng.randbytes(rng.choice((0, 1, 13, 16, 20, 40, 90))) for _ in range(200)]
        for form in ("pcap", "simple"):
            path = of_linktype(tmp_path / "a", linktype, frames, form)
            assert sum(seen(path).frames.values()) == 200
            with CaptureStream(path, 64, ethernet=True) as stream:
                assert sum(len(batch) for batch in stream.batches()) == 200


def test_other_link_types_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = of_linktype(tmp_path / "a", 105, [bytes(60)], "pcap")
    assert "link type 105: only Ethernet (1)" in text_of(path, capsys)


def test_vlan_tags_of_cooked_frames(tmp_path: Path) -> None:
    tagged = bytes(Ether() / Dot1Q(vlan=7, prio=3) / IP() / UDP())[12:]
    one = seen(of_linktype(tmp_path / "a", 113, [cooked(tagged)], "pcap"))
    assert (one.conversations[0].vlan, one.conversations[0].priority) == (7, 3)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("family", [10, 23, 24, 28, 30])
def test_every_systems_loopback_is_read(tmp_path: Path, order: str, family: int) -> None:
    """Linux, Windows, the BSDs and macOS differ in the family of IPv6, machines in the order."""
    frames = [loopback(order, family)(packet) for packet in packets()]
    frames += [frames[0][:cut] for cut in (0, 3, 4)]
    one = seen(of_linktype(tmp_path / "a", 0, frames, "pcap"))
    known = [flow for flow in one.conversations if flow.from_address]
    assert sum(flow.frames for flow in known) == len(packets())
    assert sum(one.frames.values()) == len(frames)


@needs_tshark
@pytest.mark.parametrize("linktype", LINKS)
def test_tshark_reads_the_same_addresses(tmp_path: Path, linktype: int) -> None:
    path = of_linktype(
        tmp_path / "a.pcap", linktype, [LINKS[linktype](p) for p in packets()], "pcap"
    )
    fields = ["ip.src", "ipv6.src", "udp.dstport", "tcp.dstport", "infiniband.bth.destqp"]
    theirs = sorted(
        (row["ip.src"] or row["ipv6.src"], row["udp.dstport"] or row["tcp.dstport"])
        for row in rows(path, fields)
    )
    flows = seen(path).conversations
    assert sorted((one.from_address, str(one.destination_port)) for one in flows) == theirs


def batch_of(frames: Sequence[bytes], room: int = 0) -> Batch:
    """Frames one after another, with `room` octets in front of each."""
    offsets, at = [], 0
    for frame in frames:
        offsets.append(at + room)
        at += room + len(frame)
    octets = np.full(at + 2, 0xEE, np.uint8)
    for offset, frame in zip(offsets, frames, strict=True):
        octets[offset : offset + len(frame)] = np.frombuffer(frame, np.uint8)
    sizes = np.array([len(frame) for frame in frames], np.int64)
    count = len(frames)
    return Batch(
        octets,
        np.array(offsets, np.int64),
        sizes.copy(),
        sizes + 100,
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int8),
        0,
        0,
        1,
    )


@pytest.mark.parametrize("linktype", [113, 276])
def test_a_cooked_header_becomes_one_of_ethernet(linktype: int) -> None:
    """Destination 0, the source's address where SLL has it, the protocol as EtherType."""
    frames = [LINKS[linktype](b"\x08\x00" + b"abcdef", way) for way in (0, 4, 3)]
    batch = batch_of(frames)
    batch.direction[2] = 1  # the file itself states a direction: it stays
    to_ethernet(batch, np.array([linktype]))
    for row in range(3):
        assert batch.frame(row) == bytes(6) + MAC + b"\x08\x00abcdef"
    assert batch.captured.tolist() == [14 + 6] * 3
    assert batch.original.tolist() == [14 + 6 + 100] * 3
    assert batch.direction.tolist() == [1, 2, 1]


@pytest.mark.parametrize("linktype", [113, 276])
def test_the_protocol_of_a_netlink_frame_is_no_ethertype(linktype: int) -> None:
    frame = bytearray(LINKS[linktype](b"\x08\x00payload"))
    place = 2 if linktype == 113 else 8
    frame[place : place + 2] = struct.pack(">H", 824)
    other = bytearray(frame)
    other[place + 1] += 1
    batch = batch_of([bytes(frame), bytes(other)])
    to_ethernet(batch, np.array([linktype]))
    assert batch.frame(0)[12:14] == b"\0\0"
    assert batch.frame(1)[12:14] == b"\x08\x00"


@pytest.mark.parametrize(("linktype", "header"), [(113, 16), (276, 20)])
def test_a_cut_cooked_header_counts_as_empty(linktype: int, header: int) -> None:
    complete = LINKS[linktype](b"\x08\x00")
    assert len(complete) == header
    batch = batch_of([complete[:-1], complete])
    to_ethernet(batch, np.array([linktype]))
    assert batch.captured.tolist() == [0, 14]
    assert batch.direction.tolist() == [0, 1]


@pytest.mark.parametrize("linktype", [101, 12, 14, 228, 229])
def test_raw_ip_gets_the_ethertype_of_its_version(linktype: int) -> None:
    frames = [b"\x45four", b"\x60six", b"\x70none", b""]
    batch = batch_of(frames, room=14)
    to_ethernet(batch, np.array([linktype]))
    kinds = [b"\x08\x00", b"\x86\xdd", b"\0\0"]
    for row, kind in enumerate(kinds):
        assert batch.frame(row) == bytes(12) + kind + frames[row]
    assert batch.captured.tolist() == [14 + 5, 14 + 4, 14 + 5, 0]
    assert batch.original.tolist() == [100 + 5, 100 + 4, 100 + 5, 100]  # as long as on its link
    assert batch.offset.tolist() == [0, 19, 37, 14 * 4 + 14]


def test_raw_ip_at_the_beginning_of_a_buffer_is_moved_to_make_room() -> None:
    batch = batch_of([b"\x45" + bytes(range(40))], room=12)
    to_ethernet(batch, np.array([101]))
    assert batch.offset.tolist() == [0]
    assert batch.frame(0) == bytes(12) + b"\x08\x00\x45" + bytes(range(40))


def test_ethernet_frames_stay_as_they_are() -> None:
    batch = batch_of([b"x" * 60])
    to_ethernet(batch, np.array([1]))
    assert (batch.frame(0), batch.original.tolist()) == (b"x" * 60, [160])


def test_readable_link_types_are_ethernet_cooked_captures_and_ip() -> None:
    readable = {number for number in range(300) if is_readable(number)}
    assert readable == {0, 1, 12, 14, 101, 108, 113, 228, 229, 276}
