"""The quick measurement of what a machine does to a sleeper and a spinner."""

from __future__ import annotations

import pytest

from orchestrator.run import wakeup_lateness


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50), (0.99, 99), (0.999, 100), (1.0, 100), (0.0, 1)]
)
def test_a_percentile_is_one_of_the_values(share, expected):
    assert wakeup_lateness.percentile(list(range(1, 101)), share) == expected


def test_a_sleeper_is_never_early_and_the_order_holds():
    late = wakeup_lateness.sleep_lateness(0.02)
    assert 0 <= late["p50_s"] <= late["p99_s"] <= late["max_s"]


def test_a_sleeper_is_woken_at_least_once():
    assert wakeup_lateness.sleep_lateness(0.0)["max_s"] >= 0


def test_a_spinner_loses_a_share_of_its_time():
    gaps = wakeup_lateness.spin_gaps(0.02)
    assert 0 <= gaps["lost_share"] <= 1
    assert gaps["max_gap_s"] >= 0


def test_gaps_are_counted_from_the_clock(monkeypatch):
    ticks = iter([0, 1_000, 101_000, 102_000, 1_000_000])
    monkeypatch.setattr(wakeup_lateness.time, "monotonic_ns", lambda: next(ticks))
    gaps = wakeup_lateness.spin_gaps(0.0005)
    assert gaps == {"max_gap_s": 898e-6, "lost_share": pytest.approx(0.998)}


class Clock:
    """A clock that stands still but for sleep, and for what each sleep takes too long (ns)."""

    def __init__(self, late: list[int]) -> None:
        self.now, self.late, self.slept = 77, late, 0

    def monotonic_ns(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds == 0.0005
        self.now += 500_000 + self.late[self.slept]
        self.slept += 1


def test_a_sleeper_is_as_late_as_it_is_woken(monkeypatch):
    """Four sleeps of half a millisecond are past 2 ms, and as they are late, past 2.1."""
    for duration_s, slept in ((0.0015, 3), (0.0020, 4), (0.0022, 5)):
        clock = Clock([20_000, 90_000, 10_000, 0, 30_000])
        monkeypatch.setattr(wakeup_lateness, "time", clock)
        late = wakeup_lateness.sleep_lateness(duration_s)
        assert clock.slept == slept
    assert late == {"p50_s": 20e-6, "p99_s": 90e-6, "max_s": 90e-6}


def test_a_sleeper_stops_when_its_time_is_over(monkeypatch):
    clock = Clock([0] * 9)
    monkeypatch.setattr(wakeup_lateness, "time", clock)
    assert wakeup_lateness.sleep_lateness(0.001)["max_s"] == 0
    assert clock.slept == 2


def test_a_gap_is_longer_than_reading_a_clock_takes(monkeypatch):
    ticks = iter([5_000, 15_000, 25_001, 104_999, 105_000])
    monkeypatch.setattr(wakeup_lateness.time, "monotonic_ns", lambda: next(ticks))
    gaps = wakeup_lateness.spin_gaps(0.0001)
    assert gaps == {
        "max_gap_s": pytest.approx(79_998e-9),
        "lost_share": pytest.approx(0.89999),
    }
    assert next(ticks, None) is None
