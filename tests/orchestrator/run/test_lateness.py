"""The quick measurement of what a machine does to a sleeper and a spinner."""

from __future__ import annotations

import pytest

from orchestrator.run import lateness


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50), (0.99, 99), (0.999, 100), (1.0, 100), (0.0, 1)]
)
def test_a_percentile_is_one_of_the_values(share, expected):
    assert lateness.percentile(list(range(1, 101)), share) == expected


def test_a_sleeper_is_never_early_and_the_order_holds():
    late = lateness.sleeping(0.02)
    assert 0 <= late["p50_s"] <= late["p99_s"] <= late["max_s"]


def test_a_sleeper_is_woken_at_least_once():
    assert lateness.sleeping(0.0)["max_s"] >= 0


def test_a_spinner_loses_a_share_of_its_time():
    gaps = lateness.spinning(0.02)
    assert 0 <= gaps["lost_share"] <= 1
    assert gaps["max_gap_s"] >= 0


def test_gaps_are_counted_from_the_clock(monkeypatch):
    ticks = iter([0, 1_000, 101_000, 102_000, 1_000_000])
    monkeypatch.setattr(lateness.time, "monotonic_ns", lambda: next(ticks))
    gaps = lateness.spinning(0.0005)
    assert gaps == {"max_gap_s": 898e-6, "lost_share": pytest.approx(0.998)}
