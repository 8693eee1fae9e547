"""How long frames waited: clocks joined within turns, departures moved, nothing made up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.datapath import arrival_times
from orchestrator.engine.datapath.emulation_clock import REAL_TIME
from orchestrator.engine.datapath.mmsg_batch import STAMP_KIND, Batch, receiver
from orchestrator.engine.datapath.phc_mapping import (
    CLOCKS,
    HARDWARE_WORD,
    SOFTWARE_WORD,
    WORD,
    write_clock_mapping,
)
from orchestrator.engine.histogram import BINS, new_histogram
from orchestrator.engine.records import FRAME

AUXDATA = 263 | 8 << 32
SECOND = 10**9


class Rigged(NamedTuple):
    """As much of a rig as arrivals need."""

    arrivals: np.ndarray
    clocks: np.ndarray
    instants: np.ndarray
    waits: np.ndarray
    incoming: Batch
    speed: np.ndarray


def rigged(instants: list[tuple[int, int]], word: int = SOFTWARE_WORD) -> Rigged:
    """A rig whose sockets tell times, at these instants (ns, ps): turn before, turn, batch."""
    asked = np.array([1, 0, 0], np.int64)
    clocks = np.zeros((1, CLOCKS), np.int64)
    clocks[0, WORD] = word
    batch = receiver(np.zeros((4, 2048), np.uint8), 2)
    speed = np.array([REAL_TIME], np.int64)
    return Rigged(asked, clocks, np.array(instants, np.int64), new_histogram(), batch, speed)


def told(rig: Rigged, clock_ns: int, word: int = SOFTWARE_WORD) -> None:
    """Frame 0 came at this time."""
    rig.incoming.control[0, 1] = STAMP_KIND
    rig.incoming.control[0, word : word + 2] = divmod(clock_ns, SECOND)


def frame(created: int) -> np.recarray:
    row = np.zeros(1, FRAME).view(np.recarray)[0]
    row.created = created
    return row


moves = st.integers(1, 10**10)
shares = st.floats(0, 1)


@given(st.integers(1, 10**18), st.integers(-(10**12), 10**15), moves, moves, st.integers(0, 10**9))
def test_it_is_the_time_of_the_run_between_two_readings(clock, time, first, second, before):
    readings = [clock, clock + first, clock + first + second]
    instants = np.array([(at, time + (at - clock) * 1000) for at in readings], np.int64)
    for at in (*readings, readings[0] + first // 3, readings[1] + second // 2, clock - before):
        assert arrival_times.since(instants, at, REAL_TIME) == (readings[2] - at) * 1000
    assert arrival_times.since(instants, readings[2] + 5, REAL_TIME) == 0


@given(moves, moves, shares, shares, shares)
def test_a_clock_that_was_held_tells_no_more_than_may_have_passed(first, second, a, b, where):
    """It went on for a part of each turn and stood still, or stood still and then went on."""
    went = int(first * a) * 1000, int(second * b) * 1000
    instants = np.array([(0, 0), (first, went[0]), (first + second, sum(went))], np.int64)
    at = int((first + second) * where)
    told = arrival_times.since(instants, at, REAL_TIME)

    def reading(held_first: bool) -> int:
        begin, turn, length, moved = (
            (0, 0, first, went[0]) if at < first else (first, went[0], second, went[1])
        )
        stood = length - moved // 1000 if held_first else 0
        return turn + min(max(at - begin - stood, 0) * 1000, moved)

    assert told == sum(went) - reading(held_first=False)
    assert told <= sum(went) - reading(held_first=True)


def test_a_slower_clock_counts_less():
    instants = np.array([(1000, 0), (2000, 500), (3000, 1000)], np.int64)
    assert arrival_times.since(instants, 0, REAL_TIME // 2) == 1000 + 1000 * 1000 // 2


def test_clocks_that_do_not_move_between_readings_tell_nothing():
    instants = np.array([(5, 70), (5, 70), (5, 70)], np.int64)
    assert arrival_times.since(instants, 5, REAL_TIME) == 0


@pytest.mark.parametrize("word", [SOFTWARE_WORD, HARDWARE_WORD])
def test_the_departure_moves_by_the_wait(word):
    rig = rigged([(0, 0), (SECOND, 10**9), (SECOND + 500, 10**9 + 500_000)], word)
    told(rig, SECOND + 100, word)
    row = frame(created=7_000)
    arrival_times.exclude_host_delay(rig, 0, 0, row, 10**9 + 501_000)
    assert row.created == 7_000 + 400_000
    assert rig.waits[:BINS].sum() == 1
    assert rig.waits[BINS] == 400_000
    assert rig.arrivals[arrival_times.WITHOUT] == 0


def test_the_time_of_a_nic_is_carried_over():
    rig = rigged([(0, 0), (SECOND, 10**9), (SECOND + 500, 10**9 + 500_000)], HARDWARE_WORD)
    write_clock_mapping(rig.clocks, 0, 77 * SECOND, SECOND, 0)
    told(rig, 77 * SECOND + 100, HARDWARE_WORD)
    row = frame(created=7_000)
    arrival_times.exclude_host_delay(rig, 0, 0, row, 10**9 + 501_000)
    assert row.created == 7_000 + 400_000


def test_a_port_that_tells_no_times_has_frames_without():
    rig = rigged([(0, 0), (SECOND, 10**9), (2 * SECOND, 10**10)])
    told(rig, SECOND)
    rig.clocks[0, WORD] = 0
    assert arrival_times.host_delay(rig, 0, 0) == 0
    assert rig.arrivals[arrival_times.WITHOUT] == 1


def test_a_departure_is_never_later_than_now_nor_earlier_than_told():
    rig = rigged([(0, 0), (SECOND, 10**9), (2 * SECOND, 10**10)])
    told(rig, SECOND)
    row = frame(created=10**10 - 5)
    arrival_times.exclude_host_delay(rig, 0, 0, row, 10**10)
    assert row.created == 10**10
    ahead = frame(created=10**10 + 5)  # of a machine whose clock runs ahead
    arrival_times.exclude_host_delay(rig, 0, 0, ahead, 10**10)
    assert ahead.created == 10**10 + 5


def test_octets_without_a_departure_get_none():
    rig = rigged([(0, 0), (SECOND, 10**9), (2 * SECOND, 10**10)])
    told(rig, SECOND)
    row = frame(created=0)
    arrival_times.exclude_host_delay(rig, 0, 0, row, 10**10)
    assert row.created == 0


@pytest.mark.parametrize(("kind", "clock"), [(AUXDATA, SECOND), (STAMP_KIND, 0)])
def test_a_frame_without_a_time_is_counted_and_left_as_it_is(kind, clock):
    rig = rigged([(0, 0), (SECOND, 10**9), (2 * SECOND, 10**10)])
    told(rig, clock)
    rig.incoming.control[0, 1] = kind
    row = frame(created=9)
    arrival_times.exclude_host_delay(rig, 0, 0, row, 10**10)
    assert row.created == 9
    assert rig.arrivals[arrival_times.WITHOUT] == 1


def test_nothing_is_touched_where_no_times_were_asked_for():
    rig = rigged([(0, 0), (SECOND, 10**9), (2 * SECOND, 10**10)])
    told(rig, SECOND)
    rig.arrivals[arrival_times.REQUESTED] = 0
    row = frame(created=9)
    arrival_times.exclude_host_delay(rig, 0, 0, row, 10**10)
    assert row.created == 9
    assert rig.waits.sum() == 0
