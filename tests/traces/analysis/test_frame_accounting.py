"""The compiled pass against plain models: sequence numbers, bins over time, histogram, table."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from orchestrator.engine.frames import encode
from orchestrator.engine.frames.core_frame_types import CORE
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_layout import SOURCE_PORT_BASE, SOURCE_PORT_MASK
from orchestrator.engine.frames.frame_type import FrameType
from orchestrator.engine.records import CNM, CREDIT, DATA, REQUEST, RETURNED, TRIMMED
from tests.traces.capture.captures import pcap
from tests.traces.dissect.samples import FRAMES, mutated
from tests.traces.dissect.test_control_fields import coded
from tests.traces.dissect.test_control_fields import read as written
from traces.analysis import analyze
from traces.analysis.flow_cache import USED
from traces.analysis.flow_records import FLOW, OVERFLOW, WINDOW
from traces.analysis.flow_table import FlowTable
from traces.analysis.latency_matching import BINS, FINE, bin_of, largest, lower_edges
from traces.analysis.sequence_numbers import count_sequence_number
from traces.analysis.time_bins import MOST_BINS, TimeBins
from traces.capture import open_capture
from traces.dissect import ABSENT, Kind, dissect
from traces.dissect.header_parser import ETHERNET


def numbered(values: list[int]) -> np.void:
    flow, seen = np.zeros(1, FLOW), np.zeros((1, WINDOW // 64), np.int64)
    for value in values:
        count_sequence_number(flow[0], seen, 0, np.int64(value))
    return flow[0]


@given(st.lists(st.integers(0, WINDOW - 1), min_size=1, max_size=80), st.integers(0, 2**40))
def test_sequence_numbers_within_the_window_are_counted_exactly(offsets, base) -> None:
    values = [base + one for one in offsets]
    flow = numbered(values)
    assert flow["distinct"] == len(set(values))
    assert flow["duplicates"] == len(values) - len(set(values))
    assert (flow["low"], flow["high"], flow["undecided"]) == (min(values), max(values), 0)
    highest = np.maximum.accumulate(values)
    assert flow["reordered"] == int((np.array(values) < highest).sum())


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=60))
def test_of_late_frames_it_is_told_how_many_are_undecided(values) -> None:
    flow = numbered(values)
    missed = len(set(values)) - int(flow["distinct"])
    assert -int(flow["undecided"]) - 60 <= missed <= 0 or flow["undecided"] == 0
    assert flow["distinct"] + flow["duplicates"] == len(values)
    if flow["undecided"] == 0 and max(values) - min(values) < WINDOW:
        assert missed == 0


@given(
    st.lists(st.tuples(st.integers(-(10**12), 10**15), st.integers(0, 3)), min_size=1, max_size=50)
)
def test_series_loses_nothing_and_puts_it_in_the_right_bin(points) -> None:
    series = TimeBins(1, 4)
    for index, (time, row) in enumerate(points):
        series.cover(time, time + 5, 4)
        series.values[0, row, (time >> series.shift) - series.first] += index + 1
        if index == 20:
            series.grow(4096)
    starts, values = series.used()
    assert len(starts) <= MOST_BINS
    for row in range(4):
        wanted: dict[int, int] = {}
        for index, (time, other) in enumerate(points):
            if other == row:
                start = time >> series.shift << series.shift
                wanted[start] = wanted.get(start, 0) + index + 1
        found = {int(s): int(v) for s, v in zip(starts, values[0, row], strict=True) if v}
        assert found == wanted


@given(st.integers(0, 2**63 - 1))
def test_histogram_bins_are_at_most_a_thirty_second_wide(value) -> None:
    edges = lower_edges()
    index = int(bin_of(np.int64(value)))
    assert 0 <= index < BINS
    assert edges[index] <= value <= largest()[index]
    assert FINE == 32
    if index + 1 < BINS:
        assert value < edges[index + 1]
        assert edges[index + 1] - edges[index] <= max(int(edges[index]) // FINE, 1)


ENDS = ("protocol", "kind", "qp", "ethertype", "destination_port", "tunnel", "network")


def identity(header: np.void) -> tuple[int, ...]:
    """What identifies the flow of a frame, as docs/analyze.md says."""
    names = [*ENDS]
    roce = header["kind"] in (Kind.ROCE, Kind.CNP)
    if header["protocol"] == ABSENT:
        names += ["source", "destination"]
    else:
        names += ["from_high", "from_low", "to_high", "to_low"]
    if not roce:
        names += ["source_port"]
        if header["protocol"] == ABSENT:
            names += ["vlan"]
    return (*(int(header[name]) for name in names), int(header["partition"]) if roce else 0)


CONTROL = (Kind.CNM, Kind.PAUSE, Kind.PFC, Kind.PROBE, Kind.ECHO)


def own_frame(flow: int) -> bytes:
    """A data frame of tailback's."""
    record, octets = empty_descriptors(1), np.zeros(128, np.uint8)
    record["kind"], record["length"], record["flow"] = DATA, 90, flow
    record["source"], record["destination"], record["sequence"] = 7, 9, 5
    encode(record.view(np.recarray)[0], octets)
    return octets[:90].tobytes()


@pytest.mark.parametrize("seed", range(2))
def test_frames_that_look_familiar_are_counted_as_if_each_were_dissected(tmp_path, seed) -> None:
    sound = [*FRAMES, *(own_frame(flow) for flow in (0, 1, -1))]
    sent = mutated(seed, 6000, worth=74, frames=sound)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(1, n, frame, 60 + n) for n, frame in enumerate(sent)]))
    table = FlowTable()
    wanted: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0] * 5)
    with open_capture(path) as stream:
        for batch in stream.batches():
            table.add(batch, np.array([ETHERNET]))
            for row, header in enumerate(dissect(batch, stream.interfaces)):
                if header["kind"] in CONTROL:
                    continue
                flow = 0
                if header["kind"] == Kind.DATA:
                    begin = header["place"] + 12  # behind UDP's header and the magic word
                    flow = int.from_bytes(batch.frame(row)[begin : begin + 4], "big")
                    # its port is more than the flow's where it has a path entropy
                    header["source_port"] = SOURCE_PORT_BASE | (flow & SOURCE_PORT_MASK)
                sums = wanted[(*identity(header), flow)]
                more = (1, batch.original[row], *(int(header["ecn"]) == one for one in (1, 2, 3)))
                sums[:] = [int(a + b) for a, b in zip(sums, more, strict=True)]
    own = table.flows[1 : len(table)]
    found = np.stack([own[name] for name in ("frames", "octets", "ect1", "ect0", "ce")], axis=1)
    assert sorted(found.tolist()) == sorted(wanted.values())
    assert found[:, 0].max() > 20
    assert table.known[USED] > 100


def test_many_flows_and_too_many(tmp_path) -> None:
    frame = bytes(Ether() / IP() / UDP(sport=0, dport=9) / b"x")
    records = []
    for index in range(3000):
        port = (index % 1500).to_bytes(2, "big")
        records.append((index, 0, frame[:34] + port + frame[36:], 1000 + index % 1500))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(records))
    for most, told in ((1 << 16, 1500), (1000, 999)):
        table = FlowTable(most)
        with open_capture(path) as stream:
            for batch in stream.batches():
                table.add(batch, np.array([ETHERNET]))
        assert len(table) == told + 1
        own = table.flows[1 : len(table)]
        assert (own["frames"] == 2).all()
        assert sorted(own["octets"] // 2) == list(range(1000, 1000 + told))
        assert table.flows["frames"][OVERFLOW] == 3000 - 2 * told
        sums = table.series.used()[1][0].sum(axis=1)
        assert sums[: len(table)].tolist() == table.flows["octets"][: len(table)].tolist()


# Every type of frame is counted by its own name, in whatever order types follow each other.

TYPES = [each for each in CORE if each.is_read()]
LENGTH = 1500
drawn = st.tuples(st.sampled_from(TYPES), st.integers(1, 3), st.integers(0, 2**31 - 1))
"""A type, a flow and a sequence number."""


def octets_of(kind: FrameType, flow: int, sequence: int) -> bytes:
    """A frame from node 7 to node 9; one that is returned goes to the flow's own node."""
    ends = {"source": 7, "destination": flow if kind.kind == RETURNED else 9, "inner": 9}
    said = {"flow": flow, "sequence": sequence, "mark": LENGTH if kind.kind == CNM else 0}
    length = kind.octets or LENGTH
    return coded(kind.kind, length, **ends, **said).ljust(length, b"\0")


def name_of(kind: FrameType) -> str:
    return "data" if kind.kind == RETURNED else kind.name.lower()


@given(st.lists(drawn, min_size=1, max_size=40))
def test_every_type_is_counted_as_itself(
    tmp_path_factory: pytest.TempPathFactory, frames: list[tuple[FrameType, int, int]]
) -> None:
    """Types that share addresses and ports (ACK and SACK, credit and request) are told apart though
    all that flows are remembered by is alike."""
    path = tmp_path_factory.mktemp("names") / "a.pcap"
    written(path, [octets_of(*each) for each in frames])
    (seen,) = analyze(path).interfaces
    counted = {name: count for name, count in seen.frames.items() if count}
    assert counted == Counter(name_of(kind) for kind, _, _ in frames)


def types(*kinds: int) -> list[FrameType]:
    return [next(each for each in TYPES if each.kind == kind) for kind in kinds]


def test_a_trimmed_frame_is_no_data_that_came(tmp_path: Path) -> None:
    """It is neither among the flow's frames and octets nor among what was not lost."""
    data, trimmed = types(DATA, TRIMMED)
    path = tmp_path / "a.pcap"
    sent = [(data, 0), (trimmed, 1), (data, 2), (trimmed, 3), (data, 4)]
    written(path, [octets_of(kind, 1, sequence) for kind, sequence in sent])
    (seen,) = analyze(path).interfaces
    (flow,) = seen.flows
    assert (flow.frames, flow.octets, flow.lost) == (3, 3 * LENGTH, 2)
    assert [(one.kind, one.frames) for one in seen.conversations] == [("trimmed", 2)]


def test_credits_and_requests_of_one_pair_of_ports_are_two_conversations(tmp_path: Path) -> None:
    credit, request = types(CREDIT, REQUEST)
    path = tmp_path / "a.pcap"
    written(path, [octets_of(kind, 1, 5) for kind in (credit, request, credit)])
    (seen,) = analyze(path).interfaces
    assert {one.kind: one.frames for one in seen.conversations} == {"credit": 2, "request": 1}
