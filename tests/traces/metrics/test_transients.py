"""A queue's swing, sample by sample: square waves and steps with exact answers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.traces.metrics.made import ENTITY, MS, table_of
from traces.metrics.transients import amplitude, no_swing, recovery_s, settling_s, swings


def measured(queue: list[int]) -> dict[str, float | None]:
    """The phase begins at 7 ms."""
    table = table_of((), 7 * MS + np.arange(len(queue) + 1) * MS, level=[*queue, 0])
    window = table.window(7 * MS, (7 + len(queue)) * MS)
    return swings(window, window.gauge(ENTITY, "level"))


def test_single_peaks_are_beyond_the_amplitude() -> None:
    """Of 40 samples the 5th percentile is the second lowest, the 95th the third highest."""
    assert amplitude(np.array([0, 10, *[50] * 35, 90, 500, 900])) == 40
    assert amplitude(np.array([7])) == 0
    assert amplitude(np.array([3, 8])) == 2.5


def test_cycles_are_counted_from_the_first_rise_to_the_last() -> None:
    """Ten samples low, ten high: rises at 10, 30, 50, 70, three cycles in 60 ms."""
    assert measured([0] * 10 + ([100] * 10 + [0] * 10) * 4)["queue.frequency_hz"] == (
        pytest.approx(50)
    )


def test_two_rises_are_no_cycle_yet() -> None:
    assert measured([0] * 10 + ([100] * 10 + [0] * 10) * 2)["queue.frequency_hz"] is None
    found = measured([0] * 10 + ([100] * 10 + [0] * 10) * 3)["queue.frequency_hz"]
    assert found == pytest.approx(50)


def test_what_stays_within_half_an_amplitude_is_no_rise() -> None:
    """Mean 100, amplitude 40: between 80 and 120 nothing counts, at its edges neither."""
    wave = [60, 80, 120, 140] * 20
    assert measured(wave)["queue.frequency_hz"] == pytest.approx(250)
    low = [60, 120] * 36 + [120] * 20 + [140] * 8
    high = [200 - level for level in low]
    assert measured(low)["queue.frequency_hz"] is None
    assert measured(high)["queue.frequency_hz"] is None


def test_overshoot_is_beyond_the_mean_of_the_second_half() -> None:
    found = measured([0] * 10 + [150] + [90] * 9 + [100] * 20)
    assert found["queue.overshoot"] == pytest.approx(0.5)
    assert measured([0] * 20 + [100] * 20)["queue.overshoot"] == 0
    assert measured([9] * 20 + [0] * 20)["queue.overshoot"] is None
    assert measured([0, 1] * 20)["queue.overshoot"] == 1, "however short the queue"
    odd = measured([150] * 10 + [100] * 10 + [60] + [100] * 20)
    assert odd["queue.overshoot"] == pytest.approx((150 - 2060 / 21) / (2060 / 21))


def test_fewer_than_forty_samples_say_nothing_but_the_amplitude() -> None:
    assert measured([0, 100] * 19 + [0]) == {
        "queue_bytes.amplitude": 50,
        "queue.frequency_hz": None,
        "queue.overshoot": None,
        "queue.settling_s": None,
    }
    assert measured([0, 100] * 20)["queue.frequency_hz"] == pytest.approx(500)
    assert no_swing(5, 39) == {
        "queue_bytes.amplitude": 0,
        "queue.frequency_hz": None,
        "queue.overshoot": None,
        "queue.settling_s": None,
    }
    assert no_swing(5, 40)["queue.settling_s"] == 0
    assert no_swing(0, 40)["queue.overshoot"] is None
    assert no_swing(1, 40)["queue.overshoot"] == 0


def test_it_has_settled_when_the_trailing_mean_stays_near() -> None:
    """Trailing means are over 2 of 40 samples: near from the second sample of 100 on."""
    assert measured([500] * 10 + [100] * 30)["queue.settling_s"] == pytest.approx(0.011)
    assert measured([110] * 10 + [100] * 30)["queue.settling_s"] == 0
    assert measured([111] * 10 + [100] * 30)["queue.settling_s"] == pytest.approx(0.010)


def test_trailing_means_are_over_a_twentieth() -> None:
    """3 of 60 samples are near when all of three are; 3 of 76 and 4 of 80 as well."""
    for count, settled in ((60, 0.012), (76, 0.012), (80, 0.013)):
        queue = [500] * 10 + [100] * (count - 10)
        assert measured(queue)["queue.settling_s"] == pytest.approx(settled)


def test_a_queue_that_keeps_swinging_is_near_within_its_amplitude() -> None:
    """100 +- 50 for good, in fours: trailing means of two reach 50 and 150, and 500 before."""
    swing = [50, 50, 150, 150] * 10
    assert measured([500] * 8 + [50, 50, 150, 150] * 8)["queue.settling_s"] == pytest.approx(0.009)
    assert measured(swing)["queue.settling_s"] == 0


def test_the_amplitude_that_it_keeps_is_that_of_the_second_half() -> None:
    """120 is too much beside 100 for good, whatever was in the middle: at 30 ms all three are 100,
    and one of 120 among three is near."""
    queue = [100] * 20 + [500] * 5 + [120] * 5 + [100] * 30
    assert measured(queue)["queue.settling_s"] == pytest.approx(0.031)


def test_what_leaves_at_the_end_has_not_settled() -> None:
    assert measured([100] * 38 + [100, 400])["queue.settling_s"] is None


# Recovery of a port: a trailing throughput of 20 ms reaches 95 % of the rate.

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


# A limiter's settling: the first sample within 10 % of the mean over the last tenth.


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
