"""Turns that took long are logged, with what the kernel says of the thread meanwhile.

The clock that turns are measured by is moved by hand. The kernel's answers are its own; what is
asked of them holds however busy the machine is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest

from orchestrator.engine.datapath import stall_detection as at
from orchestrator.engine.records import CLOCK
from orchestrator.targets.software.realtime_scheduling import schedstat

US, MS, SECOND = 1000, 1_000_000, 1_000_000_000
FLOOR = 80 * US
START = 5_000 * SECOND + 123


class World(NamedTuple):
    """What the log uses of a world."""

    clock: np.ndarray


class FakeRig(NamedTuple):
    """What it uses of a rig."""

    stamp: np.ndarray
    turn: np.ndarray
    stalled: np.ndarray
    stalls: np.ndarray
    usage: np.ndarray
    schedstat: np.ndarray


class Loop:
    """A loop that begins one turn after another, at times that the test names."""

    def __init__(self, rows: int = 4, floor_ns: int = FLOOR, file: int = at.NONE) -> None:
        self.world = World(np.zeros(1, CLOCK).view(np.recarray))
        self.rig = FakeRig(
            stamp=np.zeros(2, np.int64),
            turn=np.array([SECOND, 0, 0, 0], np.int64),
            stalled=at.words(floor_ns),
            stalls=np.zeros((rows, at.COLUMNS), np.int64),
            usage=np.zeros(at.USAGE_WORDS, np.int64),
            schedstat=np.zeros(at.TEXT, np.uint8),
        )
        self.rig.stalled[at.FILE] = file
        self.now = START

    def begin(self) -> None:
        at.begin_stall_detection(self.world, self.rig, self.now)

    def turn(self, took_ns: int, events: int = 0, frames: int = 0, run_ps: int = 0) -> int:
        """A turn ends after so long, and the next one begins; the row of the one that ended."""
        self.now += took_ns
        self.rig.stamp[:] = divmod(self.now, SECOND)
        self.rig.turn[0] += run_ps
        self.world.clock[0].events += events
        self.rig.stalled[at.FRAMES] += frames
        row = int(at.check_last_iteration(self.world, self.rig))
        assert self.now <= self.word(at.BEGAN_NS)
        self.now = self.word(at.BEGAN_NS)  # later where the machine stalls while it is asked
        return row

    def word(self, place: int) -> int:
        return int(self.rig.stalled[place])


@pytest.fixture
def loop() -> Loop:
    made = Loop()
    made.begin()
    return made


@pytest.fixture
def told() -> Iterator[Loop]:
    """One whose thread the scheduler says something of."""
    with schedstat() as file:
        if file < 0:
            pytest.skip("this kernel has no /proc/thread-self/schedstat")
        made = Loop(file=file)
        made.begin()
        yield made


def test_a_turn_above_the_floor_has_a_row_and_no_other(loop):
    rows = [loop.turn(took) for took in (300, FLOOR, FLOOR + 1, 500, 10 * MS)]
    assert rows == [at.NONE, at.NONE, 0, at.NONE, 1]
    assert loop.word(at.COUNT) == 2
    lengths = loop.rig.stalls[:2, at.TO_NS] - loop.rig.stalls[:2, at.FROM_NS]
    assert lengths[0] > FLOOR
    assert lengths[1] >= 10 * MS
    assert loop.word(at.TIME_NS) == lengths.sum()


def test_a_row_says_when_by_both_clocks_and_what_was_done(loop):
    loop.turn(700, events=3, run_ps=700_000)
    loop.turn(12 * MS, events=5, frames=2, run_ps=31_000_000)
    row = loop.rig.stalls[0]
    assert row[[at.FROM_NS, at.TO_NS]].tolist() == [START + 700, loop.now]
    assert loop.now >= START + 700 + 12 * MS
    assert row[[at.FROM_PS, at.TO_PS]].tolist() == [SECOND + 700_000, SECOND + 31_700_000]
    assert row[at.WORK] == 7


def test_the_heap_that_it_left_is_counted_when_it_is_worked_off(loop):
    row = loop.turn(12 * MS, events=1000)
    loop.world.clock[0].events += 41
    at.end_backlog(loop.world, loop.rig, row)
    loop.turn(300, events=5)
    assert loop.rig.stalls[0, at.AFTER] == 41


def test_ordinary_turns_that_did_something_tell_what_work_takes(loop):
    loop.turn(2000, events=3, frames=1)
    loop.turn(700)
    loop.turn(3000, events=6)
    loop.turn(FLOOR + 1, events=100)
    assert (loop.word(at.BUSY_NS), loop.word(at.BUSY_WORK)) == (5000, 10)


def test_before_the_run_and_before_the_loop_nothing_is_noted():
    loop = Loop()
    assert loop.turn(10 * MS, events=4) == at.NONE
    loop.begin()
    loop.rig.turn[0] = -1
    assert loop.turn(10 * MS) == at.NONE
    assert (loop.word(at.COUNT), loop.word(at.BUSY_NS)) == (0, 0)
    assert loop.turn(10 * MS, run_ps=2) == 0


def test_what_finds_no_row_is_counted_and_the_most_of_it_kept(loop):
    rows = [loop.turn(1 * MS, run_ps=ps) for ps in (90, 80, 70, 60, 9, 5)]
    assert loop.word(at.MOST_PS) == 9
    assert loop.word(at.MOST_NS) >= 1 * MS
    assert rows == [0, 1, 2, 3, at.NONE, at.NONE]
    assert loop.word(at.COUNT) == 6
    assert loop.word(at.TIME_NS) == loop.now - START >= 6 * MS


@pytest.mark.parametrize(("asked", "floor"), [(0, at.LEAST_NS), (MS, MS), (at.LEAST_NS, 50 * US)])
def test_no_floor_is_below_the_least(asked, floor):
    loop = Loop(floor_ns=asked)
    loop.begin()
    assert loop.turn(floor) == at.NONE
    assert loop.turn(floor + 1) == 0


def test_the_kernel_is_asked_again_after_a_while_and_not_before(loop):
    """So that a row tells of little more than its own turn."""
    asked = loop.word(at.QUERIED_NS)
    assert asked == START
    for _ in range(200):
        loop.turn(at.RETRY_NS // 200)
    assert loop.word(at.QUERIED_NS) == asked
    loop.turn(300)
    assert loop.word(at.QUERIED_NS) == loop.now
    asked = loop.now
    loop.turn(40 * US)
    row = loop.turn(3 * MS)
    assert loop.rig.stalls[row, at.SPAN_NS] == loop.now - asked >= 3 * MS + 40 * US
    assert loop.word(at.QUERIED_NS) == loop.now


def test_a_thread_that_works_all_the_time_is_on_its_core(told):
    end = time.thread_time_ns() + 20 * MS
    while time.thread_time_ns() < end:
        pass
    told.turn(20 * MS)
    row = told.rig.stalls[0]
    assert row[at.SPAN_CPU_NS] >= 20 * MS
    assert row[at.SPAN_WAITED_NS] >= 0


def test_a_thread_that_gives_its_core_away_is_found_out(told):
    begun = told.word(at.CPU_NS)
    time.sleep(0.03)
    told.turn(30 * MS)
    row = told.rig.stalls[0]
    assert row[at.SPAN_SLEPT] >= 1
    assert 0 < row[at.SPAN_CPU_NS] <= time.thread_time_ns() - begun


def test_what_the_kernel_says_is_of_the_span_and_not_of_all_time(told):
    for _ in range(50):
        time.sleep(0.0001)
    told.turn(1 * MS)
    told.turn(1 * MS)
    rows = told.rig.stalls
    assert rows[0, at.SPAN_SLEPT] >= 50
    assert rows[1, at.SPAN_SLEPT] < 50
    assert rows[1, at.SPAN_CPU_NS] < told.word(at.CPU_NS)
    total = int(told.rig.schedstat.tobytes().split()[1])
    assert 0 <= rows[1, at.SPAN_WAITED_NS] <= total


def test_a_kernel_that_says_nothing_is_not_taken_at_its_word(loop):
    loop.turn(10 * MS)
    assert loop.rig.stalls[0, at.SPAN_WAITED_NS] == at.NONE
    assert loop.rig.stalls[0, at.SPAN_CPU_NS] >= 0


@pytest.mark.parametrize(
    ("answers_take", "asked", "as_of"),
    [
        ([3 * US], 1, 0),
        ([at.LEAST_NS], 1, 0),
        ([at.LEAST_NS + 1, 3 * US], 2, at.LEAST_NS + 1),
        ([9 * MS, 4 * MS, 3 * US], 3, 13 * MS),
        ([MS] * 9, at.TRIES, at.TRIES * MS),
    ],
)
def test_where_a_stall_falls_between_two_answers_it_is_asked_again(answers_take, asked, as_of):
    """As Python, by a clock that goes on while it is asked and at no other time."""
    now, calls = [START], list[int]()

    def ask(rig: FakeRig) -> None:
        now[0] += answers_take[len(calls)]
        calls.append(now[0])

    plain = getattr(at.query_thread_usage_at, "py_func", at.query_thread_usage_at)
    names = vars(at) | {"query_thread_usage": ask, "monotonic_ns": lambda stamp: now[0]}
    found = FunctionType(plain.__code__, names)(Loop().rig, START)
    assert (len(calls), found - START) == (asked, as_of)


@pytest.mark.parametrize(
    ("text", "second"),
    [
        (b"12 345 6\n", 345),
        (b"0 0 1\n", 0),
        (b"7 18446744073 2", 18446744073),
        (b"7 8", 8),
        (b"7", at.NONE),
        (b"", at.NONE),
        (b"7 \n", at.NONE),
    ],
)
def test_the_second_of_three_numbers_is_read(text, second):
    octets = np.zeros(at.TEXT, np.uint8)
    octets[:] = ord("9")  # what an earlier reading left
    octets[: len(text)] = list(text)
    assert at.second_number(octets, len(text)) == second
