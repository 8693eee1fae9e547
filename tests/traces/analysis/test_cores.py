"""What is found in a capture does not depend on cores, on the size of batches, or on whether frames
were told by what they look like or dissected each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Dot1Q, Ether

from orchestrator.engine.records import CE, DATA
from tests.traces.analysis.test_flow_table import batch as frames_of
from tests.traces.analysis.test_flow_table import from_source, ours
from tests.traces.capture.captures import enhanced, interface, option, pcap, section, simple
from tests.traces.dissect.samples import FRAMES, mutated
from tests.traces.protocols.test_hop_stamps import framed
from traces.analysis import Settings, analyze, collector
from traces.analysis.flow_cache import ENTRY, INDEX, SUMMARY
from traces.analysis.flow_records import POINT
from traces.analysis.flow_table import FlowTable
from traces.analysis.frame_accounting import LAST, time_span
from traces.analysis.stamp_space import WORD, has_stamp_space, stamp_word
from traces.analysis.stamp_statistics import StampSpaceFinder
from traces.capture import NO_TIME, CaptureStream, open_capture, read_ahead
from traces.dissect.header_parser import ETHERNET

OWN = [ours(DATA, 90, source=7, destination=9, flow=n % 3, sequence=n) for n in range(40)]
MARKED = [ours(DATA, 90, source=7, destination=9, flow=0, mark=CE, sequence=n) for n in range(3)]
STAMPED = framed(DATA, 2, [(700, 1, 2, 40_000, 12)])


def some(seed: int, count: int) -> list[bytes]:
    """Frames of all kinds, one behind the other as it falls; those of a few flows most of all."""
    rng = np.random.default_rng(seed)
    kinds = [*OWN, *OWN, *MARKED, *FRAMES, *mutated(seed, 40, worth=74), STAMPED]
    return [kinds[one] for one in rng.integers(0, len(kinds), count)]


def in_a_pcap(frames: list[bytes], order: str, fine: bool, gap: int) -> bytes:
    """All of them, so many units apart."""
    unit = 10**9 if fine else 10**6
    times = [divmod(n * gap, unit) for n in range(len(frames))]
    records = [(s, u, one, len(one) + 4) for (s, u), one in zip(times, frames, strict=True)]
    return pcap(records, order, 0xA1B23C4D if fine else 0xA1B2C3D4)


def in_a_pcapng(frames: list[bytes], order: str, fine: bool, gap: int) -> bytes:
    """The same at two interfaces, the second one described late, and simple blocks among them."""
    resolution = [(9, b"\x09")] if fine else []
    flags = option(2, (1).to_bytes(4, "little" if order == "<" else "big"), order)
    blocks = [section(order), interface(order, resolution)]
    for n, one in enumerate(frames):
        if n == len(frames) // 3:
            blocks.append(interface(order))
        if n % 11 == 5:
            blocks.append(simple(one, len(one), order))
        else:
            late = n > len(frames) // 3 and n % 2
            blocks.append(enhanced(int(late), n * gap, one, order, flags if n % 3 else b""))
    return b"".join(blocks)


captures = st.builds(
    lambda make, *rest: make(*rest),
    st.sampled_from([in_a_pcap, in_a_pcapng]),
    st.builds(some, st.integers(0, 20), st.integers(1, 300)),
    st.sampled_from("<>"),
    st.booleans(),
    st.sampled_from([0, 1, 900, 1_000_000]),
)


def spoiled(octets: bytes, where: int, how: int) -> bytes:
    """As it is, cut, or with another octet behind its beginning."""
    place = 64 + where % max(len(octets) - 64, 1)
    if how == 1:
        return octets[:place]
    if how == 2 and place < len(octets):
        return octets[:place] + bytes([octets[place] ^ 0x81]) + octets[place + 1 :]
    return octets


def opener(buffer: int, rows: int) -> Callable[..., CaptureStream]:
    """Opens captures with batches of that size."""
    return lambda path, rooms=1, **chosen: CaptureStream(path, buffer, rows, rooms, **chosen)


def found(path: Path, **chosen: Any) -> dict[str, Any]:
    return analyze(path, settings=Settings(rate_bps=10**9, **chosen)).as_json()


@given(
    captures, st.integers(0, 10**6), st.integers(0, 2), st.integers(64, 3000), st.integers(1, 99)
)
@settings(max_examples=40, deadline=None)
def test_any_number_of_cores_and_any_batches_find_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    octets: bytes,
    where: int,
    how: int,
    buffer: int,
    rows: int,
) -> None:
    path = tmp_path_factory.mktemp("cores") / "some.capture"
    path.write_bytes(spoiled(octets, where, how))
    whole = found(path, cores=1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(collector, "open_capture", opener(buffer, rows))
        one, two, three = (found(path, cores=cores) for cores in (1, 2, 3))
    assert one == two == three
    assert whole["captures"] == one["captures"]
    # frames of several points are matched batch by batch, where their times are not in order
    assert whole["interfaces"] == one["interfaces"]


def used(path: Path, table: FlowTable, forget: bool, rows: int) -> list[Any]:
    """All that a table knows after a capture; `forget`: each frame is dissected."""
    sorts: list[Any] = []
    with CaptureStream(path, 1 << 16, rows) as stream:
        for batch in stream.batches():
            if forget:
                table.known[:] = 0
            table.several = True
            noted = table.add(batch, np.full(9, ETHERNET), StampSpaceFinder().stamp_offsets)
            for control, _ in (table.cnms, table.pauses, table.probes):
                sorts += (control + batch.number).tolist()
            sorts += noted.tolist()
            sorts += [("room", int(one) + batch.number) for one in table.rooms]
    count = len(table)
    return [
        table.flows[:count].tolist(),
        table.keys[:count].tolist(),
        table.seen[:count].tolist(),
        [table.points[name].tolist() for name in POINT.names or ()],
        [
            one[..., :count, :].tolist() if one.ndim > 1 else one.tolist()
            for one in table.series.used()
        ],
        sorted(map(str, sorts)),
    ]


@given(captures)
@settings(max_examples=15, deadline=None)
def test_what_looks_familiar_is_counted_as_if_it_were_dissected(
    tmp_path_factory: pytest.TempPathFactory, octets: bytes
) -> None:
    path = tmp_path_factory.mktemp("familiar") / "some.capture"
    path.write_bytes(octets)
    each = used(path, FlowTable(), True, 1)
    assert used(path, FlowTable(), False, 1 << 14) == each
    assert used(path, FlowTable(), False, 7) == each


def test_of_frames_like_one_before_the_headers_are_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "some.pcap"
    path.write_bytes(in_a_pcap(OWN * 3, "<", True, 1))
    table = FlowTable()
    with open_capture(path) as stream:
        (batch,) = stream.batches()
        table.add(batch, np.array([ETHERNET]))
        assert table.flows["frames"][:4].tolist() == [0, 42, 39, 39]
        # nothing is compared with what is remembered but told by it: another row, another flow
        rows = table.known[SUMMARY:INDEX:ENTRY]
        assert np.count_nonzero(rows) == 3
        rows[rows == rows.max()] = rows[rows > 0].min()
        table.add(batch, np.array([ETHERNET]))
    assert table.flows["frames"][:4].tolist() == [0, 42 + 81, 39 + 39, 39]


def test_a_flow_begins_with_its_first_frame_though_the_next_is_as_strange() -> None:
    first, second = from_source(1), from_source(1) + b"more"
    table = FlowTable()
    table.add(frames_of((first, 5, 0), (second, 5, 0)), np.array([ETHERNET]))
    assert table.flows["frames"][1] == 2
    assert table.flows["first_length"][1] == len(first)


@pytest.mark.parametrize("kept", [4, 7, 8])
def test_a_number_of_tcp_counts_where_all_of_it_was_captured(kept: int) -> None:
    whole = bytes(Ether() / Dot1Q() / IP() / TCP(sport=1, dport=2, seq=9))
    cut = whole[: 38 + kept]
    table = FlowTable()
    for _ in range(2):  # strange, then familiar
        table.add(frames_of((cut, 5, 0), (cut, 6, 0)), np.array([ETHERNET]))
    assert table.flows["frames"][1] == 4
    assert table.flows["numbered"][1] == (4 if kept == 8 else 0)


@given(
    st.integers(0, 50).flatmap(
        lambda least: st.lists(st.integers(least, least + 9), max_size=4, unique=True)
    ),
    st.lists(st.sampled_from([0, 0, 0, 1, 128]), max_size=70),
)
def test_a_frame_has_room_by_any_of_its_places(places: list[int], octets: list[int]) -> None:
    frame = np.array([255, *octets, *[255] * 99], np.uint8)  # what surrounds it does not count
    at = np.array(places, np.int64)
    word = stamp_word(at)
    wanted = any(octets[one] for one in places if one < len(octets))
    assert has_stamp_space(frame, np.int64(1), np.int64(len(octets)), at, word) == int(wanted)
    assert (word[0] < 0) == (len(at) > 0 and max(places) - min(places) >= WORD)


@given(st.lists(st.sampled_from([NO_TIME, -5, 0, 3, 2**62]), max_size=9))
def test_a_batch_spans_the_times_that_are_there(times: list[int]) -> None:
    told = np.zeros(3, np.int64)
    points = np.arange(len(times), dtype=np.int64)[::-1].copy()
    time_span(np.array(times, np.int64), points, told)
    there = [one for one in times if one != NO_TIME]
    low, high = (min(there), max(there)) if there else (LAST, NO_TIME)
    assert told.tolist() == [low, high, max(len(times) - 1, 0)]


@pytest.mark.parametrize(
    ("frames", "cores", "threads"), [(9, 2, 0), (900, 2, 1), (900, 9, 1), (900, 1, 0)]
)
def test_a_thread_reads_ahead_where_it_is_of_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frames: int, cores: int, threads: int
) -> None:
    path = tmp_path / "some.pcap"
    path.write_bytes(in_a_pcap([OWN[0]] * frames, "<", True, 1))
    begun: list[str] = []
    whole = read_ahead.read_ahead
    monkeypatch.setattr(
        read_ahead, "read_ahead", lambda one: [begun.append(one.path), whole(one)][1]
    )
    monkeypatch.setattr(read_ahead, "available", lambda: cores)
    monkeypatch.setattr(collector, "open_capture", opener(4096, 100))
    for chosen in (None, cores):
        begun.clear()
        (seen,) = analyze(path, settings=Settings(cores=chosen)).interfaces
        assert (sum(seen.frames.values()), len(begun)) == (frames, threads)
