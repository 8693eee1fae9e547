"""How late frames left: told by crafted messages, and heard where acknowledgements echo it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from orchestrator.engine.datapath import departure_times as at
from orchestrator.engine.datapath import error_queue
from orchestrator.engine.datapath.emulation_clock import REAL_TIME
from orchestrator.engine.datapath.mmsg_batch import CONTROL_LENGTH, GOT
from orchestrator.engine.datapath.phc_mapping import (
    CLOCKS,
    HARDWARE_WORD,
    SOFTWARE_WORD,
    WORD,
    write_clock_mapping,
)
from orchestrator.engine.frames import type_table
from orchestrator.engine.frames.header_options import HeaderOptions
from orchestrator.engine.frames.roce_frame_types import encode_frame
from orchestrator.engine.histogram import BINS, new_histogram
from orchestrator.engine.records import ACK, CNM, DATA, FLOW, FRAME, NONE, PAUSE, ROCE_WRITE, SACK
from tests.orchestrator.engine.datapath.test_error_queue import report, times

PS = 1000
SECOND = 10**9
NOW_NS = 5 * SECOND
"""The system's clock and the run's stand at this now; the turn began one second ago."""


class Rigged(NamedTuple):
    """As much of a rig as departures need."""

    departures: np.ndarray
    left: np.ndarray
    late: np.ndarray
    clocks: np.ndarray
    errors: error_queue.Errors
    instants: np.ndarray
    speed: np.ndarray
    turn: np.ndarray


class Sent(NamedTuple):
    """As much of a world."""

    types: np.ndarray
    flows: np.ndarray
    ports: np.ndarray


FLOWS = np.zeros(3, FLOW).view(np.recarray)
FLOWS.node = 0, 7, 0
FLOWS.roce = 0, 0, ROCE_WRITE
PORTS = np.array([(0,), (7,)], [("node", np.int64)]).view(np.recarray)


@pytest.fixture
def world() -> Sent:
    return Sent(type_table(HeaderOptions(roce=True)), FLOWS, PORTS)


@pytest.fixture
def rig() -> Rigged:
    clocks = np.zeros((2, CLOCKS), np.int64)
    clocks[:, WORD] = SOFTWARE_WORD
    instants = [(at_s * SECOND, at_s * SECOND * PS) for at_s in (3, 4, 5)]
    return Rigged(
        np.array([1, 0, 0, 0, 0, 0, 0], np.int64),
        np.full((1024, at.COLUMNS), NONE, np.int64),
        new_histogram(),
        clocks,
        error_queue.error_messages(2),
        np.array(instants, np.int64),
        np.array([REAL_TIME], np.int64),
        np.array([NOW_NS * PS, 0, 0, 0], np.int64),
    )


def frame(kind: int = DATA, **fields: int) -> Any:
    row = np.zeros(1, FRAME).view(np.recarray)[0]
    row.kind, row.length, row.inner = kind, 1000, NONE
    row.source, row.destination = 1, 2
    for name, value in fields.items():
        row[name] = value
    return row


def tell(world: Sent, rig: Rigged, sent: Any, left_ns: int, word: int = SOFTWARE_WORD) -> None:
    """The error queue of socket 0 says when a frame left."""
    stamps = [0, 0, 0]
    stamps[(word - SOFTWARE_WORD) // 2] = left_ns
    crafted(rig, times(*stamps) + report(error_queue.TIMESTAMP_REPORT, info=error_queue.SENT))
    batch = rig.errors.batch
    assert encode_frame(world, sent, batch.octets[0]) > 0
    batch.headers[0, GOT] = sent.length
    at.apply_report(world, rig, 0, 0)


def crafted(rig: Rigged, octets: bytes) -> None:
    batch = rig.errors.batch
    batch.control[0, : len(octets) // 8] = np.frombuffer(octets, np.int64)
    batch.headers[0, CONTROL_LENGTH] = len(octets)


def test_a_frame_left_as_late_as_its_time_says(world, rig):
    sent = frame(flow=0, sequence=3, due=(NOW_NS - 500_000) * PS)
    at.record_sent(world, rig, 0, 0, sent)
    tell(world, rig, sent, NOW_NS - 400_000)
    assert rig.late[:BINS].sum() == 1
    assert rig.late[BINS] == 100_000 * PS
    assert rig.departures[[at.RECORDED, at.TIMED, at.UNMATCHED]].tolist() == [1, 1, 0]


def test_a_packet_is_found_by_its_psn_which_wraps(world, rig):
    """Its octets have 24 bits of what its source counts."""
    sent = frame(flow=2, sequence=(1 << 24) + 3, due=(NOW_NS - 500_000) * PS, feedback=7)
    at.record_sent(world, rig, 0, 0, sent)
    tell(world, rig, sent, NOW_NS - 400_000)
    assert rig.late[BINS] == 100_000 * PS
    assert rig.departures[[at.RECORDED, at.TIMED, at.UNMATCHED]].tolist() == [1, 1, 0]


def test_a_nics_clock_is_carried_over(world, rig):
    rig.clocks[1, WORD] = HARDWARE_WORD
    write_clock_mapping(rig.clocks, 1, 77 * SECOND, NOW_NS, 0)
    sent = frame(flow=0, sequence=3, due=(NOW_NS - 500_000) * PS)
    at.record_sent(world, rig, 0, 1, sent)
    tell(world, rig, sent, 77 * SECOND - 450_000, HARDWARE_WORD)
    assert rig.late[BINS] == 50_000 * PS


def test_what_left_before_it_was_due_was_not_late(world, rig):
    sent = frame(flow=0, sequence=3, due=NOW_NS * PS)
    at.record_sent(world, rig, 0, 0, sent)
    tell(world, rig, sent, NOW_NS - 5)
    assert (rig.late[:BINS].sum(), rig.late[BINS]) == (1, 0)


@pytest.mark.parametrize("kind", ["unknown", "twice", "without", "other"])
def test_a_time_of_no_frame_is_counted(world, rig, kind):
    sent = frame(flow=0, sequence=3, due=(NOW_NS - 500_000) * PS)
    if kind != "unknown":
        at.record_sent(world, rig, 0, 0, sent)
    if kind == "twice":
        tell(world, rig, sent, NOW_NS)
    told = {"other": frame(flow=1, sequence=3)}.get(kind, sent)
    tell(world, rig, told, 0 if kind == "without" else NOW_NS)
    assert rig.departures[at.UNMATCHED] == 1
    assert rig.departures[at.TIMED] == (kind == "twice")


def test_frames_of_links_are_not_told_apart(world, rig):
    pause = frame(PAUSE, length=60, flow=NONE)
    at.record_sent(world, rig, 0, 0, pause)
    tell(world, rig, pause, NOW_NS)
    assert rig.departures.tolist() == [1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("code", "word"),
    [(error_queue.MISSED, at.MISSED_LAUNCHES), (error_queue.NOT_VALID, at.BAD_LAUNCHES)],
)
def test_launches_that_came_to_nothing_are_counted(world, rig, code, word):
    crafted(rig, report(error_queue.LAUNCH_REPORT, code))
    at.apply_report(world, rig, 0, 0)
    assert rig.departures[word] == 1
    assert rig.departures.sum() == 2


def test_a_message_that_nobody_understands_is_counted(world, rig):
    crafted(rig, report(2))
    at.apply_report(world, rig, 0, 0)
    crafted(
        rig, times(NOW_NS, 0, 0) + report(error_queue.TIMESTAMP_REPORT, info=1)
    )  # when it was scheduled
    at.apply_report(world, rig, 0, 0)
    assert rig.departures[at.UNMATCHED] == 2


LATE = 300_000 * PS
MADE = (NOW_NS - 900_000) * PS


def sent_late(world: Sent, rig: Rigged, sequence: int, late: int = LATE, made: int = MADE) -> None:
    at.record_sent(world, rig, 0, 0, frame(flow=0, sequence=sequence, created=made))
    row = rig.left[at.row_of(rig, 0, DATA, 0, sequence)]
    row[at.LATE] = late


def echoed(world: Sent, rig: Rigged, kind: int, port: int = 0, **fields: int) -> int:
    """By how much what an acknowledgement echoes was moved."""
    answer = frame(kind, **({"flow": 0, "created": MADE + 5} | fields))
    before = int(answer.created)
    at.correct_echo(world, rig, 0, port, answer, NOW_NS * PS)
    return int(answer.created) - before


def test_an_echo_moves_by_how_late_its_segment_left(world, rig):
    sent_late(world, rig, 4)
    assert echoed(world, rig, SACK, offset=4, sequence=2) == LATE
    assert echoed(world, rig, ACK, sequence=5) == LATE
    assert rig.departures[at.MOVED] == 2


def test_an_echo_stays_where_nothing_is_known(world, rig):
    sent_late(world, rig, 4)
    assert echoed(world, rig, SACK, offset=3, sequence=5) == 0
    assert echoed(world, rig, ACK, sequence=4) == 0
    assert echoed(world, rig, CNM, sequence=5, offset=4) == 0
    assert echoed(world, rig, SACK, offset=4, flow=1) == 0
    assert echoed(world, rig, SACK, offset=4, flow=99) == 0
    assert echoed(world, rig, SACK, offset=4, flow=NONE) == 0
    assert echoed(world, rig, SACK, port=1, offset=4) == 0  # another node's, on its way
    sent_late(world, rig, 6, late=NONE)
    assert echoed(world, rig, SACK, offset=6) == 0
    assert rig.departures[at.MOVED] == 0


def test_an_echo_of_an_earlier_try_is_not_that_of_the_later(world, rig):
    sent_late(world, rig, 4, made=MADE + 1000)
    assert echoed(world, rig, SACK, offset=4) == 0


def test_a_cumulative_echo_of_a_later_segment_stays(world, rig):
    sent_late(world, rig, 4)
    sent_late(world, rig, 5, made=MADE + 2)
    assert echoed(world, rig, ACK, sequence=5) == 0
    assert echoed(world, rig, ACK, sequence=5, created=MADE + 1) == LATE
    assert echoed(world, rig, SACK, offset=4, sequence=5) == LATE


def test_an_echo_is_never_later_than_now(world, rig):
    sent_late(world, rig, 4, late=10**15)
    assert echoed(world, rig, SACK, offset=4) == NOW_NS * PS - MADE - 5


def test_segments_in_turn_have_rows_of_their_own(rig):
    rows = {at.row_of(rig, 0, DATA, 5, sequence) for sequence in range(rig.left.shape[0])}
    assert len(rows) == rig.left.shape[0]
