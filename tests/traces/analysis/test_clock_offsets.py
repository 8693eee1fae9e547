"""Clocks of several captures: offset, drift, and what is not known of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.traces.analysis.test_flow_identity import roce
from tests.traces.capture.captures import pcap
from traces.analysis import Analysis, analyze

LATENCY_NS = 2000
Sent = tuple[int, bytes]


def write(path: Path, frames: list[Sent], offset: int = 0, ppm: float = 0.0) -> Path:
    """A capture by a clock that is so many ns ahead and gains so many millionths."""
    records = []
    for time, octets in sorted(frames, key=lambda one: one[0]):
        seconds, ns = divmod(10**11 + round(time * (1 + ppm / 1e6)) + offset, 10**9)
        records.append((seconds, ns, octets, len(octets)))
    path.write_bytes(pcap(records, magic=0xA1B23C4D))
    return path


def answer(psn: int) -> bytes:
    ends = {"src": "02:00:00:00:00:02", "dst": "02:00:00:00:00:01"}
    frame = bytearray(roce(psn, opcode=17, qp=0x77, **ends))
    frame[26:30], frame[30:34] = frame[30:34], frame[26:30]  # IP addresses
    return bytes(frame)


def points(count: int, gap: int = 10_000, both: bool = True, more=lambda n: 0):
    """What two points hold of frames from the first to the second and of their answers."""
    first: list[Sent] = []
    second: list[Sent] = []
    for n in range(count):
        first.append((gap * n, roce(n)))
        second.append((gap * n + LATENCY_NS + more(n), roce(n)))
        if both:
            second.append((gap * n + 3000 + more(n), answer(n)))
            first.append((gap * n + 3000 + LATENCY_NS + 2 * more(n), answer(n)))
    return first, second


def captured(folder: Path, both: bool, offset: int, ppm: float = 0.0, count: int = 200) -> Analysis:
    first, second = points(count, both=both, gap=10_000 if not ppm else 5_000_000)
    return analyze(write(folder / "a.pcap", first), write(folder / "b.pcap", second, offset, ppm))


@given(st.sampled_from([-37 * 10**9, -(10**6), -10_000, -2500, 2500, 10_000, 10**9, 37 * 10**9]))
@settings(max_examples=8, deadline=None)
def test_an_offset_is_found_and_taken_off(tmp_path_factory, offset) -> None:
    seen = captured(tmp_path_factory.mktemp("clocks"), True, offset)
    (clock,) = seen.clocks
    assert (clock.verdict, clock.corrected) == ("differ", True)
    assert clock.offset_s == pytest.approx(offset / 1e9, abs=1e-9)
    assert clock.uncertainty_s == pytest.approx(2e-6)
    ways = {(one.before, one.after, one.qp) for one in seen.latency}
    assert ways == {("a", "b", 0x11), ("b", "a", 0x77)}
    for one in seen.latency:
        assert (one.frames, one.clocks) == (200, "corrected")
        assert one.latency_s["min"] == pytest.approx(2e-6, abs=2e-9)
        assert one.latency_s["max"] == pytest.approx(2e-6, abs=2e-9)


def test_clocks_that_agree_are_left_alone(tmp_path) -> None:
    """An offset that no frame contradicts is estimated and said, and not taken off."""
    seen = captured(tmp_path, True, 500)
    (clock,) = seen.clocks
    assert (clock.verdict, clock.corrected) == ("agree", False)
    assert clock.offset_s == pytest.approx(500e-9)
    assert sorted(one.latency_s["min"] for one in seen.latency) == pytest.approx([1.5e-6, 2.5e-6])
    assert {one.clocks for one in seen.latency} == {"agree"}


@pytest.mark.parametrize("ppm", [-80.0, 20.0, 100.0])
def test_drift(tmp_path, ppm) -> None:
    """Of up to 100 us in a second."""
    seen = captured(tmp_path, True, 40_000, ppm)
    (clock,) = seen.clocks
    assert clock.verdict == "differ"
    assert clock.drift_ppm == pytest.approx(ppm, rel=0.02)
    for one in seen.latency:
        assert one.frames == 200
        assert one.latency_s["max"] == pytest.approx(2e-6, abs=0.4e-6)
        assert one.latency_s["min"] == pytest.approx(2e-6, abs=0.4e-6)


def test_a_queue_is_no_drift(tmp_path) -> None:
    """Latency of one direction that grows by 40 us, with clocks that agree."""
    grown = [(200 * n, n) for n in range(200)]
    first = [(10_000 * n, roce(n)) for _, n in grown]
    second = [(10_000 * n + LATENCY_NS + late, roce(n)) for late, n in grown]
    second += [(10_000 * n + 60_000, answer(n)) for _, n in grown]
    first += [(10_000 * n + 60_000 + LATENCY_NS, answer(n)) for _, n in grown]
    seen = analyze(write(tmp_path / "a.pcap", first), write(tmp_path / "b.pcap", second))
    (clock,) = seen.clocks
    assert (clock.verdict, clock.drift_ppm) == ("agree", 0.0)
    assert {round(one.latency_s["max"] * 1e9) for one in seen.latency} == {2000, 41_800}


def test_frames_of_one_direction_do_not_tell(tmp_path) -> None:
    seen = captured(tmp_path, False, -10_000)
    (clock,) = seen.clocks
    assert (clock.verdict, clock.offset_s, clock.corrected) == ("unverified", None, False)
    assert {one.clocks for one in seen.latency} == {"unverified"}


@pytest.mark.parametrize("offset", [37 * 10**9, -37 * 10**9, 2 * 10**9])
def test_an_absurd_latency_is_not_given(tmp_path, offset) -> None:
    seen = captured(tmp_path, False, offset)
    (clock,) = seen.clocks
    assert (clock.verdict, seen.latency) == ("absurd", [])
    assert clock.least_s == pytest.approx(abs(offset) / 1e9, rel=1e-3)


def test_routers_tell_the_direction(tmp_path) -> None:
    first = [(10_000 * n, roce(n)) for n in range(50)]
    second = [(10_000 * n + 2000, roce(n, ttl=63)) for n in range(50)]
    one = write(tmp_path / "a.pcap", first)
    good = analyze(one, write(tmp_path / "b.pcap", second))
    assert ([one.verdict for one in good.clocks], len(good.latency)) == (["unverified"], 1)
    bad = analyze(one, write(tmp_path / "b.pcap", second, -10_000))
    (clock,) = bad.clocks
    assert (clock.verdict, bad.latency) == ("contradict", [])
    assert clock.least_s == pytest.approx(8e-6)


def test_three_clocks_in_a_row(tmp_path) -> None:
    first, second = points(60)
    third = [
        (time + LATENCY_NS, octets) if n % 2 == 0 else (time - LATENCY_NS, octets)
        for n, (time, octets) in enumerate(second)
    ]
    paths = [
        write(tmp_path / name, frames, offset)
        for name, frames, offset in (
            ("a.pcap", first, 0), ("b.pcap", second, 50_000), ("c.pcap", third, -70_000)
        )
    ]  # fmt: skip
    seen = analyze(*paths)
    hops = {(one.before, one.after): one.latency_s["mean"] for one in seen.latency}
    assert set(hops) == {("a", "b"), ("b", "c"), ("c", "b"), ("b", "a")}
    assert list(hops.values()) == pytest.approx([2e-6] * 4, abs=0.1e-6)


def test_what_is_known_of_clocks_is_said(tmp_path) -> None:
    from tests.traces.analysis.test_foreign import run

    first, second = points(40)
    one = write(tmp_path / "a.pcap", first)
    text = " ".join(run(one, write(tmp_path / "b.pcap", second, -10_000)).stdout.split())
    assert "times are corrected" in text
    _, alone = points(40, both=False)
    text = " ".join(run(one, write(tmp_path / "b.pcap", alone)).stdout.split())
    assert "frames went one way only" in text


def test_ports_of_one_file_have_one_clock(tmp_path) -> None:
    from tests.traces.analysis.test_hops_and_cascades import data, port
    from traces import pcapng

    ports = [
        port(name, [(10 * n + late, True, data(n), 1500) for n in range(30)])
        for name, late in (("a.b", 0), ("b.c", 3))
    ]
    pcapng.write(tmp_path / "a.pcapng", ports)
    seen = analyze(tmp_path / "a.pcapng")
    assert (seen.clocks, [one.clocks for one in seen.latency]) == ([], ["one"])
    assert np.isclose(seen.latency[0].latency_s["max"], 3e-6)
