"""Clocks joined by readings: bounds hold for drift and reads however uneven, jumps are found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.targets.software.ptp_clock import (
    UNKNOWN_PPB,
    WINDOW,
    ClockLine,
    Reading,
    narrowest,
)

SECOND = 10**9
START = 1_764_000_000 * SECOND
PTP = 37 * SECOND + 123
"""The NIC's clock behind the system's at the start."""
drifts = st.integers(-200_000, 200_000)
waits = st.integers(50_000, 3 * SECOND)
halves = st.integers(0, 3_000)


class Clocks:
    """The NIC's clock, and the system's, which is as much faster as `ppb` says."""

    def __init__(self, ppb: int) -> None:
        self.ppb, self.at = ppb, 0

    def own(self) -> int:
        return START - PTP + self.at

    def system(self) -> int:
        return START + self.at + self.at * self.ppb // 10**9

    def read(self, before: int, after: int) -> Reading:
        """A reading: the system's clock so long before the NIC's, and so long after it."""
        return narrowest([(self.system() - before, self.own(), self.system() + after)])


@given(drifts, st.lists(st.tuples(waits, halves, halves), min_size=1, max_size=WINDOW + 5), waits)
def test_what_is_told_is_no_further_off_than_it_says(ppb, reads, then):
    clocks, join = Clocks(ppb), ClockLine()
    for wait, before, after in reads:
        clocks.at += wait
        join.add(clocks.read(before, after))
        assert abs(join.system_ns(clocks.own()) - clocks.system()) <= join.error_ns(clocks.own())
    assert join.steps == 0
    assert len(join.readings) == min(len(reads), WINDOW)
    clocks.at += then
    assert abs(join.system_ns(clocks.own()) - clocks.system()) <= join.error_ns(clocks.own())
    assert join.worst_ns <= 2 * 3_001 + join.bound_ns


def test_narrow_reads_a_second_apart_give_a_slope_to_a_few_billionths():
    clocks, join = Clocks(45_678), ClockLine()
    for _ in range(3):
        join.add(clocks.read(100, 100))
        clocks.at += SECOND
    assert abs(join.line[2] - 45_678) <= 2
    assert join.error_ns(clocks.own()) < 500


def test_before_a_second_reading_the_slope_may_be_anything_that_linux_slews():
    clocks, join = Clocks(0), ClockLine()
    join.add(clocks.read(10, 10))
    assert join.line[2] == 0
    assert join.error_ns(clocks.own() + SECOND) == pytest.approx(UNKNOWN_PPB, abs=100)


@given(drifts, halves, st.sampled_from([-1, 1]), st.integers(200_000, 10**12), st.booleans())
def test_a_jump_begins_a_new_line(ppb, half, sign, jump, of_the_nic):
    clocks, join = Clocks(ppb), ClockLine()
    for _ in range(4):
        clocks.at += SECOND
        join.add(clocks.read(half, half))
    clocks.at += SECOND
    after = clocks.read(half, half)
    moved = (
        Reading(after.own_ns + sign * jump, after.system_ns, after.error_ns)
        if of_the_nic
        else Reading(after.own_ns, after.system_ns + sign * jump, after.error_ns)
    )
    join.add(moved)
    assert join.steps == 1
    assert list(join.readings) == [moved]
    assert join.system_ns(moved.own_ns) == moved.system_ns


def test_an_oscillator_that_wanders_does_not_jump():
    join = ClockLine()
    for turn in range(40):  # its rate changes by 100 billionths a second
        own = turn * SECOND
        join.add(Reading(own, START + own + 50 * turn * turn, 51))
    assert join.steps == 0
    assert join.worst_ns > join.bound_ns  # and what readings were off by tells of it


@given(st.lists(st.tuples(halves, halves), min_size=1, max_size=9), st.integers(0, 8))
def test_the_narrowest_of_several_counts_and_its_error_holds(pairs, which):
    at = pairs[which % len(pairs)]
    triples = [(START - a, 555, START + b) for a, b in pairs]
    found = narrowest(triples)
    least = min(a + b for a, b in pairs)
    assert found.error_ns == (least + 1) // 2 + 1
    assert abs(found.system_ns - START) <= found.error_ns
    assert found.own_ns == 555
    assert sum(at) >= least


def test_a_read_across_a_step_back_of_the_systems_clock_does_not_count():
    assert narrowest([(100, 7, 50), (60, 8, 90)]) == Reading(8, 75, 16)
    with pytest.raises(ValueError, match="empty"):
        narrowest([(100, 7, 50)])
