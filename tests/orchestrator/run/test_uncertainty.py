"""Fidelity per metric: what the machine measured, times what each metric is made of."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.run.errorbars import errorbars
from orchestrator.run.uncertainty import (
    Distortion,
    is_uncertain,
    uncertainty,
    uncertainty_of_slowdown,
)
from orchestrator.run.verdict import check, verdict
from tests.orchestrator.run.test_programs import RESOLVED
from tests.orchestrator.worlds import line_of_three

VALID = {"verdict": "valid"}
LATE = Distortion(late_mean_s=20e-6, late_p99_s=2e-3, late_max_s=5e-3, rate_bps=1e9)


@pytest.mark.parametrize(
    ("metric", "value", "by", "expected"),
    [
        ("latency_s.mean", 1e-4, LATE, 2e-3),
        ("latency_s.p99", 1e-4, Distortion(crossing_s=3e-3), 3e-3),
        ("fct_s.small.p50", 1.0, Distortion(late_p99_s=1e-3, crossing_s=1e-3), 2e-3),
        ("settling_s", 0.1, LATE, 2e-3),
        ("queue_bytes.mean", 1e6, LATE, 2_500),
        ("queue_bytes.p99", 1e6, LATE, 250_000),
        ("queue_bytes.sd", 1e6, LATE, 250_000),
        ("queue_bytes.max", 1e6, LATE, 625_000),
        ("reassembly_bytes.max", 1e6, LATE, 625_000),
        ("utilization", 0.5, Distortion(share=0.01), 0.005),
        ("throughput_bps", 1e9, Distortion(share=0.01), 1e7),
        ("rate_bps.sd", 1e9, LATE, 0.0),
        ("frames.drop_ratio", 0.1, Distortion(share=0.01, frames=7), 0.01),
        ("frames.received", 1e5, Distortion(frames=7), 7),
        ("feedback.sent", 1e5, Distortion(frames=7), 7),
        ("fairness.jain", 0.9, Distortion(share=0.01), 0.01),
        ("pause.time_s", 0.2, Distortion(late_p99_s=1e-3, reaction_s=1e-2), 0.02),
        ("pause.time_s", 0.2, Distortion(late_p99_s=1.0, reaction_s=1e-2), 0.2),
        ("deadlocks", 0, LATE, 0.0),
    ],
)
def test_each_metric_is_off_by_what_it_is_made_of(
    metric: str, value: float, by: Distortion, expected: float
) -> None:
    assert uncertainty(metric, value, by) == pytest.approx(expected)


@pytest.mark.parametrize(
    "metric",
    [
        *("latency_s.mean", "queue_bytes.mean", "queue_bytes.max", "queue_bytes.p99"),
        *("utilization", "frames.drop_ratio", "frames.received", "pause.time_s"),
    ],
)
def test_where_nothing_was_distorted_nothing_is_off(metric: str) -> None:
    assert uncertainty(metric, 2.0, Distortion()) == 0.0
    slow = Distortion(late_mean_s=1.0, late_p99_s=1.0, late_max_s=1.0)
    if metric.startswith("queue"):
        assert uncertainty(metric, 2.0, slow) == 0.0, "no link serves it"
    if metric.startswith("pause"):
        assert uncertainty(metric, 2.0, slow) == 2.0, "a reaction takes a second, unless it is said"


def test_of_a_queue_of_classes_the_last_word_counts() -> None:
    assert uncertainty("queue_bytes.class3.mean", 1e6, LATE) == pytest.approx(2_500)


def test_a_slowdown_is_off_as_its_time_is_and_nothing_where_there_is_no_time() -> None:
    assert uncertainty_of_slowdown(3.0, 0.5, LATE) == pytest.approx(3.0 * 2e-3 / 0.5)
    assert uncertainty_of_slowdown(-3.0, 0.5, LATE) == pytest.approx(3.0 * 2e-3 / 0.5)
    assert uncertainty_of_slowdown(3.0, 0.0, LATE) == 0.0
    assert uncertainty_of_slowdown(3.0, -0.5, LATE) == 0.0


@pytest.mark.parametrize(("value", "expected"), [(109, True), (110, False), (90, False)])
def test_a_value_as_far_off_as_its_bar_is_long_is_certain(value: float, expected: bool) -> None:
    assert is_uncertain(value, 10.0, None, 100) is expected
    assert is_uncertain(value, 10.0, 100, None) is expected


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (100, None, 150, True),  # the bar holds the bound, from within
        (200, None, 150, True),  # and from without
        (100, None, 161, False),
        (300, None, 150, False),
        (100, 50, None, True),
        (100, 39, None, False),
        (100, 90, 110, True),  # the whole band
        (100, 0, 200, False),
    ],
)
def test_a_bound_within_the_bar_is_uncertain(
    value: float, low: float | None, high: float | None, expected: bool
) -> None:
    assert is_uncertain(value, 60.0, low, high) is expected
    assert not is_uncertain(value, 0.0, low, high)


def fidelity(**changes: Any) -> dict[str, Any]:
    way = {"delay_s": 52e-6, "planned_delay_s": 50e-6, "duplicated": 0}
    return {
        "verdict": "valid",
        "lateness_s": {"p50": 1e-6, "p99": 1e-6, "p99.9": 2e-6, "max": 9e-6},
        "lateness_mean_s": 1e-6,
        "lost_outside_queues": {"sockets": 0},
        "frames_sent": 1000,
        "rate_error": {"switch.sink": 0.0},
        "reaction_time_s": 63e-3,
        "links": {
            "nic>switch": way,
            "switch>nic": {**way, "delay_s": None},
            "switch>sink": {**way, "delay_s": 50e-6},
        },
        **changes,
    }


METRICS = {
    "run": {
        "gen": {"latency_s.mean": 100e-6, "latency_s.p99": None, "slowdown.mean": 2.0}
        | {"fct_s.mean": 1e-3},
        "switch.sink": {"queue_bytes.mean": 33_000.0, "utilization": 0.99},
    }
}


def bars(**changes: Any) -> dict[str, Any]:
    found = errorbars(Plan(**line_of_three()), fidelity(**changes), METRICS)
    assert found is not None
    return found["run"]


def test_bars_follow_from_a_runs_fidelity() -> None:
    quiet = bars()
    assert quiet["gen"]["latency_s.mean"] == pytest.approx(3e-6)  # late, and the way's two links
    assert quiet["gen"]["slowdown.mean"] == pytest.approx(2.0 * 3e-6 / 1e-3)
    assert "latency_s.p99" not in quiet["gen"]
    assert "utilization" not in quiet["switch.sink"]
    assert 0 < quiet["switch.sink"]["queue_bytes.mean"] < 33_000 / 10


def test_what_was_lost_or_came_twice_is_in_rates() -> None:
    way = {"delay_s": None, "planned_delay_s": 0.0, "duplicated": 4}
    off = bars(lost_outside_queues={"sockets": 6}, links={"nic>switch": way})
    assert off["switch.sink"]["utilization"] == pytest.approx(0.99 * 0.01)


def test_a_rate_that_was_not_reached_is_that_ports_own() -> None:
    off = bars(rate_error={"switch.sink": 0.02})
    assert off["switch.sink"]["utilization"] == pytest.approx(0.99 * 0.02)


def test_a_simulated_run_has_none() -> None:
    assert errorbars(Plan(**line_of_three()), {"verdict": "valid"}, METRICS) is None


def rows(late_s: float, **bounds: Any) -> list[dict[str, Any]]:
    expect = [{"metric": "latency_s.mean", "of": "gen", **bounds}]
    plan = Plan(**line_of_three(expect=expect))
    late = {"p50": 1e-6, "p99": late_s, "max": 2 * late_s}
    return check(plan, METRICS, errorbars(plan, fidelity(lateness_s=late), METRICS), bare=False)


@pytest.mark.parametrize(
    ("late_s", "bounds", "word"),
    [
        (2e-3, {"max": "150us"}, "uncertain"),
        (2e-3, {"min": "50us"}, "uncertain"),
        (2e-3, {"min": "50us", "max": "150us"}, "uncertain"),
        (2e-3, {"max": "50us"}, "uncertain"),
        (2e-3, {"max": "10ms"}, "met"),
        (1e-6, {"max": "150us"}, "met"),
        (1e-6, {"max": "50us"}, "missed"),
    ],
)
def test_a_latency_of_100_us_is_worthless_where_frames_are_2_ms_late(
    late_s: float, bounds: dict[str, str], word: str
) -> None:
    (row,) = found = rows(late_s, **bounds)
    assert verdict(found, VALID) == word
    assert (row["met"], row["uncertain"]) == (word == "met", word == "uncertain")
    assert row["uncertainty"] == pytest.approx(late_s + 2e-6)


def test_what_is_missed_for_certain_is_missed() -> None:
    known = [{"met": False, "uncertain": True}, {"met": False, "uncertain": False}]
    assert verdict(known, VALID) == "missed"
    assert verdict(known[:1], {"verdict": "invalid"}) == "invalid"


def test_a_ratio_is_off_by_both_its_parts() -> None:
    expect = {"metric": "throughput_bps", "of": "gen", "relative_to": "traffic", "max": 0.62}
    plan = Plan(**line_of_three(expect=[expect]))
    metrics = {"run": {"gen": {"throughput_bps": 6.0}, "traffic": {"throughput_bps": 10.0}}}
    off = {"run": {"gen": {"throughput_bps": 0.12}, "traffic": {"throughput_bps": 0.3}}}
    (row,) = check(plan, metrics, off, bare=True)
    assert row["uncertainty"] == pytest.approx(0.6 * 0.05)
    assert row["uncertain"] is True


def test_programs_went_on_while_the_clock_was_held_back() -> None:
    told = fidelity(held={"share": 0.05}, links={})
    metrics = {"run": {"tcp.0": {"throughput_bps": 1e8}}}
    found = errorbars(RESOLVED.plan, told, metrics)
    assert found == {"run": {"tcp.0": {"throughput_bps": pytest.approx(5e6)}}}
    assert errorbars(Plan(**line_of_three()), told, metrics) == {}
