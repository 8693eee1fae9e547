"""Frames are analysed in the order of their times, whatever their order in a file."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from tests.traces.analysis.test_flow_identity import roce
from tests.traces.capture.captures import enhanced, interface, pcap, section, simple
from traces.analysis import Settings, analyze
from traces.capture import CaptureStream
from traces.capture.time_order import new_order, note_order, sorted_batches

Timed = tuple[int, bytes]


def write(path: Path, frames: list[Timed]) -> Path:
    records = [(1, time, one, len(one)) for time, one in frames]
    path.write_bytes(pcap(records, magic=0xA1B23C4D))
    return path


def flow(count: int = 20) -> list[Timed]:
    return [(1000 * n, roce(n)) for n in range(count)]


def pfc(quanta: int) -> bytes:
    text = f"0180c2000001 020000000009 8808 0101 0008 000000000000 {quanta:04x}" + "0000" * 4
    return bytes.fromhex(text.replace(" ", "")).ljust(60, b"\0")


def found(path: Path, **chosen: Any) -> dict[str, Any]:
    """All but what says how the file was ordered."""
    whole = analyze(path, settings=Settings(rate_bps=10**11, **chosen)).as_json()
    for one in whole["captures"]:
        del one["backward"]
    return whole


@pytest.mark.parametrize("cores", [1, 2])
def test_two_swapped_pairs(tmp_path, cores) -> None:
    frames = flow()
    frames[0], frames[5] = frames[5], frames[0]
    frames[10], frames[15] = frames[15], frames[10]
    seen = analyze(write(tmp_path / "a.pcap", frames), settings=Settings(cores=cores))
    (one,) = seen.interfaces[0].conversations
    assert (one.frames, one.lost, one.reordered) == (20, 0, 0)
    assert (seen.captures[0].backward, seen.captures[0].unsorted) == (10, 0)


def test_a_swapped_resume(tmp_path) -> None:
    """PFC of class 3 from 10 ns to 20 010 ns, as it is and with its two frames swapped."""
    between = flow(300)
    paused = []
    for stop, go in (((10, pfc(0xFFFF)), (20_010, pfc(0))), ((20_010, pfc(0)), (10, pfc(0xFFFF)))):
        path = write(tmp_path / "a.pcap", [stop, go, *between])
        (seen,) = analyze(path, settings=Settings(rate_bps=10**11)).interfaces
        paused += [one.paused_s for one in seen.links]
    assert paused == pytest.approx([20e-6, 20e-6])


@given(st.integers(0, 10**6), st.integers(1, 200), st.integers(1, 3), st.integers(300, 4000))
@settings(max_examples=25, deadline=None)
def test_a_shuffled_file_is_as_the_sorted_one(tmp_path_factory, seed, count, cores, buffer) -> None:
    folder = tmp_path_factory.mktemp("shuffled")
    frames = flow(count) + [(1000 * n + 7, pfc(100 * n)) for n in range(count // 9)]
    frames.sort(key=lambda one: one[0])
    wanted = found(write(folder / "a.pcap", frames), cores=1)
    random.Random(seed).shuffle(frames)
    assert found(write(folder / "a.pcap", frames), cores=cores) == wanted


@given(st.integers(0, 10**6), st.integers(1, 90), st.integers(1, 12), st.integers(64, 2000))
@settings(max_examples=40, deadline=None)
def test_the_window_does_not_depend_on_batches(
    tmp_path_factory, seed, count, window, buffer
) -> None:
    """Frames without a time among them, which stay behind the one before."""
    draw = random.Random(seed)
    blocks = [section(), interface()]
    for n in range(count):
        octets = n.to_bytes(4, "big") * 15
        late = draw.randrange(1000)
        blocks.append(simple(octets, 60) if draw.random() < 0.1 else enhanced(0, late, octets))
    path = tmp_path_factory.mktemp("window") / "a.pcapng"
    path.write_bytes(b"".join(blocks))

    def order(octets: int, rows: int, wide: int) -> list[bytes]:
        with CaptureStream(path, octets, rows) as stream:
            return [
                one.frame(row)
                for one in sorted_batches(stream.batches(), wide)
                for row in range(len(one))
            ]

    small = order(buffer, 3, window)
    assert small == order(1 << 16, 1 << 10, window)
    assert sorted(small) == sorted(order(1 << 16, 1 << 10, 1000))
    assert len(small) == count


def test_frames_displaced_by_less_than_the_window_are_sorted(tmp_path) -> None:
    times = [n - 9 * (n % 10 == 9) for n in range(500)]
    path = write(tmp_path / "a.pcap", [(time, bytes([5]) * 60) for time in times])
    for window, backward in ((10, 0), (2, 1)):
        order = new_order()
        with CaptureStream(path, 700) as stream:
            for batch in sorted_batches(stream.batches(), window):
                note_order(batch.time_ns, order)
        assert bool(order[1]) == bool(backward)


def test_frames_that_went_back_are_counted() -> None:
    order = new_order()
    note_order(np.array([5, 3, 4, -(2**63), 5, 9], np.int64), order)
    note_order(np.array([8, 9], np.int64), order)
    assert order.tolist() == [9, 3]


def test_the_order_is_said(tmp_path) -> None:
    from tests.traces.analysis.test_foreign import run

    frames = flow()
    frames[3], frames[4] = frames[4], frames[3]
    path = write(tmp_path / "a.pcap", frames)
    text = " ".join(run(path).stdout.split())
    assert "1 of 20 frames are earlier than one before them; sorted by time" in text
    assert "earlier" not in run(write(path, flow())).stdout


@pytest.mark.parametrize("cores", [1, 2])
def test_flows_that_are_in_order_each_and_not_together(tmp_path, cores) -> None:
    """Frames of two flows that the compiled loops count, of which the second comes late."""
    two = [bytes(Ether() / IP() / UDP(sport=n, dport=9) / bytes(160)) for n in (0, 1)]
    frames = [(100 * n - 250 * (n % 2), two[n % 2]) for n in range(4, 12_004)]  # 2 MiB and more
    seen = analyze(write(tmp_path / "a.pcap", frames), settings=Settings(cores=cores))
    assert (seen.captures[0].backward, seen.captures[0].unsorted) == (6000, 0)
