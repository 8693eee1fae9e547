"""The clock of a run: it follows real time, and is held back, never turned back.

Real time passes while a test runs, and on a busy machine any amount of it. So the clock is shifted
by hours through `start_ns`, the horizon is minutes, and what is compared leaves a minute for the
machine (`PATIENCE`); everything else is exact.
"""

from __future__ import annotations

import random
import time
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.datapath.emulation_clock import (
    HOLDING,
    HOLDS,
    LAST,
    LONGEST,
    PS_PER_NS,
    REAL_TIME,
    advance,
    current_time,
    elapsed_run_time,
    leave_clock,
    next_instant,
    run_time,
)
from orchestrator.engine.records import NEVER

SECOND, HOUR = 10**12, 3600 * 10**12
HORIZON = 600 * SECOND
PATIENCE = 60 * SECOND


class FakeRig(NamedTuple):
    """What `pace` uses of a rig."""

    stamp: np.ndarray
    start_ns: np.ndarray
    thread: np.ndarray
    turn: np.ndarray
    horizon: np.ndarray
    held: np.ndarray
    progress: np.ndarray
    speed: np.ndarray
    rate_ppb: np.ndarray


class Rigs:
    """The rigs of threads that share a clock, which the test can shift."""

    def __init__(self, threads: int, horizon_ps: int = HORIZON) -> None:
        self.start_ns = np.array([time.monotonic_ns()], np.int64)
        self.held = np.zeros(threads, np.int64)
        self.progress = np.full(threads, -NEVER, np.int64)
        self.rigs = [
            FakeRig(
                stamp=np.zeros(2, np.int64),
                start_ns=self.start_ns,
                thread=np.array([number], np.int64),
                turn=np.array([-NEVER, 0, 0, 0], np.int64),
                horizon=np.array([horizon_ps], np.int64),
                held=self.held,
                progress=self.progress,
                speed=np.array([REAL_TIME], np.int64),
                rate_ppb=np.zeros(1, np.int64),
            )
            for number in range(threads)
        ]

    def pass_time(self, time_ps: int) -> None:
        """Let time pass (negative: turn the clock back, which a real one never does)."""
        self.start_ns[0] -= time_ps // 1000

    @property
    def real_ps(self) -> int:
        """Real time since the start."""
        return (time.monotonic_ns() - int(self.start_ns[0])) * 1000

    @property
    def limit_ps(self) -> int:
        """Where the slowest thread lets the others go."""
        return max(int(self.progress.min()), 0) + HORIZON


@pytest.fixture
def one() -> Rigs:
    return Rigs(1)


@pytest.fixture
def two() -> Rigs:
    """Two threads, both a moment after the start; the second is the slower."""
    rigs = Rigs(2)
    for rig in reversed(rigs.rigs):
        advance(rig)
    return rigs


def soon_after(time_ps: int, expected: int) -> bool:
    """Whether a time is the expected one, or that which the machine took on the way later."""
    return bool(0 <= time_ps - expected <= PATIENCE)


def test_before_the_start_time_is_negative_and_not_held(one):
    one.pass_time(-HOUR)
    assert soon_after(advance(one.rigs[0]), -HOUR)
    one.pass_time(HOUR // 2)
    assert soon_after(advance(one.rigs[0]), -HOUR // 2)
    assert one.held.tolist() == [0]


def test_a_machine_that_keeps_up_has_real_time(one):
    rig = one.rigs[0]
    for turn in range(1, 50):
        one.pass_time(HORIZON // 2)
        assert soon_after(advance(rig), turn * HORIZON // 2)
    assert one.held.tolist() == [0]
    assert rig.turn[[HOLDS, LONGEST, HOLDING]].tolist() == [0, 0, 0]


@pytest.mark.parametrize("speed", [10, 999, REAL_TIME // 4, 3 * REAL_TIME])
def test_a_clock_may_be_slower_or_faster(one, speed):
    rig = one.rigs[0]
    rig.speed[0] = speed
    for turn in range(1, 5):
        one.pass_time(100 * SECOND)
        assert (
            -REAL_TIME < advance(rig) * REAL_TIME - turn * 100 * SECOND * speed <= PATIENCE * speed
        )
    assert one.held.tolist() == [0]


@given(st.integers(-(10**13), 9 * 10**13), st.integers(10, 100 * REAL_TIME))
def test_the_time_of_a_run_is_exact_at_any_pace_and_for_a_day(elapsed_ns, speed):
    assert run_time(elapsed_ns, speed) == elapsed_ns * speed // 1000


@pytest.mark.parametrize("speed", [10, 999, REAL_TIME // 4, REAL_TIME])
def test_a_clock_that_follows_a_faster_one_does_so_at_any_pace(one, speed):
    """By 400 ppm, for an hour; read between two looks at a clock that does not."""
    rig = one.rigs[0]
    rig.speed[0] = speed
    faster = rig._replace(rate_ppb=np.array([400_000], np.int64))
    one.pass_time(HOUR)
    before, found, after = elapsed_run_time(rig), elapsed_run_time(faster), elapsed_run_time(rig)
    assert before + before * 400 // 10**6 - speed <= found <= after + after * 400 // 10**6


@pytest.mark.parametrize("speed", [10, 999, REAL_TIME // 4, REAL_TIME])
def test_frames_that_come_in_have_each_a_whole_ns_of_its_own(one, speed):
    """Behind everything before, also while the clock is held back and reads the same for all."""
    rig = one.rigs[0]
    rig.speed[0] = speed
    one.pass_time(HOUR)
    seen = []
    for _ in range(3):
        before = current_time(rig)
        seen += [next_instant(rig, NEVER) for _ in range(4)]
        assert before < seen[-4]
    assert all(time % PS_PER_NS == 0 for time in seen)
    assert len(set(seen)) == 12
    assert seen == sorted(seen)
    assert seen[-1] <= current_time(rig) <= seen[-1] + PATIENCE
    assert [next_instant(rig, 7000) for _ in range(2)] == [7000, 7000], "none is behind the end"


def test_time_never_goes_back(one):
    rig = one.rigs[0]
    one.pass_time(HORIZON // 2)
    reached = advance(rig)
    one.pass_time(-HORIZON // 4)
    assert advance(rig) == reached == rig.turn[LAST] == one.progress[0]
    one.pass_time(HORIZON // 2)
    assert advance(rig) > reached


def test_time_does_not_go_back_when_another_thread_holds_the_clock(two):
    near, far = two.rigs
    two.pass_time(HORIZON // 2)
    reached = advance(near)
    two.held[1] += HOUR
    assert elapsed_run_time(near) < reached
    assert advance(near) == reached
    assert advance(far) < reached


def test_a_stall_is_dropped_and_counted(one):
    rig = one.rigs[0]
    before = advance(rig)
    one.pass_time(HOUR)
    assert advance(rig) == before + HORIZON
    assert soon_after(int(one.held[0]), HOUR - HORIZON)
    assert rig.turn[HOLDS] == 1
    assert rig.turn[LONGEST] == rig.turn[HOLDING] == one.held[0]
    assert soon_after(elapsed_run_time(rig), before + HORIZON), (
        "the clock goes on from where it was held"
    )


def test_a_stall_that_nobody_has_counted_yet_is_not_in_the_time(two):
    near, far = two.rigs
    two.pass_time(HOUR)
    seen = current_time(far)
    assert seen == two.limit_ps < elapsed_run_time(far)
    advance(near)
    assert current_time(far) == seen, "and counting it does not turn the time back"
    assert two.held[0] > 0
    assert advance(far) >= seen


def test_turns_that_hold_one_after_the_other_are_one_hold(two):
    near, far = two.rigs
    two.pass_time(2 * HORIZON)
    reached = advance(near)
    for _ in range(5):
        two.pass_time(HORIZON)
        assert advance(near) == reached, "the other thread is still at its start"
    assert near.turn[HOLDS] == 1
    assert near.turn[LONGEST] == two.held[0]
    assert far.turn[HOLDS] == 0
    first = int(two.held[0])
    advance(far)
    two.pass_time(HORIZON // 2)
    assert advance(near) > reached
    assert near.turn[HOLDING] == 0
    two.pass_time(4 * HORIZON)
    advance(near)
    assert near.turn[HOLDS] == 2
    assert near.turn[LONGEST] == max(first, int(two.held[0]) - first)


def test_no_thread_runs_ahead_of_another_by_more_than_the_horizon(two):
    near, far = two.rigs
    slow = int(two.progress[1])
    two.pass_time(HOUR)
    assert advance(near) == slow + HORIZON
    assert far.turn[LAST] == slow, "nobody moves another thread"
    assert advance(far) <= slow + HORIZON


def test_a_thread_that_has_not_begun_holds_the_others_at_the_start():
    rigs = Rigs(2)
    rigs.pass_time(HOUR)
    assert advance(rigs.rigs[0]) == HORIZON


def test_a_thread_that_left_does_not_hold_the_others(two):
    near, far = two.rigs
    leave_clock(far)
    reached = advance(near)
    for _ in range(10):
        two.pass_time(HORIZON // 2)
        assert advance(near) > reached
        reached = int(near.turn[LAST])
    assert reached > 4 * HORIZON
    assert two.held.tolist() == [0, 0]


def test_when_all_have_left_a_late_turn_does_no_harm(two):
    for rig in two.rigs:
        leave_clock(rig)
    two.pass_time(HOUR)
    assert soon_after(advance(two.rigs[0]), HOUR)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_machine_does_the_rules_hold(seed):
    draw = random.Random(seed)
    rigs = Rigs(draw.randint(1, 4))
    left: set[int] = set()
    for _ in range(200):
        number = draw.randrange(len(rigs.rigs))
        if number in left:
            continue
        rig = rigs.rigs[number]
        rigs.pass_time(draw.choice([0, SECOND, HORIZON // 2, HORIZON, HOUR]))
        before, limit = int(rig.turn[LAST]), rigs.limit_ps
        others = np.delete(np.append(rigs.held, rigs.progress), [number, len(rigs.held) + number])
        held = int(rigs.held[number])
        real = rigs.real_ps
        now = advance(rig)
        assert before <= now <= max(before, limit)
        assert rigs.progress[number] == now
        assert rigs.held[number] >= held
        assert soon_after(elapsed_run_time(rig) + int(rigs.held.sum()), real), (
            "nothing is lost uncounted"
        )
        assert (
            others
            == np.delete(np.append(rigs.held, rigs.progress), [number, len(rigs.held) + number])
        ).all(), "a thread writes its own words only"
        if draw.random() < 0.01:
            leave_clock(rig)
            left.add(number)
    counts = [(int(rig.turn[HOLDS]), int(rig.turn[LONGEST])) for rig in rigs.rigs]
    for held, (holds, longest) in zip(rigs.held.tolist(), counts, strict=True):
        assert longest <= held <= holds * longest
