"""The table of flows and points, batch by batch; the batches are put together here."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.engine.records import CE, CNM, DATA, ECT0, PAUSE
from tests.traces.test_analysis import frame
from traces.analysis.flow_table import FIRST_ROWS, FlowTable
from traces.capture import NO_TIME, Batch
from traces.dissect import Kind
from traces.dissect.header_parser import ETHERNET

SIZE = 128
ALL_ETHERNET = np.full(8, ETHERNET)
Seen = tuple[bytes, int, int]
"""Octets, time in ns, point."""


def from_source(number: int) -> bytes:
    """A frame of no protocol that is known; its source tells the flow."""
    return bytes(6) + (1 + number).to_bytes(6, "big") + b"\x12\x34" + bytes(50)


def ours(kind: int, length: int = 60, **fields: int) -> bytes:
    """A frame of the shipped codec."""
    octets, _ = frame(kind, length, **fields)
    return octets.tobytes()[:length]


def batch(*seen: Seen) -> Batch:
    """Frames in this order."""
    octets = np.zeros((len(seen), SIZE), np.uint8)
    for row, (text, _, _) in zip(octets, seen, strict=True):
        row[: len(text)] = np.frombuffer(text, np.uint8)
    lengths = np.array([len(text) for text, _, _ in seen], np.int64)
    return Batch(
        octets=octets.ravel(),
        offset=np.arange(len(seen), dtype=np.int64) * SIZE,
        captured=lengths,
        original=lengths.copy(),
        time_ns=np.array([time for _, time, _ in seen], np.int64),
        interface=np.array([point for _, _, point in seen], np.int64),
        direction=np.zeros(len(seen), np.int8),
        number=0,
        origin=0,
        described=2,
    )


def counted(*batches: list[Seen], several: bool = False) -> tuple[FlowTable, list[np.ndarray]]:
    """The table after these batches, and what each was answered."""
    table = FlowTable()
    table.several = several
    return table, [table.add(batch(*seen), ALL_ETHERNET).copy() for seen in batches]


def begun(table: FlowTable) -> list[int]:
    """Beginnings of the bins that times fell into."""
    return [int(one) for one in table.series.used()[0]]


def test_nothing_is_known_at_first() -> None:
    table = FlowTable()
    assert (len(table), len(table.points), begun(table), table.several) == (1, 1, [], False)
    assert all(table.counted(kind) == 0 for kind in Kind)


def test_before_the_first_batch_there_are_no_control_frames() -> None:
    table = FlowTable()
    for rows, headers in (table.cnms, table.pauses, table.probes):
        assert (len(rows), len(headers)) == (0, 0)


def test_a_flow_is_found_again_in_the_next_batch() -> None:
    a, b = from_source(1), from_source(2)
    table, _ = counted([(a, 10, 0), (b, 20, 0)], [(b, 3000, 0), (b, 3010, 0)])
    assert len(table) == 3
    assert table.flows["frames"][:4].tolist() == [0, 1, 3, 0]
    assert table.flows["octets"][:3].tolist() == [0, 64, 192]
    assert table.flows["last_ns"][1:3].tolist() == [10, 3010]
    assert table.counted(Kind.OTHER) == 4


def test_points_are_added_as_they_are_seen_and_keep_what_they_had() -> None:
    a = from_source(1)
    table, _ = counted([(a, 1, 0), (a, 2, 1)], [(a, 3, 4)], [(a, 4, 1)])
    assert len(table.points) == 5
    assert table.points["frames"][:, Kind.OTHER].tolist() == [1, 2, 0, 0, 1]
    assert table.counted(Kind.OTHER) == 4
    assert len(table) == 4, "a flow has a row at each point"


def test_what_is_no_ethernet_is_not_dissected() -> None:
    table = FlowTable()
    linktypes = np.array([ETHERNET, ETHERNET + 1])
    a, b = from_source(1), from_source(2)
    table.add(batch((a, 1, 0), (a, 1, 1), (b, 1, 1)), linktypes)
    assert table.flows["frames"][:4].tolist() == [0, 1, 2, 0]


def test_times_that_are_not_there_are_left_out() -> None:
    a = from_source(1)
    table, _ = counted([(a, NO_TIME, 0)])
    assert (begun(table), table.flows["frames"][1]) == ([], 1)
    table, _ = counted([(a, NO_TIME, 0), (a, 5000, 0), (a, 4100, 0)])
    assert begun(table) == [4096]
    table, _ = counted([(a, 7000, 0)])
    assert begun(table) == [6144], "one instant is a time"
    assert table.series.used()[1][0, 1].tolist() == [64]


def test_octets_and_marked_frames_are_added_up_by_their_time() -> None:
    said = {"source": 3, "destination": 7, "flow": 0, "sequence": 1}
    marked, plain = (ours(DATA, 100, mark=mark, **said) for mark in (CE, ECT0))
    table, _ = counted([(marked, 5000, 0), (plain, 5010, 0), (marked, 9000, 0)])
    assert begun(table) == [4096, 5120, 6144, 7168, 8192]
    assert table.series.used()[1][:, 1].tolist() == [[200, 0, 0, 0, 100], [1, 0, 0, 0, 1]]


def test_the_places_of_control_frames_are_those_of_the_last_batch() -> None:
    stop = ours(PAUSE, source=3, feedback=9)
    told = ours(CNM, 106, source=3, destination=7, feedback=5, mark=1500, inner=9, flow=0)
    data = from_source(1)
    table, _ = counted([(data, 1, 0), (stop, 2, 0), (told, 3, 0), (stop, 4, 0)])
    assert [places.tolist() for places in table.pauses] == [[1, 3], [0, 2]]
    assert [places.tolist() for places in table.cnms] == [[2], [1]]
    assert [places.tolist() for places in table.probes] == [[], []]
    kinds = table.headers["kind"][:3].tolist()
    assert kinds == [Kind.PAUSE, Kind.CNM, Kind.PAUSE]
    table.add(batch((data, 5, 0)), ALL_ETHERNET)
    assert [len(places) for places in (*table.pauses, *table.cnms)] == [0] * 4
    assert (table.counted(Kind.PAUSE), table.counted(Kind.CNM)) == (2, 1)


@pytest.mark.parametrize("sizes", [(1, 2, 3, 4), (3, 4), (4, 4, 5), (9, 2, 10)])
def test_there_is_room_for_as_many_control_frames_as_a_batch_has(sizes: tuple[int, ...]) -> None:
    stop, table = ours(PAUSE, source=3), FlowTable()
    for size in sizes:
        table.add(batch(*[(stop, 1, 0)] * size), ALL_ETHERNET)
        assert [len(places) for places in table.pauses] == [size, size]
    assert table.counted(Kind.PAUSE) == sum(sizes)


def test_sightings_are_noted_where_they_are_asked_for() -> None:
    first, second = (ours(DATA, 90, source=7, destination=9, sequence=n) for n in (5, 6))
    seen = [[(first, 10, 0), (from_source(1), 11, 0), (second, 12, 1)], [(second, 30, 0)]]
    _, noted = counted(*seen, several=True)
    assert noted[0].tolist() == [[10, 1, 5], [12, 3, 6]]
    assert noted[1].tolist() == [[30, 1, 6]]
    _, noted = counted(*seen)
    assert [rows.shape for rows in noted] == [(0, 3), (0, 3)]


def test_the_table_grows_and_forgets_nothing() -> None:
    """Twice: to 512 rows and to 1024. Sequence numbers are remembered beyond that."""
    count, size = 2 * FIRST_ROWS + 90, 100
    numbers = [ours(DATA, 90, source=7, destination=9, sequence=n) for n in range(3)]
    rows = [(from_source(n), 1000 + n, 0) for n in range(count)]
    batches = [rows[first : first + size] for first in range(0, count, size)]
    sent = [[(one, 1, 0) for one in numbers], *batches, [(one, 9, 0) for one in numbers[:2]]]
    table, _ = counted(*sent, rows[:FIRST_ROWS], rows[FIRST_ROWS:])
    assert len(table) == count + 2
    assert len(table.flows) == len(table.keys) == len(table.seen) == 4 * FIRST_ROWS
    own = table.flows[1 : len(table)]
    assert own["frames"].tolist() == [5] + [2] * count
    assert own["distinct"][0] == 3
    assert own["duplicates"][0] == 2
    assert table.flows["frames"][len(table) :].sum() == 0
    assert table.series.used()[1][0].sum(axis=1)[: len(table)].tolist() == [0, 450] + [128] * count


def test_flows_beyond_the_most_are_counted_together() -> None:
    table = FlowTable(most=3)
    table.add(batch(*((from_source(n), 1, 0) for n in (1, 2, 3, 1, 4))), ALL_ETHERNET)
    assert (len(table), table.flows["frames"][:4].tolist()) == (3, [2, 2, 1, 0])
