"""Fidelity per metric: what the machine measured, times what each metric is made of."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.plan import Plan
from orchestrator.plan.metric_registry import CORE
from orchestrator.run.error_bars import errorbars
from orchestrator.run.metric_uncertainty import (
    EXACT,
    Distortion,
    LinkStall,
    backlog_s,
    is_uncertain,
    uncertainty,
    uncertainty_by_others,
)
from orchestrator.run.verdict import check, verdict
from tests.orchestrator.run.test_program_fidelity import RESOLVED
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
        ("collective_s.mean", 0.1, Distortion(late_p99_s=1e-3, crossing_s=1e-3), 2e-3),
        ("collective_step_s.mean", 0.1, LATE, 2e-3),
        ("rtt_s.mean", 1e-4, LATE, 2e-3),
        ("rtt_s.p99", 1e-4, Distortion(late_p99_s=1e-3, crossing_s=1e-3), 3e-3),
        ("queue_bytes.mean", 1e6, LATE, 2_500),
        ("queue_bytes.p99", 1e6, LATE, 250_000),
        ("queue_bytes.sd", 1e6, LATE, 250_000),
        ("queue_bytes.max", 1e6, LATE, 625_000),
        ("reassembly_bytes.max", 1e6, LATE, 625_000),
        ("queue_bytes.sd", 1e3, Distortion(rate_bps=8e9, stall=LinkStall(rms_s=1e-3)), 1e6),
        ("queue_bytes.mean", 1e3, Distortion(rate_bps=8e9, stall=LinkStall(mean_s=1e-3)), 1e6),
        ("queue_bytes.max", 1e3, Distortion(rate_bps=8e9, stall=LinkStall(max_s=1e-3)), 1e6),
        ("latency_s.p99", 1e-4, Distortion(stall=LinkStall(p99_s=3e-3)), 3e-3),
        ("utilization", 0.5, Distortion(share=0.01), 0.005),
        ("throughput_bps", 1e9, Distortion(share=0.01), 1e7),
        ("latency_s.mean", 1e-4, Distortion(late_p99_s=1e-3, backlog_s=4e-3), 4e-3),
        ("latency_s.mean", 1e-4, Distortion(late_p99_s=5e-3, backlog_s=4e-3), 5e-3),
        ("throughput_bps", 1e9, Distortion(share=0.01, backlog_s=4e-3, phase_s=0.2), 3e7),
        ("utilization", 0.5, Distortion(backlog_s=4e-3, phase_s=0.2), 0.0),
        ("rate_bps.sd", 1e9, LATE, 0.0),
        ("frames.drop_ratio", 0.1, Distortion(share=0.01, frames=7), 0.01),
        ("frames.received", 1e5, Distortion(frames=7), 7),
        ("feedback.sent", 1e5, Distortion(frames=7), 7),
        ("fairness.jain", 0.9, Distortion(share=0.01), 0.01),
        ("pause.time_s", 0.2, Distortion(late_p99_s=1e-3, reaction_s=1e-2), 0.02),
        ("pause.time_s", 0.2, Distortion(late_p99_s=1.0, reaction_s=1e-2), 0.2),
        ("fairness.max_min", 1.5, Distortion(share=0.01), 0.03),
        ("fairness.settling_s", 0.1, LATE, 2e-3),
        ("queue.frequency_hz", 10.0, LATE, 0.2),
        ("collectives.completed", 4, Distortion(frames=7), 7),
        ("credits.sent", 1e5, Distortion(frames=7), 7),
        ("storms.detected", 1, Distortion(frames=7), 7),
        ("codel.sojourn_s.p99", 1e-3, LATE, 2e-3),
        ("nscc.delay_s.mean", 1e-3, Distortion(late_p99_s=1e-3, crossing_s=1e-3), 2e-3),
        ("other.depth_bytes.mean", 1e6, LATE, 2_500),
        ("csig.used_bps.mean", 1e9, Distortion(share=0.01), 1e7),
        ("tcp.early", 1e5, Distortion(frames=7), 7),
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
        *("latency_s.mean", "rtt_s.mean", "queue_bytes.mean", "queue_bytes.max", "queue_bytes.p99"),
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


@pytest.mark.parametrize(
    ("busy", "reaction_s", "phase_s", "left_s"),
    [
        (0.95, 1.0, 1.99, 1e-3),  # worked off in 20 ms: more than 1 % of the phase
        (0.95, 1.0, 2.01, 0.0),
        (0.5, 1.0, 2.0, 0.0),  # in 2 ms
        (1.0, 1.0, 2.0, 1e-3),  # never
        (1.0, 0.01, 2.0, 0.0),  # but for the loop
        (1.2, 0.03, 2.0, 1e-3),
    ],
)
def test_a_stall_is_seen_where_its_way_has_little_to_spare(
    busy: float, reaction_s: float, phase_s: float, left_s: float
) -> None:
    assert backlog_s(1e-3, busy, reaction_s, phase_s) == left_s


def test_of_a_queue_of_classes_the_last_word_counts() -> None:
    assert uncertainty("queue_bytes.class3.mean", 1e6, LATE) == pytest.approx(2_500)


@pytest.mark.parametrize("value", [3.0, -3.0])
def test_a_slowdown_is_off_as_its_time_is(value: float) -> None:
    off = uncertainty_by_others("slowdown.small.p99", value, {"fct_s.small.p99": 0.5}, LATE)
    assert off == pytest.approx(3.0 * 2e-3 / 0.5)


@pytest.mark.parametrize("values", [{}, {"fct_s.mean": None}, {"fct_s.mean": 0.0}])
def test_a_slowdown_without_its_time_has_no_bar(values: dict[str, float | None]) -> None:
    assert uncertainty_by_others("slowdown.mean", 3.0, values, LATE) is None


def test_a_window_is_off_by_the_share_that_its_round_trip_is() -> None:
    """Little's law: window = throughput x round trip."""
    by = Distortion(late_p99_s=1e-3, crossing_s=1e-3, share=0.01)
    values = {"window_bytes.mean": 40_000.0, "rtt_s.mean": 0.1}
    for metric, value in (("window_bytes.mean", 40_000.0), ("window_bytes.sd", 500.0)):
        off = uncertainty_by_others(metric, value, values, by)
        assert off == pytest.approx(40_000 * (3e-3 / 0.1 + 0.01))
    assert uncertainty_by_others("window_bytes.mean", 40_000.0, {}, by) is None


def test_an_overshoot_is_off_by_its_maximum_and_its_mean() -> None:
    """max 2 MB over a mean of 1 MB: (625 KB + 2 x 2.5 KB) / 1 MB."""
    off = uncertainty_by_others("queue.overshoot", 1.0, {"queue_bytes.max": 2e6}, LATE)
    assert off == pytest.approx((625_000 + 2 * 2_500) / 1e6)
    assert uncertainty_by_others("queue.overshoot", 1.0, {}, LATE) is None


NO_BAR = ("hpcc.u.mean", "pie.drop_probability.max", "codel.dropping.mean", "codel.count.max")


@pytest.mark.parametrize("metric", NO_BAR)
def test_a_number_of_a_plugins_own_has_no_bar(metric: str) -> None:
    assert uncertainty(metric, 1.0, LATE) is None


def test_every_metric_of_the_core_has_a_bar() -> None:
    by = Distortion(1e-6, 1e-5, 1e-4, 1e-4, 1.0, 1e-6, 1e-3, 1e9, 0.01, 7)
    values = dict.fromkeys(CORE, 1.0)
    for metric in set(CORE) - set(EXACT):
        off = uncertainty_by_others(metric, 1.0, values, by)
        assert (off or 0.0) > 0, metric


@pytest.mark.parametrize(
    ("metric", "kinds"),
    [("hpcc.u.mean", "of one"), ("hpcc.u.mean", "of several")],
)
def test_a_metric_without_a_bar_is_not_judged_on_a_machine(metric: str, kinds: str) -> None:
    expect = [{"metric": "queue_bytes.mean", "of": "switch.sink", "max": "1KB"}]
    plan = Plan(**line_of_three(expect=expect))
    expect_of_plugin = plan.expect[0].model_copy(update={"metric": metric, "max": 0.5})
    others = plan.expect if kinds == "of several" else []
    plan = plan.model_copy(update={"expect": [expect_of_plugin, *others]})
    metrics = {"run": {"switch.sink": {metric: 0.1, "queue_bytes.mean": 10.0}}}
    found = errorbars(plan, fidelity(links={}), metrics)
    assert found is not None
    assert found["run"]["switch.sink"][metric] is None
    rows = check(plan, metrics, found, bare=True)
    assert (rows[0]["met"], rows[0]["no_bar"], rows[0]["uncertainty"]) == (False, True, None)
    assert verdict(rows, VALID) == ("met" if others else "unjudged")
    assert check(plan, metrics, None, bare=True)[0]["met"], "a simulation has no uncertainty"


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
        "switch.sink": {"queue_bytes.mean": 33_000.0, "utilization": 0.5},
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


@pytest.mark.parametrize(
    ("utilization", "reaction_point", "waits"),
    [(0.51, None, True), (0.49, None, False), (0.51, {"plugin": "qcn-rp"}, False)],
)
def test_frames_wait_behind_those_that_a_stall_held_up(
    utilization: float, reaction_point: dict[str, str] | None, waits: bool
) -> None:
    """10 us at half a load last 20 us, 1 % of the run, unless a loop reacts within 15 us."""
    table = line_of_three()
    table["nodes"]["nic"]["reaction_point"] = reaction_point
    late = {"p50": 0.0, "p99": 0.0, "p99.9": 0.0, "max": 10e-6}
    told = fidelity(lateness_s=late, lateness_mean_s=0.0, links={}, reaction_time_s=15e-6)
    port = {"utilization": utilization}
    metrics = {"run": {"gen": {"latency_s.mean": 1e-4}, "switch.sink": port}}
    found = errorbars(Plan(**table), told, metrics)
    assert found == ({"run": {"gen": {"latency_s.mean": 10e-6}}} if waits else {})


def test_what_was_lost_or_came_twice_is_in_rates() -> None:
    way = {"delay_s": None, "planned_delay_s": 0.0, "duplicated": 4}
    off = bars(lost_outside_queues={"sockets": 6}, links={"nic>switch": way})
    assert off["switch.sink"]["utilization"] == pytest.approx(0.5 * 0.01)


def test_a_rate_that_was_not_reached_is_that_ports_own() -> None:
    off = bars(rate_error={"switch.sink": 0.02})
    assert off["switch.sink"]["utilization"] == pytest.approx(0.5 * 0.02)


def test_a_simulated_run_has_none() -> None:
    assert errorbars(Plan(**line_of_three()), {"verdict": "valid"}, METRICS) is None


def rows(late_s: float, **bounds: Any) -> list[dict[str, Any]]:
    expect = [{"metric": "latency_s.mean", "of": "gen", **bounds}]
    plan = Plan(**line_of_three(expect=expect))
    late = {"p50": 1e-6, "p99": late_s, "max": late_s}
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


def test_nothing_is_known_of_a_machine_until_it_is_said() -> None:
    nothing = Distortion(0.0, 0.0, 0.0, 0.0, float("inf"), 0.0, 1.0, 0.0, 0.0, 0)
    assert Distortion() == nothing


def link(extra_s: float) -> dict[str, Any]:
    return {"delay_s": 50e-6 + extra_s, "planned_delay_s": 50e-6, "duplicated": 0}


LATENCIES = {"run": {name: {"latency_s.mean": 1e-3} for name in ("gen", "back", "elsewhere")}}
SECOND = {"plugin": "cbr", "from": "second", "to": "nic", "rate": 10**8}


def crossing_s(extra: dict[str, float], /, **changes: Any) -> dict[str, float]:
    """Entity -> what its links add to a latency, in a run that was never late."""
    plan = Plan(**line_of_three(**changes))
    on_time = {"p50": 0.0, "p99": 0.0, "max": 0.0}
    told = fidelity(
        lateness_s=on_time,
        lateness_mean_s=0.0,
        links={name: link(extra_s) for name, extra_s in extra.items()},
    )
    found = errorbars(plan, told, LATENCIES)
    assert found is not None
    return {name: row["latency_s.mean"] for name, row in found.get("run", {}).items()}


def test_each_flow_has_the_links_of_its_own_way_and_others_the_worst() -> None:
    whole = line_of_three()
    changes = {
        "traffic": whole["traffic"] | {"back": SECOND},
        "nodes": whole["nodes"] | {"second": {"kind": "nic"}},
        "links": whole["links"] | {"own": {"ends": ["second", "switch"], "rate": 10**9}},
    }
    links = {"nic>switch": 2e-6, "switch>sink": 5e-6, "second>switch": 1e-6}
    off = crossing_s(links, **changes)
    assert off == {
        "gen": pytest.approx(7e-6),
        "back": pytest.approx(1e-6),  # of its second link nothing is known
        "elsewhere": pytest.approx(7e-6),
    }


def test_without_traffic_the_worst_link_counts_and_without_links_nothing() -> None:
    links = {"nic>switch": 2e-6, "switch>sink": 5e-6, "sink>switch": -1e-3}
    worst = dict.fromkeys(LATENCIES["run"], pytest.approx(5e-6))
    assert crossing_s(links, traffic={}) == worst
    assert crossing_s({}, traffic={}) == {}
    assert crossing_s({}) == {}
    assert crossing_s({"switch>nic": 0.0}) == {}


def test_a_link_quicker_than_its_plan_makes_up_for_no_other() -> None:
    assert crossing_s({"nic>switch": 5e-6, "switch>sink": -3e-6})["gen"] == pytest.approx(5e-6)


@pytest.mark.parametrize(("sent", "share"), [(1, 1.0), (4, 0.25), (None, 1.0)])
def test_the_share_that_was_lost_is_of_what_was_sent(sent: int | None, share: float) -> None:
    told = fidelity(links={}, lost_outside_queues={"sockets": 1}, frames_sent=sent)
    if sent is None:
        del told["frames_sent"]
    found = errorbars(Plan(**line_of_three()), told, METRICS)
    assert found is not None
    assert found["run"]["switch.sink"]["utilization"] == pytest.approx(0.5 * share)


def test_programs_were_not_held_back_where_nothing_says_so() -> None:
    metrics = {"run": {"tcp.0": {"throughput_bps": 1e8}}}
    assert errorbars(RESOLVED.plan, fidelity(links={}), metrics) == {}


def test_a_rate_of_a_queue_that_was_not_measured_is_off_as_the_worst() -> None:
    metrics = {"run": {"gen": {"throughput_bps": 100.0}}}
    for errors, off in (({"a": 0.01, "b": 0.03}, 3.0), ({"a": 0.0}, None), ({}, None)):
        found = errorbars(Plan(**line_of_three()), fidelity(rate_error=errors), metrics)
        assert found == ({} if off is None else {"run": {"gen": {"throughput_bps": off}}})


@pytest.mark.parametrize(("reaction_s", "off_s"), [(4.0, 0.0005), (None, 0.002), (0.0, 2.0)])
def test_a_pause_is_off_by_its_share_of_a_reaction(reaction_s: float | None, off_s: float) -> None:
    told = fidelity(lateness_s={"p50": 0, "p99": 1e-3, "max": 1e-3}, reaction_time_s=reaction_s)
    if reaction_s is None:
        del told["reaction_time_s"]
    found = errorbars(Plan(**line_of_three()), told, {"run": {"nic>switch": {"pause.time_s": 2.0}}})
    assert found == {"run": {"nic>switch": {"pause.time_s": pytest.approx(off_s)}}}


def test_a_queue_of_no_port_is_served_at_the_fastest_rate_or_at_none() -> None:
    metrics = {"run": {"reassembly": {"queue_bytes.max": 1e4}}}
    found = errorbars(Plan(**line_of_three()), fidelity(), metrics)
    assert found == {"run": {"reassembly": {"queue_bytes.max": pytest.approx(9e-6 * 1e9 / 8)}}}
    alone = line_of_three(links={}, traffic={}, nodes={"sink": {"kind": "sink"}})
    assert errorbars(Plan(**alone), fidelity(links={}), metrics) == {}


def test_what_is_not_known_takes_nothing_away_from_what_is() -> None:
    late = fidelity(links={}, lost_outside_queues={"sockets": 250}, rate_error={})
    found = errorbars(Plan(**line_of_three(traffic={})), late, METRICS)
    assert found is not None
    assert found["run"]["gen"]["latency_s.mean"] == pytest.approx(1e-6)
    assert found["run"]["switch.sink"]["utilization"] == pytest.approx(0.5 * 0.25)
    metrics = {"run": {"tcp.0": {"throughput_bps": 1e8}}}
    found = errorbars(RESOLVED.plan, late, metrics)
    assert found == {"run": {"tcp.0": {"throughput_bps": pytest.approx(2.5e7)}}}
