"""Delay lines: a fixed delay, and a jitter that is uniform from 0 to the parameter."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from plugins.link_delay import FIXED, JITTERED, FixedDelay, JitteredDelay
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

US = 10**6


def delays(jitter: int, delay: int, count: int) -> np.ndarray:
    line = Driver(JITTERED, JitteredDelay(jitter=jitter), delay=delay)
    return np.array([line.call("delay", 0) for _ in range(count)])


@pytest.mark.parametrize("delay", [0, 1, 50 * US])
def test_a_fixed_delay_is_that_of_the_link(delay: int) -> None:
    port = SimpleNamespace(delay=delay)
    assert FIXED.kernels["delay"](None, None, port, None, 5, None) == delay
    assert FixedDelay().most_added() == 0


def test_jitter_is_uniform_between_nothing_and_its_most() -> None:
    """4000 draws: mean and deviation of a uniform number within 3 standard errors."""
    jitter, delay = 8 * US, 20 * US
    added = delays(jitter, delay, 4000) - delay
    assert 0 <= added.min() < jitter // 100
    assert jitter * 99 // 100 < added.max() < jitter
    deviation = jitter / 12**0.5
    assert added.mean() == pytest.approx(jitter / 2, abs=3 * deviation / 4000**0.5)
    assert added.std() == pytest.approx(deviation, rel=0.03)
    assert JitteredDelay(jitter=jitter).most_added() == jitter


def test_draws_are_multiples_of_a_part_in_65536() -> None:
    """The upper 16 bits of the register count: all values of a jitter of 4 are drawn, and no 4."""
    assert set(delays(4, 10, 400).tolist()) == {10, 11, 12, 13}
    assert set(delays(0, 7, 20).tolist()) == {7}


def test_its_parameters_are_those_of_the_page() -> None:
    assert check_page("plugins.link_delay") == 1
