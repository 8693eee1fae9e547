"""Frames that go on as expected are counted as if each had been dissected, wherever they come from:
found on the way in the octets of a file, or in batches of any size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether

from orchestrator.engine.frames import frame_layout
from orchestrator.engine.records import ACK, CE, DATA, ECT0
from tests.traces.analysis.test_cores import STAMPED
from tests.traces.analysis.test_flow_table import from_source, ours
from tests.traces.capture.captures import pcap
from tests.traces.dissect.samples import FRAMES
from traces.analysis.deferred_counts import BEGUN, NEXT
from traces.analysis.flow_records import POINT
from traces.analysis.flow_table import FlowTable
from traces.analysis.stamp_statistics import StampSpaceFinder
from traces.capture import CaptureStream
from traces.dissect.header_parser import ETHERNET

Sent = tuple[int, int, bytes]
"""Time in ns, octets on the wire, octets kept."""
ENDS = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
LINK = np.array([ETHERNET])


def untagged(frame: bytes) -> bytes:
    """Without its 802.1Q tag."""
    return frame[: frame_layout.VLAN] + frame[frame_layout.VLAN + frame_layout.TAG_OCTETS :]


def data(flow: int, sequence: int, mark: int = 0) -> bytes:
    """A data frame of one of some flows; of every other one without a tag."""
    frame = ours(DATA, 90, source=7, destination=9, flow=flow, sequence=sequence, mark=mark)
    return untagged(frame) if flow % 2 else frame


def segment(flow: int, sequence: int, mark: int = 0) -> bytes:
    """One of TCP."""
    tag = ENDS / Dot1Q() if flow % 2 else ENDS
    parts = IP(tos=mark) / TCP(sport=flow, dport=80, seq=sequence & 0xFFFFFFFF)
    return bytes(tag / parts) + bytes(20)


def datagram(flow: int, sequence: int, mark: int = 0) -> bytes:
    """One of UDP."""
    return bytes(Ether() / IP(id=sequence & 0xFFFF, tos=mark) / UDP(sport=flow, dport=9)) + bytes(
        30
    )


def told(flow: int, sequence: int, mark: int = 0) -> bytes:
    """An acknowledgement."""
    frame = ours(ACK, 74, source=9, destination=7, flow=flow, sequence=sequence, mark=mark)
    return untagged(frame) if flow % 2 else frame


MAKERS: tuple[Callable[..., bytes], ...] = (data, data, segment, datagram, told)
STEPS = [1] * 12 + [0, 2, 1030, -1, -1500, 2**31]
"""What a flow's number goes on by."""
GAPS = [700] * 12 + [0, 1, -1, -5000, 1_000_000, 10**9]
"""Between frames in ns."""
CUTS = [999] * 14 + [34, 38, 41, 43, 45, 55, 60, 63, 64, 70, 71, 75, 78]
"""Octets that are kept of a frame."""


def traffic(seed: int, count: int, flows: int) -> list[Sent]:
    """Flows of all sorts that mostly go on, and a few frames of all others among them."""
    rng = np.random.default_rng(seed)
    reached, now = np.zeros((len(MAKERS), flows), np.int64), 10**15
    sent = []
    for _ in range(count):
        now += int(rng.choice(GAPS))
        if rng.random() < 0.05:
            others = [*FRAMES, STAMPED, from_source(int(rng.integers(0, 9)))]
            frame = others[int(rng.integers(0, len(others)))]
        else:
            maker, flow = int(rng.integers(0, len(MAKERS))), int(rng.integers(0, flows))
            reached[maker, flow] = abs(int(reached[maker, flow]) + int(rng.choice(STEPS)))
            mark = int(rng.choice([0, 0, 0, 1, ECT0, CE]))
            frame = MAKERS[maker](flow, int(reached[maker, flow]), mark)
        if rng.random() < 0.02:
            place = int(rng.integers(12, min(len(frame), 60)))
            frame = frame[:place] + bytes([frame[place] ^ 1 << int(rng.integers(0, 8))]) + frame[
                place + 1 :
            ]  # fmt: skip
        cut = int(rng.choice(CUTS)) if rng.random() < 0.2 else 999
        sent.append((now, len(frame) + 4, frame[:cut]))
    return sent


def written(path: Path, sent: list[Sent], order: str, fine: bool) -> Path:
    """As a pcap file."""
    unit = 1 if fine else 1000
    records = [(t // 10**9, t % 10**9 // unit, kept, length) for t, length, kept in sent]
    path.write_bytes(pcap(records, order, 0xA1B23C4D if fine else 0xA1B2C3D4))
    return path


def known_of(table: FlowTable, sorts: list[str]) -> list[object]:
    """All that a table knows, and what it said of batches."""
    count = len(table)
    starts, values = table.series.used()
    return [
        table.flows[:count].tolist(),
        table.keys[:count].tolist(),
        table.seen[:count].tolist(),
        [table.points[name].tolist() for name in POINT.names or ()],
        (starts.tolist(), values[:, :count].tolist(), table.series.shift),
        sorted(sorts),
    ]


def said(table: FlowTable, number: int) -> list[str]:
    """Of the last batch, whose first frame has a number: where control frames and the like are."""
    sorts = {"cnm": table.cnms, "pause": table.pauses, "probe": table.probes}
    places = {name: rows for name, (rows, _) in sorts.items()}
    places |= {"room": table.rooms, "lldp": table.lldps}
    return [f"{name} {row + number}" for name, rows in places.items() for row in rows.tolist()]


def dissected(path: Path, rows: int = 1, forget: bool = True) -> list[object]:
    """Batch by batch; `forget`: each frame is dissected."""
    table, sorts = FlowTable(), list[str]()
    with CaptureStream(path, 1 << 16, rows) as stream:
        for batch in stream.batches():
            if forget:
                table.known[:] = 0
            table.add(batch, LINK, StampSpaceFinder().stamp_offsets)
            sorts += said(table, batch.number)
    return known_of(table, sorts)


def found(path: Path, buffer: int, rows: int) -> list[object]:
    """By finding records on the way."""
    table, sorts = FlowTable(), list[str]()
    with CaptureStream(path, buffer, rows) as stream:
        assert stream.accepts_scanner
        for batch in stream.batches(
            lambda records: table.find(records, LINK, StampSpaceFinder().stamp_offsets)
        ):
            sorts += said(table, batch.number)
    return known_of(table, sorts)


@given(
    st.builds(traffic, st.integers(0, 10**6), st.integers(1, 250), st.sampled_from([1, 3, 90])),
    st.booleans(),
    st.integers(64, 9000),
    st.integers(1, 500),
)
@settings(max_examples=25, deadline=None)
def test_what_goes_straight_is_counted_as_if_it_were_dissected(
    tmp_path_factory: pytest.TempPathFactory, sent: list[Sent], fine: bool, buffer: int, rows: int
) -> None:
    path = written(tmp_path_factory.mktemp("straight") / "some.pcap", sent, "<", fine)
    each = dissected(path)
    assert dissected(path, rows, False) == each
    assert found(path, 1 << 20, 1 << 14) == each
    assert found(path, buffer, rows) == each


def test_most_frames_go_straight(tmp_path: Path) -> None:
    makers = MAKERS[1:]
    sent = [(10**15 + n * 700, 90, maker(n % 3, n // 3)) for n in range(300) for maker in makers]
    table = FlowTable()
    path = written(tmp_path / "some.pcap", sent, "<", True)
    with CaptureStream(path, 9000) as stream:
        for _ in stream.batches(
            lambda records: table.find(records, LINK, StampSpaceFinder().stamp_offsets)
        ):
            pass
    pending = table._pending[: len(table)]
    assert int((pending[:, NEXT] - pending[:, BEGUN]).sum()) > 0.9 * len(sent)
    assert int(table.flows["frames"].sum()) == len(sent)


def stamped(flow: int, sequence: int) -> bytes:
    """A data frame with a stamp."""
    numbered = sequence.to_bytes(8, "big")
    return STAMPED[: frame_layout.SEQUENCE] + numbered + STAMPED[frame_layout.SEQUENCE + 8 :]


def once(place: int, octets: bytes, make: Callable[..., bytes] = data) -> list[tuple[int, bytes]]:
    """Frames of a flow that go on, and one among them that has other octets at a place."""
    frames = [make(0, n) for n in range(9)]
    frames[6] = frames[6][:place] + octets + frames[6][place + len(octets) :]
    return list(enumerate(frames))


NEARLY: dict[str, list[tuple[int, bytes]]] = {
    "a time that is 1 ns less": [(n - 2 * (n == 8), data(0, n)) for n in range(9)],
    "stamps": [(n, stamped(0, n)) for n in range(9)],
    "acknowledgements cut where stamps begin": [(n, told(0, n)[: 68 + n]) for n in range(9)],
    "TCP of which ports alone were captured at first": [
        *[(n, segment(1, 2**31 + n)[:42]) for n in range(4)],
        *[(n, segment(1, n)) for n in range(4, 9)],
        (9, segment(1, 8 + 2**31)),
    ],
    "a later fragment": once(frame_layout.IP + 6, b"\x01\x00"),
    "less that IP announces": once(frame_layout.IP + 2, b"\x00\x20"),
    "less that UDP announces": once(frame_layout.UDP + 4, b"\x00\x0a"),
    "another version": once(frame_layout.ACK_SAYS, b"\x90", told),
    "another magic word": once(frame_layout.MAGIC, b"\x75"),
    "another flow": once(frame_layout.FLOW + 2, b"\x01"),
    "marks": [(n, data(0, n, CE if n % 2 else ECT0)) for n in range(9)],
}


@pytest.mark.parametrize("name", NEARLY)
def test_what_is_nearly_as_expected_is_not_taken_for_it(tmp_path: Path, name: str) -> None:
    sent = [(10**15 + time, 90, frame) for time, frame in NEARLY[name]]
    path = written(tmp_path / "some.pcap", sent, "<", True)
    each = dissected(path)
    assert found(path, 300, 3) == each
    assert dissected(path, 3, False) == each


def test_a_table_that_grows_on_the_way_is_the_same(tmp_path: Path) -> None:
    sent = [(10**15 + n * 900, 90, data(n * n % 1100, n)) for n in range(4000)]
    path = written(tmp_path / "some.pcap", sent, "<", True)
    each = dissected(path, 1 << 14)
    assert found(path, 1 << 20, 1 << 14) == each
    assert found(path, 40_000, 300)[:4] == each[:4]


def test_records_of_the_other_octet_order_are_found_before(tmp_path: Path) -> None:
    path = written(tmp_path / "some.pcap", traffic(1, 9, 1), ">", True)
    with CaptureStream(path) as stream:
        assert not stream.accepts_scanner
