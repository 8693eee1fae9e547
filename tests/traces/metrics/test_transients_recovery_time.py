"""Recovery of a port: a trailing throughput of 20 ms reaches 95 % of the rate."""

from __future__ import annotations

import numpy as np
import pytest

from tests.traces.metrics.made import ENTITY, MS, table_of
from traces.metrics.transients import recovery_s

GIGABIT = 10**9
PER_MS = GIGABIT // 8000
"""Octets per millisecond at 1 Gb/s."""


def recovered(used: np.ndarray, rate: np.ndarray, begin: int, end: int) -> float | None:
    """`used`: octets sent in each millisecond; `rate` at each sample; the phase in ms."""
    sent = np.concatenate([[0], np.cumsum(used)[:-1]])
    table = table_of(bytes_out=sent, service_rate=rate)
    return recovery_s(table.window(begin * MS, end * MS), ENTITY)


def test_a_rate_that_has_risen_is_used_when_the_trailing_time_is_full_of_it() -> None:
    """0.2 x + (20 - x) >= 19 for x <= 1: at 19 ms. The sample on the boundary has the old rate."""
    ms = np.arange(200)
    used = np.where(ms < 100, PER_MS // 5, PER_MS)
    rate = np.where(ms <= 100, GIGABIT // 5, GIGABIT)
    assert recovered(used, rate, 100, 200) == pytest.approx(0.019)


def test_it_may_recover_at_the_phases_end_and_not_behind_it() -> None:
    ms = np.arange(200)
    used = np.where(ms < 100, PER_MS // 5, PER_MS)
    rate = np.where(ms <= 100, GIGABIT // 5, GIGABIT)
    assert recovered(used, rate, 100, 119) == pytest.approx(0.019)
    assert recovered(used, rate, 100, 118) is None


def test_a_rate_that_rises_within_the_phase_is_not_yet_wanted_at_its_start() -> None:
    ms = np.arange(200)
    rate = np.where(ms <= 101, GIGABIT // 5, GIGABIT)
    assert recovered(np.full(200, PER_MS // 5), rate, 100, 200) == 0


def test_exactly_so_much_is_enough() -> None:
    used, rate = np.full(200, PER_MS * 95 // 100), np.full(200, GIGABIT)
    assert recovered(used, rate, 100, 200) == 0
    assert recovered(used - 1, rate, 100, 200) is None


def test_the_trailing_time_reaches_before_the_phase_and_not_before_the_run() -> None:
    used, rate = np.full(200, PER_MS), np.full(200, GIGABIT)
    assert recovered(used, rate, 30, 200) == 0
    assert recovered(used, rate, 0, 200) == pytest.approx(0.019)
    assert recovered(used, rate, 10, 200) == pytest.approx(0.009)


def test_a_port_that_does_not_serve_has_not_recovered() -> None:
    ms = np.arange(100)
    used = np.where(ms < 30, 0, PER_MS)
    rate = np.where(ms < 30, 0, GIGABIT)
    assert recovered(used, rate, 0, 100) == pytest.approx(0.049)


def test_a_phase_without_length_and_a_port_that_nothing_left() -> None:
    used, rate = np.full(200, PER_MS), np.full(200, GIGABIT)
    assert recovered(used, rate, 50, 50) is None
    assert recovered(used, rate, 300, 400) is None
    assert recovered(used * 0, rate * 0, 50, 60) is None
    assert recovered(used, rate, 50, 51) == 0
