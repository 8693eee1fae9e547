"""A capture's statements of its frames are used: FCS, losses, errors of the link, rates, times."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

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
    """Five frames with 4 octets of FCS, stated by the pcap header, the interface, or each frame, or
    shown by frames that end with their CRC."""
    unstated = how.startswith("unstated")
    frame = FRAME + (word(zlib.crc32(FRAME)) if unstated else b"\1\2\3\4")
    if how == "unstated in pcap":
        return written(path, make.pcap([(1, n * 10, frame, len(frame)) for n in range(5)], order))
    if how == "header":
        records = [(1, n * 10, frame, len(frame)) for n in range(5)]
        return written(path, make.pcap(records, order, linktype=1 | 1 << 26 | 2 << 28))
    options = {"interface": [(13, b"\4")], "bits": [(13, b"\x20")], "frames": []}.get(how, [])
    flags = make.option(2, word(4 << 5, order), order) if how == "frames" else b""
    blocks = [make.enhanced(0, T // 1000 + n * 10, frame, order, flags) for n in range(5)]
    return written(path, make.section(order), make.interface(order, options), *blocks)


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(
    "how", ["header", "interface", "bits", "frames", "unstated in pcap", "unstated"]
)
def test_the_fcs_is_no_part_of_a_frame(tmp_path: Path, how: str, order: str) -> None:
    path = with_fcs(tmp_path / "a", how, order)
    one = seen(path)
    assert (one.octets, one.frames["other"]) == (5 * 100, 5)
    assert one.conversations[0].throughput_bps == pytest.approx(100 * 8 / 10e-6)
    with CaptureStream(path, 1000 if how.startswith("unstated") else 64) as stream:
        for batch in stream.batches():
            assert {batch.frame(row) for row in range(len(batch))} == {FRAME}
    assert set(Trace(file=str(path)).captured().tolist()) == {100}
    assert one.fcs_unstated == how.startswith("unstated")


@pytest.mark.parametrize("odd", [FRAME, FRAME[:40] + word(zlib.crc32(FRAME[:40]))])
def test_one_frame_without_fcs_shows_that_there_is_none(tmp_path: Path, odd: bytes) -> None:
    """Or one that is too short to have been on Ethernet with it."""
    frame = FRAME + word(zlib.crc32(FRAME))
    records = [(1, n, one, len(one)) for n, one in enumerate([frame, odd, frame])]
    assert seen(written(tmp_path / "a", make.pcap(records))).fcs_octets == 0


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


@needs_tshark
@pytest.mark.parametrize("how", ["header", "interface", "frames"])
def test_tshark_takes_the_same_octets_for_the_fcs(tmp_path: Path, how: str) -> None:
    path = with_fcs(tmp_path / "a.pcap", how)
    assert {row["eth.fcs"] for row in rows(path, ["eth.fcs"])} == {"0x01020304"}
