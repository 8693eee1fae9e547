"""What `compute` puts together: phases, entries of traffic, times under way, losses."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.recording import MessageTable
from traces.metrics import UNITS, compute
from traces.metrics.compute_metrics import traffic_entries

MS = 10**9
S = 10**12
EDGES = np.array([0, 10, 20, 40]) * 10**6


def flows(build, slopes: dict[str, int], rows: int = 11, **more):
    """Flows that receive so many octets a millisecond."""
    series = {
        ("node", name, "bytes_received", "B", "counter"): 3 + np.arange(rows) * slope
        for name, slope in slopes.items()
    }
    return build(np.arange(rows) * MS, series, **more)


def test_flows_belong_to_entries_by_their_number(build) -> None:
    latency = {name: np.zeros((1, 3), np.int64) for name in ("gen", "own.7")}
    recording = flows(build, {"gen.0": 1}, latency=latency)
    named = ["gen.0", "gen.1@sink", "gen.1@leaf", "own.7", "a.b", ".5", "solo"]
    assert traffic_entries(recording, named) == {
        "gen": ["gen.0", "gen.1@sink", "gen.1@leaf"],
        "own.7": ["own.7"],
        "a.b": ["a.b"],
        ".5": [".5"],
        "solo": ["solo"],
    }


def test_throughput_of_entries_and_of_all(build) -> None:
    recording = flows(build, {"gen.0": 1000, "gen.1": 3000, "solo": 500})
    metrics, units = compute(recording, {"p": (2 * MS, 6 * MS)})
    found = metrics["p"]
    assert found["gen"]["throughput_bps"] == pytest.approx(32e6)
    assert found["solo"]["throughput_bps"] == pytest.approx(4e6)
    assert found["traffic"]["throughput_bps"] == pytest.approx(36e6)
    assert found["gen"]["fairness.jain"] == pytest.approx(16 / 20)
    assert units == UNITS


def test_a_phase_without_length_has_no_throughput(build) -> None:
    metrics, _ = compute(
        flows(build, {"gen.0": 1000}, on={"gen.0": [(0, 9 * MS)]}), {"p": (2 * MS, 2 * MS)}
    )
    assert metrics["p"]["gen"]["throughput_bps"] is None
    assert metrics["p"]["traffic"]["throughput_bps"] is None


@pytest.mark.parametrize(
    ("on", "index"),
    [
        ([(0, 99 * MS)], 25 / (2 * 17)),  # rates as 4 to 1
        ([(4 * MS, 99 * MS)], 36 / (2 * 20)),  # from half of the phase on: 4 to 2
        ([(4 * MS + 1, 99 * MS)], None),
        ([(6 * MS, 99 * MS)], None),
        ([], None),
        ([(2 * MS, 4 * MS)], 25 / (2 * 17)),  # silent from then on
        ([(0, 1 * MS)], 25 / (2 * 17)),
        ([(2 * MS, 3 * MS), (4 * MS, 5 * MS)], 25 / (2 * 17)),
        ([(4 * MS, 5 * MS), (8 * MS, 9 * MS)], 36 / (2 * 20)),
    ],
)
def test_a_source_counts_from_its_first_start_on(build, on, index) -> None:
    recording = flows(build, {"a": 4000, "b@sink": 1000}, on={"b": on})
    metrics, _ = compute(recording, {"p": (2 * MS, 6 * MS)})
    expected = None if index is None else pytest.approx(index)
    assert metrics["p"]["traffic"]["fairness.jain"] == expected


def latencies(build, span: tuple[int, int], began: int = 0):
    """Marks at 2, 4 and 10 ms: 4 frames below 10 us, 4 to 20, then 8 to 40."""
    recording = flows(
        build,
        {"gen": 1000},
        latency={"gen": np.array([[4, 0, 0, 9], [4, 4, 0, 9], [4, 4, 8, 9]])},
        latency_marks_ps=np.array([2, 4, 10]) * MS,
        latency_edges_ps=EDGES,
    )
    recording.times_ps[:] += began
    found = compute(recording, {"p": span})[0]["p"]["gen"]
    return {name: found[f"latency_s.{name}"] for name in ("p50", "p99", "mean")}


def us(p50: float, p99: float, mean: float):
    """The same three in microseconds."""
    known = {"p50": p50, "p99": p99, "mean": mean}
    return {name: pytest.approx(value * 1e-6) for name, value in known.items()}


def test_times_under_way_of_a_phase(build) -> None:
    assert latencies(build, (0, 2 * MS)) == us(5, 9.9, 5)
    assert latencies(build, (2 * MS, 4 * MS)) == us(15, 19.9, 15)
    assert latencies(build, (4 * MS, 10 * MS)) == us(30, 39.8, 30)
    whole = latencies(build, (0, 10 * MS))
    assert whole["mean"] == pytest.approx((4 * 5 + 4 * 15 + 8 * 30) / 16 * 1e-6)
    assert whole["p50"] == pytest.approx(20e-6)


def test_times_under_way_between_marks_and_beyond_them(build) -> None:
    assert latencies(build, (1, 3 * MS))["mean"] == pytest.approx(15e-6)
    assert latencies(build, (3 * MS, 99 * MS))["mean"] == pytest.approx(30e-6)
    assert latencies(build, (50 * MS, 99 * MS)) == {"p50": None, "p99": None, "mean": None}


def test_a_phase_from_the_run_s_beginning_has_all_that_came_before_its_end(build) -> None:
    assert latencies(build, (0, 4 * MS))["mean"] == pytest.approx(10e-6)
    assert latencies(build, (MS, 4 * MS), began=MS)["mean"] == pytest.approx(10e-6)


def test_no_marks_no_times(build) -> None:
    recording = flows(
        build, {"gen": 1}, latency={"gen": np.zeros((0, 3), np.int64)}, latency_edges_ps=EDGES
    )
    assert compute(recording, {})[0]["run"]["gen"]["latency_s.mean"] is None


def test_what_was_sent_and_not_received_is_lost_over_the_whole_run(build) -> None:
    series = {
        ("node", "f", "frames_sent", "", "counter"): [0, 9, 20],
        ("node", "f", "frames_received", "", "counter"): [0, 4, 13],
        ("node", "silent", "frames_sent", "", "counter"): [0, 0, 0],
        ("node", "silent", "frames_received", "", "counter"): [0, 0, 0],
    }
    for name in ("f", "silent"):
        series[("node", name, "bytes_received", "", "counter")] = [0, 1, 2]
    metrics, _ = compute(build(np.arange(3) * MS, series), {"p": (0, MS)})
    assert metrics["run"]["f"]["frames.dropped"] == 7
    assert metrics["run"]["silent"]["frames.dropped"] == 0
    assert "frames.dropped" not in metrics["p"]["f"]


def test_messages_have_the_metrics_of_their_entry(build) -> None:
    table = MessageTable(
        flows=[("m.0", "m")],
        flow=np.array([0]),
        start_ps=np.array([1]),
        size=np.array([5]),
        done_ps=np.array([1 + S]),
        ideal_ps=np.array([S // 2]),
    )
    found = compute(flows(build, {"m.0": 1000}, messages=table), {})[0]["run"]
    assert found["m"]["slowdown.mean"] == 2
    assert found["m"]["throughput_bps"] == pytest.approx(8e6), "beside those of its flows"
    assert found["traffic"]["messages.completed"] == 1


def test_what_algorithms_show_is_beside_the_rest(build) -> None:
    series = {
        ("switch", "port", "queue_bytes", "B", "gauge"): [4, 4, 4],
        ("switch", "port", "sojourn", "ps", "gauge", "codel.sojourn_s"): [S, 3 * S, 5 * S],
    }
    metrics, units = compute(build(np.arange(3) * MS, series), {"p": (0, 2 * MS)})
    assert metrics["p"]["port"]["codel.sojourn_s.mean"] == 2
    assert metrics["p"]["port"]["queue_bytes.mean"] == 4
    assert units["codel.sojourn_s.mean"] == "s"


def test_a_recording_of_nothing(build) -> None:
    assert compute(flows(build, {"gen": 1}, rows=0), {})[0] == {}
