"""Times of a NIC's clock carried over to the system's by a line, and lines changed whole."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.datapath.phc_mapping import (
    CLOCKS,
    FURTHEST_NS,
    LINE,
    system_time,
    write_clock_mapping,
)

times = st.integers(0, 2 * 10**18)
rates = st.integers(-500_000, 500_000)


def clocks() -> np.ndarray:
    return np.zeros((2, CLOCKS), np.int64)


def test_the_systems_own_times_stay_as_they_are() -> None:
    assert system_time(clocks(), 1, 12345) == 12345


@given(times, times, rates, st.integers(-FURTHEST_NS, FURTHEST_NS))
def test_a_reading_lies_on_the_line(own: int, system: int, ppb: int, passed: int) -> None:
    rows = clocks()
    write_clock_mapping(rows, 1, own, system, ppb)
    assert system_time(rows, 1, own + passed) == system + passed + passed * ppb // 10**9
    assert system_time(rows, 0, own) == own  # another wire's


def test_a_new_line_is_written_beside_the_one_in_use() -> None:
    rows = clocks()
    write_clock_mapping(rows, 0, 1000, 5000, 0)
    before = rows[0, LINE]
    kept = rows.copy()
    write_clock_mapping(rows, 0, 2000, 7000, 0)
    assert rows[0, LINE] != before
    kept[0, LINE] = rows[0, LINE]
    assert system_time(rows, 0, 2001) == 7001
    rows[0, LINE] = before  # who has begun to read still finds the old one
    assert system_time(rows, 0, 1001) == 5001
    write_clock_mapping(rows, 0, 3000, 9000, 0)
    assert system_time(rows, 0, 3000) == 9000


def test_what_is_no_time_of_this_run_does_not_run_over() -> None:
    rows = clocks()
    write_clock_mapping(rows, 0, 10**18, 10**18, 500_000)
    assert system_time(rows, 0, 0) == 10**18 - FURTHEST_NS - FURTHEST_NS // 2000
