"""A swing of known amplitude and frequency, noise upon it, a peak and a settling."""

from __future__ import annotations

import numpy as np
import pytest

from traces.metrics.sample_table import Window
from traces.metrics.transients import amplitude, is_still, no_swing, swings

MS = 10**9


class Times:
    def __init__(self, count: int) -> None:
        self.times_ps = np.arange(count) * MS


def measured(queue: np.ndarray) -> dict[str, float | None]:
    rows = np.arange(len(queue))
    return swings(Window(Times(len(queue)), 0, len(queue) - 1, rows), queue)  # type: ignore[arg-type]


def wave(hertz: float, height: float, count: int = 2000, mean: float = 30_000.0) -> np.ndarray:
    return (mean + height * np.sin(2 * np.pi * hertz * np.arange(count) / 1000)).astype(np.int64)


@pytest.mark.parametrize("hertz", [3.0, 17.0, 60.0])
def test_a_sine_has_its_amplitude_and_its_frequency(hertz: float) -> None:
    found = measured(wave(hertz, 10_000))
    assert found["queue_bytes.amplitude"] == pytest.approx(10_000, rel=0.03)
    assert found["queue.frequency_hz"] == pytest.approx(hertz, rel=0.03)
    assert found["queue.settling_s"] == 0.0


def test_noise_upon_a_swing_makes_no_cycles() -> None:
    noise = np.random.default_rng(1).normal(0, 1500, 2000).astype(np.int64)
    found = measured(wave(5.0, 10_000) + noise)
    assert found["queue.frequency_hz"] == pytest.approx(5.0, rel=0.05)


def test_a_still_queue_swings_not_at_all() -> None:
    found = measured(np.full(500, 33_000))
    assert found == {
        "queue_bytes.amplitude": 0.0,
        "queue.frequency_hz": None,
        "queue.overshoot": 0.0,
        "queue.settling_s": 0.0,
    }
    assert measured(np.zeros(500, np.int64))["queue.settling_s"] is None
    for queue in (np.full(500, 33_000), np.zeros(500, np.int64), np.full(9, 5)):
        assert is_still(queue)
        assert no_swing(float(queue[0]), len(queue)) == measured(queue)
    assert not is_still(np.array([1, 2]))
    assert not is_still(np.zeros(0))
    assert amplitude(np.zeros(0)) is None


def test_a_decay_overshoots_and_settles_when_it_is_near() -> None:
    """30 KB and twice as much at first, which falls by e every 100 ms: within 10 % after 230 ms."""
    at = np.arange(2000) / 1000
    found = measured((30_000 * (1 + np.exp(-at / 0.1))).astype(np.int64))
    assert found["queue.overshoot"] == pytest.approx(1.0, rel=0.01)
    trailing = 0.1  # a twentieth of 2 s: the mean over it lags behind
    assert 0.23 < found["queue.settling_s"] < 0.23 + 2 * trailing


def test_what_is_still_going_somewhere_has_not_settled() -> None:
    """It leaves for good at the very end."""
    queue = np.full(1000, 10_000)
    queue[950:] = 40_000
    assert measured(queue)["queue.settling_s"] is None
