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
    mean_ps,
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


UNIT = 1024


def counted(*values: int) -> np.ndarray:
    histogram = new_histogram()
    for value in values:
        add(histogram, value)
    return histogram


def test_edges_are_whole_units_up_to_five_minutes():
    assert len(EDGES) == BINS + 1 == 32 * 34 + 1
    assert (EDGES[:65] == np.arange(65) * UNIT).all()
    assert EDGES[65:68].tolist() == [66 * UNIT, 68 * UNIT, 70 * UNIT]
    assert edges_ps()[-1] == 2**48, "not as of when this file was imported"
    assert len(new_histogram()) == BINS + 1


@pytest.mark.parametrize("edge", [1, 31, 32, 33, 63, 64, 96, 1000, BINS - 2, BINS - 1])
def test_a_bin_begins_at_its_edge(edge):
    assert (bin_of(int(EDGES[edge]) - 1), bin_of(int(EDGES[edge]))) == (edge - 1, edge)
    assert bin_of(int(EDGES[-1]) - 1) == bin_of(int(EDGES[-1])) == BINS - 1


def test_the_mean_takes_times_for_the_upper_edges_of_their_bins():
    assert mean_ps(counted(0, UNIT - 1, UNIT, 5 * UNIT)) == (1 + 1 + 2 + 6) * UNIT / 4
    assert mean_ps(counted(5)) == UNIT
    assert mean_ps(new_histogram()) == 0


def test_the_maximum_is_exact_and_no_negative_time_is_one():
    assert counted(-5, -7)[BINS] == 0
    assert counted(3, 9, 4)[BINS] == 9
    assert counted(3, 9, 4)[:BINS].sum() == 3


def test_a_percentile_is_the_upper_edge_of_its_bin_or_the_maximum():
    histogram = counted(0, 2 * UNIT, 4 * UNIT, 4 * UNIT + 7)
    assert [percentile_ps(histogram, share) for share in (0, 0.25, 0.26, 0.5, 0.51, 1)] == [
        *(UNIT, UNIT, 3 * UNIT, 3 * UNIT, 4 * UNIT + 7, 4 * UNIT + 7)
    ]


def test_the_share_above_a_time_has_all_of_its_bin():
    histogram = counted(0, 2 * UNIT, 2 * UNIT + 9, 7 * UNIT)
    assert share_above(histogram, 2 * UNIT + 5) == 0.75
    assert share_above(histogram, 2 * UNIT - 1) == 0.75
    assert share_above(histogram, 3 * UNIT) == 0.25
    assert share_above(histogram, 7 * UNIT - 1) == 0.25
    assert share_above(histogram, 7 * UNIT) == 0
    assert share_above(counted(0, 0), 0) == 0
    assert share_above(new_histogram(), 0) == 0
    assert share_above(new_histogram(), -1) == 0
