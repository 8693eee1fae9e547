"""Captures on one clock: what was believed at the start is put right by what is known later."""

from __future__ import annotations

import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.recording import PortCapture
from orchestrator.testbed.controller.clock_correction import ClockCorrection
from orchestrator.testbed.wire.clock_offset import Estimate
from traces.pcapng import write

START = 50 * 10**9
SECOND_PS = 10**12


def estimate(offset_ns: int, drift_ppb: int, error_ns: int = 700) -> Estimate:
    return Estimate(START, offset_ns, drift_ppb, error_ns, "exchanges", 100)


def given_by(machine: Estimate, begun: Estimate, ours_ps: np.ndarray) -> np.ndarray:
    """What a machine gives for frames at our times after the start, as its data path counts."""
    shown_ns = START + ours_ps / 1000 + machine.offset(START) + machine.drift_ppb * ours_ps / 1e12
    since_ns = shown_ns - begun.theirs(START)
    return np.rint(1000 * since_ns * (1 - begun.drift_ppb / 1e9)).astype(np.int64)


def test_real_times_are_brought_to_the_controllers_time_as_those_of_the_run():
    """A run at a pace of 0.1: a second of the machine's is a tenth of the run's."""
    slow = ClockCorrection(shift_ps=2 * 10**6, rate=1e-4)
    real = np.array([0, 10**9, -(10**9)], np.int64)
    assert slow.apply_ns(real, 0.1).tolist() == [20_000, 10**9 + 120_000, -(10**9) - 80_000]
    assert (100 * slow.apply_ns(real, 0.1)).tolist() == slow.apply(100 * real).tolist()
    assert ClockCorrection().apply_ns(real, 0.1).tolist() == real.tolist()


clocks = st.tuples(st.integers(-10_000_000, 10_000_000), st.integers(-100_000, 100_000))


@given(clocks, clocks)
def test_frames_come_to_stand_at_the_controllers_time(
    true: tuple[int, int], begun: tuple[int, int]
):
    """To within 1 us: both drifts are up to 100 ppm, and their product is left out."""
    ours = np.array([0, 1, SECOND_PS // 3, 12 * SECOND_PS], np.int64)
    machine, believed = estimate(*true), estimate(*begun)
    retimed = ClockCorrection.of(believed, machine, START).apply(given_by(machine, believed, ours))
    assert (np.abs(retimed - ours) <= 2000).all(), retimed - ours


@given(clocks, clocks)
def test_a_run_at_another_pace_is_retimed_in_its_own_time(
    true: tuple[int, int], begun: tuple[int, int]
):
    """What the machine gave for real times, and these, are a tenth of them in the run's time."""
    ours = np.array([0, 1, SECOND_PS // 3, 12 * SECOND_PS], np.int64)
    machine, believed = estimate(*true), estimate(*begun)
    retiming = ClockCorrection.of(believed, machine, START, speed=100_000)
    retimed = retiming.apply(given_by(machine, believed, ours) // 10)
    assert (np.abs(retimed - ours // 10) <= 300).all(), retimed - ours // 10
    assert retiming.error_ns == 70


@given(st.lists(st.integers(0, 10**15), min_size=2), clocks, clocks)
def test_the_order_of_frames_stays(times: list[int], true: tuple[int, int], begun: tuple[int, int]):
    retiming = ClockCorrection.of(estimate(*begun), estimate(*true), START)
    after = retiming.apply(np.array(sorted(times), np.int64))
    assert (np.diff(after) >= 0).all()


def test_the_file_says_how_well_its_times_are_known():
    retiming = ClockCorrection.of(estimate(5_000, 30), estimate(1_500, 10), START)
    comment = retiming.comment("right")
    assert "within 700 ns (exchanges), after 3500 ns and 20 ppb were added" in comment
    none = np.zeros(0, np.int64)
    port = PortCapture(
        *("sink", "switch", none, none.astype(bool), none, none, np.zeros((0, 64), np.uint8), 0),
        comment=comment,
    )
    file = io.BytesIO()
    write(file, port)
    assert comment.encode() in file.getvalue()


def test_what_is_added_is_told_in_seconds_and_ppm_and_at_its_furthest():
    retiming = ClockCorrection(shift_ps=-3_000_000, rate=2e-6)
    assert retiming.table() == {"added_s": -3e-6, "added_ppm": 2.0}
    assert retiming.apply(np.array([0, SECOND_PS])).tolist() == [-3_000_000, SECOND_PS - 1_000_000]
    assert retiming.furthest_ps(SECOND_PS) == 3_000_000
    assert retiming.furthest_ps(10 * SECOND_PS) == 17_000_000
    assert ClockCorrection().furthest_ps(SECOND_PS) == 0


def test_errors_are_rounded_up():
    at = estimate(0, 0, error_ns=701)
    assert [ClockCorrection.of(at, at, START, speed).error_ns for speed in (10**6, 10**5, 10)] == [
        701,
        71,
        1,
    ]


def test_where_there_is_one_clock_nothing_is_moved_or_said():
    same = Estimate(START, 0, 0, 0, "one kernel, one clock", 12)
    retiming = ClockCorrection.of(same, same, START)
    times = np.arange(5, dtype=np.int64) * SECOND_PS
    assert np.array_equal(retiming.apply(times), times)
    assert retiming.comment("left") == ""
    assert ClockCorrection().comment("left") == ""
