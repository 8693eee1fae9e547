"""What a capture states of its frames is used: FCS, losses, errors, rates, link types, times."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from orchestrator.terminal import format_output
from tests.traces.capture import captures as make
from tests.traces.capture.tshark import needs_tshark, rows
from traces.analysis import analyze, show
from traces.analysis.analysis_result import InterfaceSeen
from traces.capture import NO_TIME, open_capture
from traces.capture.capture_stream import CaptureStream
from traffic.capture_replay import Trace

FRAME = bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01") / IP() / UDP() / bytes(58))
T = 1_700_000_000_000_000_000


def written(path: Path, *parts: bytes) -> Path:
    path.write_bytes(b"".join(parts))
    return path


def seen(path: Path) -> InterfaceSeen:
    """The only interface of a capture."""
    (one,) = analyze(path).interfaces
    return one


def text_of(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    show(analyze(path), format_output.console())
    return " ".join(capsys.readouterr().out.split())


def notes(path: Path) -> str:
    """The notes of a source that repeats a capture."""
    return "; ".join(Trace(file=str(path)).notes())


def word(value: int, order: str = "<") -> bytes:
    return struct.pack(order + "I", value)


def long_word(value: int, order: str = "<") -> bytes:
    return struct.pack(order + "Q", value)


def with_fcs(path: Path, how: str, order: str = "<") -> Path:
    """Five frames with 4 octets of FCS, stated by the pcap header, the interface, or each frame."""
    frame = FRAME + b"\1\2\3\4"
    if how == "header":
        records = [(1, n * 10, frame, len(frame)) for n in range(5)]
        return written(path, make.pcap(records, order, linktype=1 | 1 << 26 | 2 << 28))
    options = {"interface": [(13, b"\4")], "bits": [(13, b"\x20")], "frames": []}[how]
    flags = make.option(2, word(4 << 5, order), order) if how == "frames" else b""
    blocks = [make.enhanced(0, T // 1000 + n * 10, frame, order, flags) for n in range(5)]
    return written(path, make.section(order), make.interface(order, options), *blocks)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("how", ["header", "interface", "bits", "frames"])
def test_the_fcs_is_no_part_of_a_frame(tmp_path: Path, how: str, order: str) -> None:
    path = with_fcs(tmp_path / "a", how, order)
    one = seen(path)
    assert (one.octets, one.frames["other"]) == (5 * 100, 5)
    assert one.conversations[0].throughput_bps == pytest.approx(100 * 8 / 10e-6)
    with CaptureStream(path, 64) as stream:
        for batch in stream.batches():
            assert {batch.frame(row) for row in range(len(batch))} == {FRAME}
    assert set(Trace(file=str(path)).captured().tolist()) == {100}


def test_the_fcs_of_a_frame_that_is_cut(tmp_path: Path) -> None:
    blocks = [make.enhanced(0, T // 1000, FRAME[:kept], length=104) for kept in (60, 98, 100)]
    path = written(tmp_path / "a", make.section(), make.interface(options=[(13, b"\4")]), *blocks)
    with open_capture(path) as stream:
        (batch,) = stream.batches()
        assert batch.captured.tolist() == [60, 98, 100]
        assert batch.original.tolist() == [100, 100, 100]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    ("between", "interface", "system", "total"),
    [
        ([3, 0, 4], None, None, 7),
        ([0, 0], None, None, 0),
        ([], 5, None, 5),
        ([], None, 6, 6),
        ([], 5, 6, 11),
        ([2, 9], 5, 6, 11),
        ([2, 19], 5, 6, 21),
        ([], None, None, None),
        ([2**63, 2**64 - 1], None, None, 1 << 61),
    ],
)
def test_lost_frames_are_counted(
    tmp_path: Path,
    order: str,
    between: list[int],
    interface: int | None,
    system: int | None,
    total: int | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    blocks = [
        make.enhanced(0, T, FRAME, order, make.option(4, long_word(count, order), order))
        for count in between
    ] or [make.enhanced(0, T, FRAME, order)]
    counters = [(5, interface), (7, system)]
    options = b"".join(
        make.option(c, long_word(v, order), order) for c, v in counters if v is not None
    )
    statistics = make.block(5, struct.pack(order + "III", 0, 0, 0) + options, order)
    head = make.section(order), make.interface(order, [(9, b"\x09")])
    path = written(tmp_path / "a", *head, *blocks, statistics)
    one = seen(path)
    assert one.capture_drops == total
    if interface is not None and system is not None and len(between) == 2:
        assert one.drops["interface"] + one.drops["system"] == 11
        assert one.drops["between_frames"] == sum(between)
    text = text_of(path, capsys)
    assert ("does not state" in text) == (total is None)
    assert (f"the capture lost {total} frames" in text) == bool(total)
    assert (f"lost {total} frames, which are not sent" in notes(path)) == bool(total)


def test_errors_of_the_link_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    errors = [1 << 24, 0, 1 << 24 | 1, 1 << 26, 1 << 31 | 1 << 24 | 2]
    blocks = [make.enhanced(0, T + n, FRAME, options=make.option(2, word(e)))
              for n, e in enumerate(errors)]  # fmt: skip
    path = written(tmp_path / "a", make.section(), make.interface(options=[(9, b"\x09")]), *blocks)
    one = seen(path)
    assert one.link_errors == {"crc": 3, "too_short": 1, "symbol": 1}
    assert sum(one.frames.values()) == 5
    assert "errors of the link: 3 crc, 1 too short, 1 symbol" in text_of(path, capsys)
    assert "3 crc" in notes(path)
    with open_capture(path) as stream:
        (batch,) = stream.batches()
        assert batch.direction.tolist() == [0, 0, 1, 0, 2]


@pytest.mark.parametrize(
    ("options", "rate"),
    [
        ([(8, 10)], 10),
        ([(16, 100), (17, 100)], 100),
        ([(16, 10), (17, 100)], 100),
        ([(17, 25)], 25),
        ([(8, 40), (16, 10), (17, 10)], 40),
        ([(8, 0), (16, 0)], None),
        ([], None),
    ],
)
def test_link_speeds_give_pause_times(
    tmp_path: Path, options: Sequence[tuple[int, int]], rate: int | None
) -> None:
    pause = bytes.fromhex("0180c2000001 020000000001 8808 0001 0400") + bytes(42)
    values = [(9, b"\x09"), *((code, long_word(value * 10**9)) for code, value in options)]
    blocks = make.enhanced(0, T, pause), make.enhanced(0, T + 10**6, FRAME)
    path = written(tmp_path / "a", make.section(), make.interface(options=values), *blocks)
    one = seen(path)
    assert one.rate_bps == (None if rate is None else rate * 10**9)
    expected = None if rate is None else pytest.approx(1024 * 512 / (rate * 1e9), abs=1e-9)
    assert one.links[0].paused_s == expected
    stated = dict(options)
    assert one.transmit_bps == (stated.get(16, 0) * 10**9 or None)


@pytest.mark.parametrize("buffer", [64, 1 << 20])
@pytest.mark.parametrize("odd", [[3], [0], [19], [0, 1, 2], list(range(20))])
def test_odd_times_do_not_end_the_reading(tmp_path: Path, odd: list[int], buffer: int) -> None:
    times = [2**64 - 1 - n if n in odd else T + n * 1000 for n in range(20)]
    blocks = [make.enhanced(0, time, FRAME) for time in times]
    path = written(tmp_path / "a", make.section(), make.interface(options=[(9, b"\x09")]), *blocks)
    with CaptureStream(path, buffer) as stream:
        found = [time for batch in stream.batches() for time in batch.time_ns.tolist()]
        assert stream.damage is None
    assert found == [NO_TIME if n in odd else T + n * 1000 for n in range(20)]
    result = analyze(path)
    assert (result.captures[0].frames, result.captures[0].damage) == (20, None)
    (one,) = result.interfaces
    assert (one.untimed, one.frames["other"]) == (len(odd), 20)
    timed = [n for n in range(20) if n not in odd]
    assert one.seconds == pytest.approx((timed[-1] - timed[0]) / 1e6 if timed else 0)


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


LINKS = {113: cooked, 276: cooked2, 101: lambda packet, way=0: packet[2:]}


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
    link_header = 0 if linktype == 101 else 14
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
        {"00:00:00:00:00:00"} if linktype == 101 else {"02:00:00:00:00:07"}
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
    for linktype in (113, 276, 101, 228, 14):
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


@needs_tshark
@pytest.mark.parametrize("how", ["header", "interface", "frames"])
def test_tshark_takes_the_same_octets_for_the_fcs(tmp_path: Path, how: str) -> None:
    path = with_fcs(tmp_path / "a.pcap", how)
    assert {row["eth.fcs"] for row in rows(path, ["eth.fcs"])} == {"0x01020304"}
