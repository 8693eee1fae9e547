"""Percentiles of histograms and shares of rates, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.metrics.sample_statistics import (
    histogram_percentile,
    jain,
    moments,
    over_time,
    percentile,
    spread,
)

EDGES = np.array([0, 10, 30, 70])


@pytest.mark.parametrize(
    ("share", "value"), [(0.25, 5), (0.5, 10), (0.625, 15), (0.75, 20), (1.0, 30)]
)
def test_a_percentile_lies_in_its_bin_as_far_as_the_frames_before_it(
    share: float, value: float
) -> None:
    """Four frames below 10 and four below 30: half of either is in the middle of its bin."""
    assert histogram_percentile(np.array([4, 4, 0]), EDGES, share) == pytest.approx(value)


def test_empty_bins_before_a_percentile_are_passed() -> None:
    assert histogram_percentile(np.array([0, 0, 8]), EDGES, 0.5) == pytest.approx(50)
    assert histogram_percentile(np.array([2, 0, 6]), EDGES, 0.5) == pytest.approx(30 + 40 / 3)


def test_one_frame_is_enough() -> None:
    assert histogram_percentile(np.array([0, 1, 0]), EDGES, 0.5) == pytest.approx(20)


def test_the_rank_is_the_next_whole_one() -> None:
    assert percentile(np.array([30, 10, 20]), 0.0) == 10
    assert percentile(np.array([30, 10, 20]), 0.34) == 20
    assert percentile(np.arange(10), 0.7) == 6, "0.7 x 10 is seven, whatever binary fractions say"


def test_moments_are_those_of_the_population() -> None:
    assert moments(np.array([2, 4, 4, 4, 5, 5, 7, 9])) == (5, 2)
    assert moments(np.array([])) == (None, None)


def test_shares_of_rates() -> None:
    assert jain(np.array([1.0, 3.0])) == pytest.approx(16 / 20)
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(1 / 4)
    assert spread(np.array([2.0, 0.5, 1.0])) == 4
    assert spread(np.array([])) is None
    assert jain(np.array([])) is None


@given(
    st.one_of(
        st.lists(st.integers(-(1 << 52), 1 << 52), min_size=1, max_size=300),
        st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=300),
    )
)
def test_moments_are_numpy_s_to_the_last_bit(samples: list[float]) -> None:
    array = np.array(samples)
    deviation = float(array.std()) if len(samples) > 1 else None
    assert moments(array) == (float(array.mean()), deviation)


def test_one_sample_has_no_deviation_and_tells_nothing_of_a_phase() -> None:
    assert moments(np.array([7])) == (7.0, None)
    assert moments(np.array([])) == (None, None)
    assert over_time(np.array([7])).tolist() == []
    assert over_time(np.array([7, 8])).tolist() == [7, 8]


@given(st.lists(st.integers(0, 9), min_size=3, max_size=3), st.sampled_from([0.25, 0.5, 0.99]))
def test_a_running_sum_that_is_there_already_changes_nothing(
    counts: list[int], share: float
) -> None:
    alone = histogram_percentile(np.array(counts), EDGES, share)
    assert histogram_percentile(np.array(counts), EDGES, share, np.cumsum(counts)) == alone
