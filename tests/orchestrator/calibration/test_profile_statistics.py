"""What is made of times: held to schedules whose faults are known, and to slow and plain counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.calibration.core_stalls import FLOOR_NS, stalls_of
from orchestrator.calibration.forwarding_rate import forwarding_of
from orchestrator.calibration.profile_statistics import (
    gap_ns,
    matched,
    mean_error_ppm,
    order_of,
    overlapping,
    window_errors,
)
from orchestrator.calibration.shaping_accuracy import limiter_of

SPANS = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), max_size=8)


def spans(steps: list[tuple[int, int]]) -> np.ndarray:
    """Spans that do not touch: each so long after the last one, so long."""
    found, now = [], 0
    for after, length in steps:
        found.append((now + after, length))
        now += after + length
    return np.array(found, np.int64).reshape(-1, 2)


def covered(rows: np.ndarray) -> set[int]:
    return {at for begin, length in rows.tolist() for at in range(begin, begin + length)}


@given(st.lists(SPANS, min_size=1, max_size=3))
def test_what_several_spans_have_in_common(steps: list[list[tuple[int, int]]]) -> None:
    each = [spans(one) for one in steps]
    common = set.intersection(*(covered(one) for one in each))
    assert covered(overlapping(each)) == common


@given(st.lists(st.integers(0, 60), max_size=60))
def test_lost_and_late_frames_are_counted(sequence: list[int]) -> None:
    lost, late = order_of(np.array(sequence, np.int64))
    if sequence:
        assert lost == len(set(range(min(sequence), max(sequence) + 1)) - set(sequence))
    assert late == sum(max(sequence[:at]) > one for at, one in enumerate(sequence) if at)


@given(st.sets(st.integers(0, 99)), st.sets(st.integers(0, 99)))
def test_frames_are_found_in_both(left: set[int], right: set[int]) -> None:
    a, b = np.array([*left], np.int64), np.array([*right], np.int64)
    mine, theirs = matched(a, b)
    assert a[mine].tolist() == b[theirs].tolist() == sorted(left & right)


@pytest.mark.parametrize("off", [-0.01, 0.0, 0.01])
@pytest.mark.parametrize("rate", [10_000_000, 100_000_000, 950_000_000])
def test_a_limiter_off_by_one_percent_shows_in_every_window(rate: int, off: float) -> None:
    gap = gap_ns(1500, rate * (1 + off))
    times = np.rint(np.arange(round(2.2e9 / gap)) * gap).astype(np.int64)
    found = limiter_of(rate, 1500, times)
    assert found.mean_error_ppm == pytest.approx(off * 1e6, abs=1)
    assert [window.window_ns for window in found.windows] == [10**6, 10**7, 10**8, 10**9]
    for window in found.windows:
        time_error = abs(1 / (1 + off) - 1) * 1e6
        assert window.p50_error_ppm == pytest.approx(time_error, abs=2e6 / window.window_ns + 1)


def test_a_stall_shows_in_short_windows_and_not_in_the_mean() -> None:
    gap = gap_ns(1500, 100_000_000)
    due = np.arange(20_000) * gap
    late = np.where((due > 1e9) & (due < 1.005e9), 1.005e9, due)  # 5 ms, then all at once
    found = window_errors(np.rint(late).astype(np.int64), gap)
    assert found[0].max_error_ppm > 4e6
    assert found[0].p50_error_ppm < 50
    assert abs(mean_error_ppm(late, gap)) < 0.01
    assert found[2].max_error_ppm == pytest.approx(5e4, rel=0.05)


def test_too_short_a_trial_says_nothing_of_long_windows() -> None:
    gap = gap_ns(1500, 100_000_000)
    times = np.rint(np.arange(2000) * gap).astype(np.int64)  # 0.24 s
    assert [window.window_ns for window in window_errors(times, gap)] == [10**6, 10**7, 10**8]


def test_stalls_are_told_apart() -> None:
    ms = 10**6
    one = np.array([(10 * ms, 4 * ms), (100 * ms, 2 * ms)], np.int64)
    other = np.array([(12 * ms, 4 * ms), (300 * ms, ms)], np.int64)
    found = stalls_of([one, other], 1.0, waited_s=0.003, stolen_s=0.004)
    assert (found.count, found.at_once_count) == (4, 1)
    assert found.longest_ns == 4 * ms
    assert found.share == pytest.approx(0.0055)
    assert found.at_once_length_quantiles_ns[-1] == 2 * ms
    assert (found.waited_share, found.stolen_share) == (0.0015, 0.002)
    assert found.unexplained_share == pytest.approx(0.002)


def test_a_quiet_machine_has_no_stalls() -> None:
    none = np.zeros((0, 2), np.int64)
    found = stalls_of([none, none], 1.0, 0.0, None)
    assert (found.count, found.longest_ns, found.share) == (0, 0, 0.0)
    assert found.stolen_share is None
    assert found.floor_ns == FLOOR_NS


def test_forwarding_is_the_median_of_its_spans() -> None:
    counts = [(0, 0), (10**9, 100), (2 * 10**9, 120), (3 * 10**9, 420)]
    found = forwarding_of(70, counts)
    assert (found.least_frames_per_s, found.frames_per_s, found.most_frames_per_s) == (20, 100, 300)
