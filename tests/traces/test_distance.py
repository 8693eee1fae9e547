"""Distances between samples, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.compare.run_comparison import kolmogorov_smirnov, wasserstein

SAMPLES = st.lists(st.integers(0, 40), min_size=1, max_size=25).map(np.array)


def test_known() -> None:
    zeros, ones = np.zeros(10), np.ones(10)
    assert kolmogorov_smirnov(zeros, ones) == 1
    assert wasserstein(zeros, 7 * ones) == 7
    half = np.array([0, 10])
    assert kolmogorov_smirnov(np.zeros(4), half) == 0.5
    assert wasserstein(np.zeros(4), half) == 5
    assert kolmogorov_smirnov(np.array([]), half) is None
    assert wasserstein(half, np.array([])) is None


@given(SAMPLES, SAMPLES)
def test_by_definition(first: np.ndarray, second: np.ndarray) -> None:
    grid = range(42)
    ones = [float((first <= x).mean()) for x in grid]
    others = [float((second <= x).mean()) for x in grid]
    gaps = [abs(a - b) for a, b in zip(ones, others, strict=True)]
    assert kolmogorov_smirnov(first, second) == pytest.approx(max(gaps))
    assert wasserstein(first, second) == pytest.approx(sum(gaps), abs=1e-9)


@given(SAMPLES, SAMPLES)
def test_symmetric_and_zero_for_the_same(first: np.ndarray, second: np.ndarray) -> None:
    for distance in (kolmogorov_smirnov, wasserstein):
        assert distance(first, second) == pytest.approx(distance(second, first))
        assert distance(first, first[::-1]) == 0


@given(SAMPLES, st.integers(1, 1000))
def test_wasserstein_of_a_shift_is_the_shift(samples: np.ndarray, shift: int) -> None:
    assert wasserstein(samples, samples + shift) == pytest.approx(shift)
