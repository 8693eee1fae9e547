"""Histograms of times: every time falls between the edges of its bin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.histogram import (
    BINS,
    add,
    bin_of,
    edges_ps,
    new_histogram,
    percentile_ps,
    share_above,
)

EDGES = edges_ps()


@given(st.integers(0, int(EDGES[-1]) - 1))
def test_a_time_lies_between_the_edges_of_its_bin(value):
    place = bin_of(value)
    assert EDGES[place] <= value < EDGES[place + 1]


def test_bins_are_contiguous_and_three_percent_wide():
    widths = np.diff(EDGES)
    assert (widths > 0).all()
    assert (widths[32:] / EDGES[32:-1] <= 1 / 32).all()


@pytest.mark.parametrize(("value", "place"), [(-1, 0), (-(2**62), 0), (2**62, BINS - 1)])
def test_what_lies_outside_falls_in_the_outermost_bins(value, place):
    assert bin_of(value) == place


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=200), st.floats(0, 1))
def test_a_percentile_is_at_least_the_exact_one_and_three_percent_more_at_most(values, share):
    histogram = new_histogram()
    for value in values:
        add(histogram, value)
    wanted = max(1, int(np.ceil(share * len(values))))
    exact = sorted(values)[wanted - 1]
    assert exact <= percentile_ps(histogram, share) <= exact * (1 + 1 / 32) + 1024
    assert percentile_ps(histogram, 1.0) == max(values)
    above = sum(value > exact for value in values) / len(values)
    assert share_above(histogram, exact) >= above
    assert share_above(histogram, 2 * exact + 2048) <= above
    assert share_above(histogram, max(values)) == 0


def test_nothing_counted_is_no_lateness():
    assert percentile_ps(new_histogram(), 0.99) == 0
