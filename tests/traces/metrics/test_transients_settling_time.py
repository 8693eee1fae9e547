"""A limiter's settling: the first sample within 10 % of the mean over the last tenth."""

from __future__ import annotations

import numpy as np
import pytest

from tests.traces.metrics.made import ENTITY, MS, table_of
from traces.metrics.transients import settling_s


def settled(rate: list[int], active: list[int] | None = None) -> float | None:
    """The phase begins with the sample behind one that is no part of it."""
    on = [1] * len(rate) if active is None else active
    table = table_of(current_rate=[5, *rate, 5], active=[1, *on, 1])
    return settling_s(table.window(MS, (len(rate) + 1) * MS), ENTITY)


def test_the_last_tenth_is_what_it_stays_at() -> None:
    """Of 20 samples the last two, 1000 on the mean: 900 to 1100 is near."""
    rate = [2000, 1101, 1100, *[5000] * 15, 950, 1050]
    assert settled(rate) == pytest.approx(0.002)
    assert settled([2000, 1101, 899, 900, *rate[4:]]) == pytest.approx(0.003)


def test_fewer_than_ten_samples_have_no_tenth() -> None:
    assert settled([1000] * 9) is None
    assert settled([3000] * 8 + [1000] * 2) == pytest.approx(0.008)


def test_a_limiter_without_effect_has_no_rate() -> None:
    assert settled([1000] * 10, [0] * 4 + [1] * 6) == pytest.approx(0.004)
    assert settled([1000] * 10, [1] * 9 + [0]) is None


def test_a_tail_that_no_sample_is_near_to() -> None:
    assert settled([0, 2000] * 10) is None


def test_samples_on_boundaries_do_not_count() -> None:
    times = np.sort([*(np.arange(12) * MS), MS + 1])
    rate = [9000, 9000, 1000, *[9000] * 8, 1000, 1000]
    table = table_of([MS + 1], times, current_rate=rate, active=[1] * 13)
    assert settling_s(table.window(0, 12 * MS), ENTITY) == pytest.approx(0.010)
