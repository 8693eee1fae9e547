"""A queue's swing, sample by sample: square waves and steps with exact answers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.traces.metrics.made import ENTITY, MS, table_of
from traces.metrics.transients import amplitude, no_swing, swings


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
