"""Captures on one clock: what was believed at the start is put right by what is known later."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.node.latency_histogram import BINS, latency_bin, latency_edges
from orchestrator.plan import Plan
from orchestrator.recording import PortCapture
from orchestrator.registry import Registry
from orchestrator.testbed.controller import distributed_verdict
from orchestrator.testbed.controller.clock_correction import (
    ClockCorrection,
    Shift,
    corrected_histograms,
    shifted_histogram,
)
from orchestrator.testbed.wire.clock_offset import Estimate
from tests.trials import plans
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


# One-way delays: moved by what is known of two clocks after the run, and no frame is lost.

US, SECOND = 10**6, 10**12
EDGES = latency_edges()
bin_of = getattr(latency_bin, "py_func", latency_bin)


def histogram(delays: list[int]) -> np.ndarray:
    counts = np.zeros(BINS, np.int64)
    for delay in delays:
        counts[bin_of(max(delay, 0))] += 1
    return counts


def median(counts: np.ndarray) -> float:
    place = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    return float(EDGES[place] + EDGES[place + 1]) / 2


@given(
    st.lists(st.integers(0, 10**10), min_size=1, max_size=30),
    st.integers(-(10**10), 10**10),
)
def test_totals_stay_and_moving_is_monotone(delays: list[int], by: int):
    history = np.stack([histogram(delays[:1]), histogram(delays)])
    after = shifted_histogram(history, EDGES, np.array([by, by]))
    assert (after.sum(axis=1) == history.sum(axis=1)).all()
    assert (np.diff(after, axis=0) >= 0).all()
    assert (after >= 0).all()


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (0, [40, 20, 8]),
        (10, [0, 40, 28]),
        (-10, [60, 8, 0]),
        (5, [20, 30, 18]),  # half of each bin goes on, and nothing leaves the last one
        (-15, [64, 4, 0]),
        (1000, [0, 0, 68]),
    ],
)
def test_frames_are_spread_evenly_over_their_bin_when_it_is_moved(by: int, expected: list[int]):
    edges = np.array([0, 10, 20, 30])
    assert shifted_histogram(np.array([[40, 20, 8]]), edges, np.array([by])).tolist() == [expected]


def test_each_interval_is_moved_by_its_own_and_counts_go_on_growing():
    edges = np.array([0, 10, 20, 30])
    history = np.array([[10, 0, 0], [10, 20, 0], [14, 20, 0]])
    after = shifted_histogram(history, edges, np.array([10, 0, 20]))
    assert after.tolist() == [[0, 10, 0], [0, 30, 0], [0, 30, 4]]


def test_what_no_frame_was_counted_of_is_not_said_to_be_moved():
    history = np.zeros((2, 2, BINS), np.int64)
    history[1, 1, 7] = 5
    clocks = {0: [ClockCorrection()], 1: [ClockCorrection()]}
    fixed, shifts = corrected_histograms(
        history, EDGES, np.array([1, 2]), ClockCorrection(shift_ps=US), clocks
    )
    assert list(shifts) == [1]
    assert shifts[1].added.tolist() == [US, US]
    assert fixed[:, 0].sum() == fixed[0].sum() == 0
    assert fixed[1, 1].sum() == 5
    assert fixed[1, 1, 7] == 0


def test_of_several_senders_the_middle_is_taken_and_the_rest_is_told():
    """4 and 10 us ahead of the receiver: 7 are taken off, and 3 may be missing either way."""
    senders = [ClockCorrection(shift_ps=4 * US), ClockCorrection(shift_ps=10 * US)]
    shift = Shift.between(senders, ClockCorrection(), np.array([SECOND, 2 * SECOND]))
    assert shift.added.tolist() == [-7 * US, -7 * US]
    assert shift.spread == 3 * US


def test_an_odd_picosecond_of_what_may_be_missing_counts_up():
    senders = [ClockCorrection(shift_ps=4), ClockCorrection(shift_ps=7)]
    shift = Shift.between(senders, ClockCorrection(), np.array([SECOND]))
    assert (shift.added.tolist(), shift.spread) == ([-6], 2)
    even = Shift.between(
        [ClockCorrection(shift_ps=4), ClockCorrection(shift_ps=8)], ClockCorrection(), np.array([1])
    )
    assert (even.added.tolist(), even.spread) == ([-6], 2)
    none = Shift.between(senders, ClockCorrection(), np.array([], np.int64))
    assert (none.added.tolist(), none.spread) == ([], 0)


def test_delays_become_what_they_were():
    """A receiver that was 300 us ahead measured 400 us for 100; a bin is 1/32 wide."""
    rng = np.random.default_rng(1)
    true = rng.integers(90 * US, 110 * US, 1000)
    history = histogram([int(d) + 300 * US for d in true])[None, None, :]
    receiver = ClockCorrection(shift_ps=-300 * US, method="exchanges", error_ns=500)
    fixed, shifts = corrected_histograms(
        history, EDGES, np.array([SECOND]), receiver, {0: [ClockCorrection()]}
    )
    assert abs(median(fixed[0, 0]) - 100 * US) < 100 * US / 20
    assert shifts[0].added.tolist() == [-300 * US]
    assert shifts[0].spread == 0


def test_a_drift_is_taken_out_phase_by_phase():
    """10 ppm apart: 10 us in the first second, 30 more in the next three; the middle of each."""
    shift = Shift.between(
        [ClockCorrection(rate=4e-6)], ClockCorrection(rate=-6e-6), np.array([0, SECOND, 4 * SECOND])
    )
    assert shift.added.tolist() == [0, -5 * US, -25 * US]
    assert shift.spread == 15 * US


def test_a_drift_the_other_way_is_put_in():
    shift = Shift.between(
        [ClockCorrection(rate=-6e-6)], ClockCorrection(rate=4e-6), np.array([0, SECOND, 4 * SECOND])
    )
    assert shift.added.tolist() == [0, 5 * US, 25 * US]
    assert shift.spread == 15 * US


def test_errors_of_clocks_count_for_less_where_the_runs_clock_is_slow():
    resolved = Plan.load(plans.short()).check(Registry.load())
    clock = Estimate(0, 9_000_000, 20, 10_000, "exchanges", 30)
    told = distributed_verdict.clocks(resolved, {"a": clock, "b": clock}, 0.1)
    row = told["machines"]["a"]
    assert (row["offset_s"], row["error_s"]) == (9e-3, pytest.approx(1e-6))
    assert told["error_s"] == pytest.approx(2e-6)


def test_clocks_that_were_right_change_nothing():
    history = histogram([50 * US, 60 * US])[None, None, :]
    fixed, shifts = corrected_histograms(
        history,
        EDGES,
        np.array([SECOND]),
        ClockCorrection(),
        {0: [ClockCorrection(), ClockCorrection()]},
    )
    assert np.array_equal(fixed, history)
    assert not shifts[0].added.any()


def test_samples_further_off_than_the_plan_measures_degrade_the_run():
    """1 us at the start, and 10 ppm for 12 s."""
    told = {"machines": {"m": {}}, "error_s": 1e-6, "measured_s": 1e-4, "verdict": "valid"}
    distributed_verdict.add_retimings(
        told, {"m": ClockCorrection(shift_ps=US, rate=10e-6)}, 12 * SECOND
    )
    assert told["machines"]["m"]["samples"] == {"off_s": 121e-6}
    fidelity = distributed_verdict.with_clocks({"verdict": "valid", "reasons": []}, told)
    assert fidelity["verdict"] == "degraded"
    assert len(fidelity["reasons"]) == 1
    assert "121 us off its time; the plan measures times of 100 us" in fidelity["reasons"][0]
