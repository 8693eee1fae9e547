"""Metrics against recordings whose numbers are known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plan.endpoint_metrics import OF_TRANSPORT
from orchestrator.plan.metric_registry import DEFINITIONS, METRICS
from traces.metrics import UNITS, compute
from traces.metrics.sample_statistics import histogram_percentile, jain, percentile, spread

MS = 10**9
PORT = ("switch", "switch.sink")
QUEUE = (*PORT, "queue_bytes", "B", "gauge")
HIGHEST = (*PORT, "queue_max_bytes", "B", "gauge")
SERVICE = (*PORT, "service_rate", "bit/s", "gauge")
SENT = (*PORT, "bytes_out", "B", "counter")


def test_queue_alternating_between_two_values(build) -> None:
    queue = np.where(np.arange(1000) % 2 == 0, 10_000, 30_000)
    recording = build(np.arange(1000) * MS, {QUEUE: queue})
    metrics, units = compute(recording, {"half": (0, 500 * MS)})
    found = metrics["half"]["switch.sink"]
    assert found["queue_bytes.mean"] == 20_000
    assert found["queue_bytes.sd"] == 10_000
    assert found["queue_bytes.max"] == 30_000
    assert found["queue_bytes.p99"] == 30_000
    assert units["queue_bytes.mean"] == "B"


def test_percentile_is_the_nearest_rank() -> None:
    assert percentile(np.arange(1, 101), 0.99) == 99
    assert percentile(np.arange(1, 101), 0.5) == 50
    assert percentile(np.arange(1, 102), 0.99) == 100
    assert percentile(np.array([7]), 0.99) == 7
    assert percentile(np.array([]), 0.99) is None


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(1, 100))
def test_percentile_by_definition(samples: list[int], hundredths: int) -> None:
    value = percentile(np.array(samples), hundredths / 100)
    assert value in samples
    # integers: no rounding decides
    assert sum(s <= value for s in samples) * 100 >= hundredths * len(samples)  # type: ignore[operator]
    assert sum(s < value for s in samples) * 100 < hundredths * len(samples)  # type: ignore[operator]


def test_boundary_rows_do_not_count_twice(build) -> None:
    """A row that is only there because of a phase is no sample of the queue."""
    times = np.sort(np.append(np.arange(100) * MS, 50 * MS + 1))
    queue = np.where(times == 50 * MS + 1, 10**6, 100)
    sent = times // 1000
    recording = build(times, {QUEUE: queue, SENT: sent})
    metrics, _ = compute(recording, {"late": (50 * MS + 1, 90 * MS)})
    found = metrics["late"]["switch.sink"]
    assert found["queue_bytes.max"] == 100
    assert found["throughput_bps"] == pytest.approx(8e9)


def test_maximum_between_samples_is_known_when_it_grew(build) -> None:
    queue = np.full(100, 5)
    highest = np.where(np.arange(100) < 50, 5, 900)
    recording = build(np.arange(100) * MS, {QUEUE: queue, HIGHEST: highest})
    phases = {"a": (0, 40 * MS), "b": (40 * MS, 60 * MS), "c": (60 * MS, 99 * MS)}
    metrics, _ = compute(recording, phases)
    seen = {name: metrics[name]["switch.sink"]["queue_bytes.max"] for name in (*phases, "run")}
    assert seen == {"a": 5, "b": 900, "c": 5, "run": 900}


def test_utilization_follows_the_service_rate(build) -> None:
    """Full use of a rate that drops to a fifth is 1 in either part and in both."""
    n = 2001
    rate = np.where(np.arange(n) < 1000, 1_000_000_000, 200_000_000)
    sent = np.concatenate([[0], np.cumsum(rate[:-1] // 8000)])
    recording = build(np.arange(n) * MS, {QUEUE: np.ones(n), SERVICE: rate, SENT: sent})
    metrics, _ = compute(recording, {"a": (0, 1000 * MS), "b": (1000 * MS, 2000 * MS)})
    for phase, bps in (("a", 1e9), ("b", 2e8), ("run", 6e8)):
        found = metrics[phase]["switch.sink"]
        assert found["utilization"] == pytest.approx(1.0, abs=1e-12)
        assert found["throughput_bps"] == pytest.approx(bps)


def recovering(build, before: float, after_ms: int):
    """0.2 Gb/s for 1 s, then 0.95 that is used `before`, and fully from `after_ms` on."""
    n = 2001
    ms = np.arange(n)
    rate = np.where(ms < 1000, 200_000_000, 950_000_000)
    used = np.where(ms < 1000, 1.0, np.where(ms < 1000 + after_ms, before, 1.0))
    sent = np.concatenate([[0], np.cumsum((rate * used)[:-1] / 8000)])
    recording = build(ms * MS, {QUEUE: np.ones(n), SERVICE: rate, SENT: sent})
    metrics, _ = compute(recording, {"up": (1000 * MS, 2000 * MS), "low": (500 * MS, 1000 * MS)})
    return {name: found["switch.sink"]["recovery_s"] for name, found in metrics.items()}


def test_recovery(build) -> None:
    # full from 150 ms on: 95 % over 20 ms needs 0.5 x + (20 - x) >= 19, so x <= 2: at 168 ms
    assert recovering(build, 0.5, 150)["up"] == pytest.approx(0.168)
    assert recovering(build, 0.5, 150)["low"] == 0
    assert recovering(build, 0.5, 2000)["up"] is None


def flows(build, rates: dict[str, int], **more):
    n = 101
    series = {}
    for name, rate in rates.items():
        got = np.arange(n) * rate // 8000
        series[("nic1", name, "frames_sent", "frames", "counter")] = got // 1000 + np.minimum(
            5, np.arange(n)
        )
        series[("nic1", name, "frames_received", "frames", "counter")] = got // 1000
        series[("nic1", name, "bytes_received", "B", "counter")] = got
    return build(np.arange(n) * MS, series, **more)


def test_flows_entries_and_fairness(build) -> None:
    recording = flows(build, {"gen1.0": 8_000_000, "gen1.1": 24_000_000, "gen2": 16_000_000})
    metrics, _ = compute(recording, {"p": (10 * MS, 60 * MS)})
    found = metrics["p"]
    assert found["gen1.0"]["throughput_bps"] == pytest.approx(8e6)
    assert found["gen1"] == {
        "throughput_bps": pytest.approx(32e6),
        "fairness.jain": pytest.approx(32**2 / (2 * (64 + 576))),
        "fairness.max_min": pytest.approx(3),
        "fairness.window_mean": pytest.approx(0.8),
        "fairness.window_min": pytest.approx(0.8),
        "fairness.settling_s": None,
        "flows.served": 2,
    }
    assert found["traffic"]["flows.served"] == 3
    assert "fairness.jain" not in found["gen2"], "of a single flow it says nothing"
    assert found["gen2"]["throughput_bps"] == pytest.approx(16e6)
    assert found["traffic"]["throughput_bps"] == pytest.approx(48e6)
    assert found["traffic"]["fairness.max_min"] == pytest.approx(3)
    assert found["traffic"]["fairness.jain"] == pytest.approx(48**2 / (3 * (64 + 576 + 256)))
    assert "frames.dropped" not in found["gen1.0"]
    assert metrics["run"]["gen1.0"]["frames.dropped"] == 5


def test_what_a_source_sends_swings(build) -> None:
    """8 Mb/s on the mean, at 16 for a millisecond and at 0 for the next; a steady one beside it."""
    n = 101
    swinging = np.arange(n) // 2 * 2000
    series = {
        ("nic1", name, quantity, "", "counter"): sent
        for name, sent in (("on-off", swinging), ("steady", np.arange(n) * 1000))
        for quantity in ("frames_sent", "bytes_sent")
    }
    metrics, _ = compute(build(np.arange(n) * MS, series), {"p": (10 * MS, 61 * MS)})
    assert metrics["p"]["steady"]["sent_bps.mean"] == pytest.approx(8e6)
    assert metrics["p"]["steady"]["sent_bps.sd"] == pytest.approx(0)
    assert metrics["p"]["on-off"]["sent_bps.sd"] == pytest.approx(8e6)
    beyond, _ = compute(build(np.arange(n) * MS, series), {"never": (900 * MS, 950 * MS)})
    assert beyond["never"]["steady"]["sent_bps.sd"] is None


def test_sources_that_never_began_say_nothing_about_fairness(build) -> None:
    """Two of four flows are on and served alike; one starts after the phase, one never."""
    rates = {"gen.0": 8_000_000, "gen.1": 8_000_000, "gen.2": 80_000, "gen.3": 0}
    begun = [(0, 100 * MS)]
    on = {"gen.0": begun, "gen.1": begun, "gen.2": [(60 * MS, 100 * MS)], "gen.3": []}
    recording = flows(build, rates, on=on, latency={"gen": np.zeros((1, 1), np.int64)})
    metrics, _ = compute(recording, {"p": (10 * MS, 60 * MS)})
    for entity in ("gen", "traffic"):
        assert metrics["p"][entity]["fairness.jain"] == pytest.approx(1)
        assert metrics["p"][entity]["fairness.max_min"] == pytest.approx(1)


@pytest.mark.parametrize("until_ms", [1, 11, 34, 35, 59])
@pytest.mark.parametrize("others", [1, 2, 7])
def test_a_source_that_falls_silent_counts_as_nothing(build, until_ms: int, others: int) -> None:
    """Before the phase, or within it: what it received is over all of the time since its start."""
    within = min(max(until_ms - 10, 0), 50)
    rates = {f"gen.{n}": 8_000_000 for n in range(others)} | {"gen.9": 160_000 * within}
    on = {"gen.9": [(0, until_ms * MS)]}
    recording = flows(build, rates, on=on, latency={"gen": np.zeros((1, 1), np.int64)})
    metrics, _ = compute(recording, {"p": (10 * MS, 60 * MS)})
    silent = within / 50
    index = (others + silent) ** 2 / ((others + 1) * (others + silent**2))
    for entity in ("gen", "traffic"):
        assert metrics["p"][entity]["fairness.jain"] == pytest.approx(index)
        unequal = None if within == 0 else pytest.approx(1 / silent)
        assert metrics["p"][entity]["fairness.max_min"] == unequal


@pytest.mark.parametrize("rates", [{"a": 8_000_000}, {"a": 0}, {"a": 1, "b": 1}])
def test_one_flow_is_neither_fair_nor_unfair(build, rates: dict[str, int]) -> None:
    on = {"b": [(50 * MS, 100 * MS)]}  # it begins too late to count
    metrics, _ = compute(flows(build, rates, on=on), {"p": (10 * MS, 60 * MS)})
    assert metrics["p"]["traffic"]["fairness.jain"] is None
    assert metrics["p"]["traffic"]["fairness.max_min"] is None


def test_a_starved_source_that_is_on_counts(build) -> None:
    recording = flows(build, {"a": 8_000_000, "b": 0}, on={"a": [(0, 100 * MS)]})
    metrics, _ = compute(recording, {"p": (10 * MS, 60 * MS)})
    assert metrics["p"]["traffic"]["fairness.jain"] == pytest.approx(1 / 2)
    assert metrics["p"]["traffic"]["fairness.max_min"] is None
    assert metrics["p"]["traffic"]["flows.served"] == 1


@pytest.mark.parametrize(("start", "index"), [(30, 0.9), (36, None)])
def test_a_source_that_starts_within_the_phase_counts_by_its_rate_up_to_half_of_it(
    build,
    start: int,
    index: float | None,
) -> None:
    """On for 30 of 50 ms a flow's rate is 5/3 of what it is over the phase; 24 ms are too few."""
    rates = {"a": 10_000_000, "b": 12_000_000}
    on = {"b": [(start * MS, 100 * MS)]}
    metrics, _ = compute(flows(build, rates, on=on), {"p": (10 * MS, 60 * MS)})
    assert metrics["p"]["traffic"]["fairness.jain"] == (index and pytest.approx(index))


def test_fairness_without_traffic() -> None:
    assert jain(np.zeros(3)) is None
    assert spread(np.array([0.0, 1.0])) is None
    assert jain(np.array([5.0])) is None
    assert spread(np.array([5.0])) is None
    assert jain(np.array([5.0, 5.0])) == pytest.approx(1)


def test_latency_of_a_phase_is_what_came_between_its_marks(build) -> None:
    edges = np.array([0, 10, 20, 30]) * 10**6
    history = np.array([[100, 0, 0], [100, 50, 50], [100, 50, 60]])
    recording = flows(
        build,
        {"gen1.0": 8_000_000},
        latency={"gen1": history},
        latency_marks_ps=np.array([20, 60, 100]) * MS,
        latency_edges_ps=edges,
    )
    metrics, _ = compute(recording, {"p": (20 * MS, 60 * MS)})
    assert metrics["p"]["gen1"]["latency_s.p50"] == pytest.approx(20e-6)
    assert metrics["p"]["gen1"]["latency_s.p99"] == pytest.approx(29.8e-6)
    assert metrics["run"]["gen1"]["latency_s.p50"] == pytest.approx(10e-6 + 10e-6 * 5 / 50)


def test_histogram_percentile_of_nothing() -> None:
    assert histogram_percentile(np.zeros(3, int), np.arange(4), 0.5) is None


def test_links_limiters_nics(build) -> None:
    n = 1001
    ms = np.arange(n)
    link, limiter = ("nic1", "nic1>switch"), ("nic1", "nic1.rp0")
    recording = build(
        ms * MS,
        {
            (*link, "bytes_out", "B", "counter"): ms * 62_500,
            (*link, "frames_out", "frames", "counter"): ms * 50,
            (*link, "frames_dropped", "frames", "counter"): ms // 500,
            (*link, "paused_ps", "ps", "counter"): ms * MS // 4,
            (*link, "rate", "bit/s", "gauge"): np.full(n, 10**9),
            (*limiter, "active", "", "gauge"): (ms >= 500) * 1,
            (*limiter, "current_rate", "bit/s", "gauge"): np.where(ms < 500, 10**9, 10**8 + ms % 2),
            (*limiter, "feedback_received", "frames", "counter"): ms // 100,
            ("nic1", "nic1", "feedback_ignored", "frames", "counter"): ms // 250,
            ("nic1", "nic1", "feedback_unassigned", "frames", "counter"): ms * 0,
        },
    )
    metrics, _ = compute(recording, {"all": (0, 1000 * MS), "early": (0, 400 * MS)})
    found = metrics["all"]
    assert found["nic1>switch"] == {
        "throughput_bps": pytest.approx(5e8),
        "utilization": pytest.approx(0.5),
        "frames.sent": 50_000,
        "frames.dropped": 2,
        "pause.time_s": pytest.approx(0.25),
        "pause.longest_s": pytest.approx(0.25),
    }
    assert found["nic1.rp0"] == {
        "rate_bps.mean": 100_000_000.5,
        "rate_bps.sd": 0.5,
        "rate_bps.min": 100_000_000,
        "rate_bps.max": 100_000_001,
        "active.share": 0.5,
        "settling_s": 0.5,
        "feedback.received": 10,
    }
    assert metrics["early"]["nic1.rp0"]["rate_bps.mean"] is None
    assert found["nic1"] == {"feedback.ignored": 4, "feedback.unassigned": 0}


def test_the_longest_time_held_is_one_pause_and_not_their_sum(build) -> None:
    """Held for 1.5 ms from 2.5 ms on, for 0.7 ms from 10.1 ms on; a phase may begin within one."""
    ms = np.arange(101)
    held = np.clip(ms * MS - 5 * MS // 2, 0, 3 * MS // 2) + np.clip(
        ms * MS - 101 * MS // 10, 0, 7 * MS // 10
    )
    link = ("nic1", "nic1>switch")
    recording = build(
        ms * MS,
        {(*link, "bytes_out", "B", "counter"): ms, (*link, "paused_ps", "ps", "counter"): held},
    )
    phases = {"all": (0, 100 * MS), "late": (3 * MS, 8 * MS), "free": (5 * MS, 9 * MS)}
    found = {name: of["nic1>switch"] for name, of in compute(recording, phases)[0].items()}
    assert found["all"]["pause.time_s"] == pytest.approx(2.2e-3)
    assert found["all"]["pause.longest_s"] == pytest.approx(1.5e-3)
    assert found["late"]["pause.longest_s"] == pytest.approx(1e-3)
    assert found["free"]["pause.longest_s"] == 0


def test_every_metric_is_one_of_the_plan_s(recording) -> None:
    metrics, _ = compute(recording, {"p": (0, 10**12)})
    assert set(metrics) == {"run", "p"}
    for entities in metrics.values():
        for found in entities.values():
            assert set(found) <= set(UNITS)
    port = DEFINITIONS["port"].values()
    only_where_told = {one.name for one in port if one.sampled is not None and one.sampled.when}
    assert only_where_told >= {"frames.marked", "frames.trimmed", "storms.detected"}
    assert set(metrics["run"]["switch.sink"]) == set(METRICS["port"]) - only_where_told
    only_when_sampled = {"frames.reordered", *OF_TRANSPORT}
    assert set(metrics["run"]["gen1.0"]) == set(METRICS["flow"]) - only_when_sampled
    assert set(metrics["run"]["traffic"]) == set(METRICS["traffic"])


def test_phase_beyond_the_end(recording) -> None:
    """A run that was cut short has no numbers for what it did not reach."""
    metrics, _ = compute(recording, {"never": (9 * 10**12, 10 * 10**12)})
    found = metrics["never"]["switch.sink"]
    assert found["queue_bytes.mean"] is None
    assert found["utilization"] is None
    assert found["throughput_bps"] is None
    assert found["recovery_s"] is None


def limiting(build, rate: np.ndarray, active: np.ndarray):
    series = {
        ("nic", "nic.rp0", "current_rate", "bit/s", "gauge"): rate,
        ("nic", "nic.rp0", "active", "1", "gauge"): active,
    }
    metrics, _ = compute(build(np.arange(len(rate)) * MS, series), {"p": (100 * MS, 200 * MS)})
    return metrics["p"]["nic.rp0"]["settling_s"]


def test_settling(build) -> None:
    time = np.arange(201)
    falling = np.maximum(10_000 - 100 * (time - 100), 1_000)  # 1000 from 190 ms on
    on = np.ones(201, int)
    assert limiting(build, falling, on) == pytest.approx(0.089), "1100 is within 10 %"
    assert limiting(build, np.full(201, 77), on) == 0
    assert limiting(build, falling, (time < 150).astype(int)) is None, "inactive at the end"
    late = np.where(time < 150, 1_000, 1_001)
    assert limiting(build, late, (time >= 130).astype(int)) == pytest.approx(0.03)
