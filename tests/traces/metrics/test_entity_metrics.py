"""Every kind of entity with every quantity that it may have: each metric, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.recording import Column
from tests.traces.metrics.made import ENTITY, MS, counting, table_of
from traces.metrics import entity_metrics
from traces.metrics.entity_metrics import longest_pause_s
from traces.metrics.sample_table import Table, Window

ROWS = 12


def phase(table: Table) -> Window:
    """Four milliseconds, from the sample at 2 ms to that at 6 ms: gauges have four samples."""
    return table.window(2 * MS, 6 * MS)


def counted(*quantities: str) -> dict[str, Any]:
    """Counters that grow by 1, 2, 3, ... a millisecond."""
    return {name: counting(step, ROWS) for step, name in enumerate(quantities, start=1)}


def test_a_port_of_a_switch() -> None:
    series = counted(
        *("frames_in", "frames_out", "frames_dropped", "frames_dropped_early", "frames_trimmed"),
        *("frames_marked", "feedback_sent", "pause_sent", "bytes_out", "frames_moved"),
    )
    series["frames_in"] = counting(20, ROWS)
    queue = [900, 900, 0, 10, 20, 30, 5, 5, 5, 5, 5, 5]
    table = table_of(queue_bytes=queue, service_rate=[144_000] * ROWS, **series)
    assert entity_metrics.switch_port(phase(table), ENTITY) == {
        "queue_bytes.mean": 15,
        "queue_bytes.sd": pytest.approx(np.sqrt(125)),
        "queue_bytes.max": 30,
        "queue_bytes.p99": 30,
        "queue_bytes.amplitude": 15,
        "queue.frequency_hz": None,
        "queue.overshoot": None,
        "queue.settling_s": None,
        "throughput_bps": pytest.approx(72_000),
        "utilization": pytest.approx(0.5),
        "recovery_s": None,
        "frames.drop_ratio": pytest.approx(7 / 20),
        "frames.received": 80,
        "frames.sent": 8,
        "frames.dropped": 12,
        "frames.dropped_early": 16,
        "frames.trimmed": 20,
        "frames.reprioritized": 40,
        "frames.marked": 24,
        "feedback.sent": 28,
        "pause.count": 32,
    }


def test_a_port_has_metrics_of_what_was_sampled_alone() -> None:
    still = entity_metrics.switch_port(phase(table_of(queue_bytes=[33] * ROWS)), ENTITY)
    assert set(still) == {
        *("queue_bytes.mean", "queue_bytes.sd", "queue_bytes.max", "queue_bytes.p99"),
        *("queue_bytes.amplitude", "queue.frequency_hz", "queue.overshoot", "queue.settling_s"),
    }
    assert (still["queue_bytes.mean"], still["queue_bytes.sd"], still["queue_bytes.p99"]) == (
        *(33, 0, 33),
    )
    sent = table_of(queue_bytes=[33] * ROWS, **counted("bytes_out"))
    assert set(entity_metrics.switch_port(phase(sent), ENTITY)) - set(still) == {"throughput_bps"}
    came = table_of(queue_bytes=[33] * ROWS, **counted("frames_in"))
    assert set(entity_metrics.switch_port(phase(came), ENTITY)) - set(still) == {"frames.received"}
    lost = table_of(queue_bytes=[33] * ROWS, **counted("frames_in", "frames_dropped"))
    assert entity_metrics.switch_port(phase(lost), ENTITY)["frames.drop_ratio"] == 2
    none = table_of(queue_bytes=[33] * ROWS, frames_in=[4] * ROWS, frames_dropped=[0] * ROWS)
    assert entity_metrics.switch_port(phase(none), ENTITY)["frames.drop_ratio"] is None


@pytest.mark.parametrize(
    ("running", "most"),
    [
        ([50] * ROWS, 30),  # the run's highest was before
        ([50] * 3 + [80] * 9, 80),
        ([50] * 6 + [80] * 6, 80),  # between the last sample and the end
        ([50] * 3 + [60, *[61] * 8], 61),
        ([8] * 3 + [9] * 9, 30),
    ],
)
def test_the_highest_queue_between_samples(running: list[int], most: int) -> None:
    queue = [900, 900, 0, 10, 20, 30, 5, 5, 5, 5, 5, 5]
    window = phase(table_of(queue_bytes=queue, queue_max_bytes=running))
    assert entity_metrics.queue_max(window, ENTITY, window.gauge(ENTITY, "queue_bytes")) == most


def test_the_highest_queue_of_a_run_s_beginning_and_of_no_samples() -> None:
    table = table_of(queue_bytes=[5, 6, 7], queue_max_bytes=[40, 40, 40])
    window = table.window(0, 2 * MS)
    queue = window.gauge(ENTITY, "queue_bytes")
    assert entity_metrics.queue_max(window, ENTITY, queue) == 40
    assert entity_metrics.queue_max(table.window(MS, 2 * MS), ENTITY, queue[1:]) == 6
    between = table_of((), [0, MS, 2 * MS], queue_bytes=[0] * 3, queue_max_bytes=[0, 40, 50])
    assert entity_metrics.queue_max(between.window(MS, 2 * MS), ENTITY, queue[:0]) == 50
    without = table_of(queue_bytes=[5, 6, 7]).window(0, 2 * MS)
    assert entity_metrics.queue_max(without, ENTITY, queue[:0]) is None


def test_a_direction_of_a_link() -> None:
    series = counted("bytes_out", "frames_out", "frames_dropped")
    assert entity_metrics.link_direction(phase(table_of(**series)), ENTITY) == {
        "throughput_bps": pytest.approx(8000),
        "frames.sent": 8,
        "frames.dropped": 12,
    }
    found = entity_metrics.link_direction(phase(table_of(rate=[32_000] * ROWS, **series)), ENTITY)
    assert found["utilization"] == pytest.approx(0.25)


def test_a_limiter_has_the_rates_while_it_has_an_effect() -> None:
    table = table_of(
        current_rate=[1, 1, 40, 10, 20, 99, 1, 1, 1, 1, 1, 1],
        active=[1, 1, 1, 1, 2, 0, 1, 1, 1, 1, 1, 1],
        **counted("feedback_received"),
    )
    assert entity_metrics.limiter(phase(table), ENTITY) == {
        "rate_bps.mean": pytest.approx(70 / 3),
        "rate_bps.sd": pytest.approx(np.std([40, 10, 20])),
        "rate_bps.min": 10,
        "rate_bps.max": 40,
        "active.share": 0.75,
        "settling_s": None,
        "feedback.received": 4,
    }


def test_a_limiter_that_does_not_say_when_it_has_an_effect_always_has() -> None:
    window = phase(table_of(current_rate=[1, 1, 40, 10, 20, 30, *[1] * 6]))
    found = entity_metrics.limiter(window, ENTITY)
    assert (found["rate_bps.mean"], found["active.share"], found["settling_s"]) == (25, 1, None)
    assert "rtt_s.mean" not in found
    empty = table_of(current_rate=[1] * 3, active=[1] * 3).window(9 * MS, 10 * MS)
    found = entity_metrics.limiter(empty, ENTITY)
    assert (found["rate_bps.min"], found["rate_bps.max"]) == (None, None)
    assert found["active.share"] is None


def test_a_limiter_that_hears_acknowledgements() -> None:
    table = table_of(
        current_rate=[1] * ROWS,
        window_bytes=[0, 0, 10, 20, 30, 40, *[0] * 6],
        rtt_ps=[0, 0, *(np.array([1, 3, 5, 7]) * MS), *[0] * 6],
    )
    found = entity_metrics.limiter(phase(table), ENTITY)
    assert {name: found[name] for name in found if name.startswith(("window", "rtt"))} == {
        "window_bytes.mean": 25,
        "window_bytes.sd": pytest.approx(np.sqrt(125)),
        "rtt_s.mean": pytest.approx(4e-3),
        "rtt_s.p99": pytest.approx(7e-3),
    }


def test_counts_of_flows_sources_nics_and_receivers() -> None:
    frames = counted("frames_sent", "frames_received", "frames_refused", "frames_reordered")
    flow = entity_metrics.flow(phase(table_of(**frames, bytes_received=counting(5, ROWS))), ENTITY)
    assert flow == {
        "throughput_bps": pytest.approx(40_000),
        "frames.sent": 4,
        "frames.received": 8,
        "frames.refused": 12,
        "frames.reordered": 16,
    }
    heard = counted("feedback_ignored", "feedback_unassigned")
    assert entity_metrics.nic(phase(table_of(**heard)), ENTITY) == {
        "feedback.ignored": 4,
        "feedback.unassigned": 8,
    }
    told = counted("feedback_sent", "echoes_sent", "credits_sent")
    assert entity_metrics.nic(phase(table_of(**told)), ENTITY) == {
        "feedback.sent": 4,
        "echoes.sent": 8,
        "credits.sent": 12,
    }


def test_a_source() -> None:
    series = counted("frames_sent", "frames_refused", "frames_resent")
    assert entity_metrics.source(phase(table_of(**series)), ENTITY) == {
        "frames.sent": 4,
        "frames.refused": 8,
        "frames.retransmitted": 12,
    }
    sent = np.cumsum([9, 9, 0, 1000, 0, 2000, 3000, 9, 9, 9, 9, 9])
    found = entity_metrics.source(phase(table_of(**series, bytes_sent=sent)), ENTITY)
    assert found["sent_bps.mean"] == pytest.approx(12e6)
    assert found["sent_bps.sd"] == pytest.approx(np.std([8e6, 0, 16e6]))


def test_a_switch_that_restores_order() -> None:
    series = counted("reassembly_gaps", "reassembly_late")
    held = [0, 0, 10, 30, 20, 0, *[99] * 6]
    found = entity_metrics.reassembly(phase(table_of(reassembly_bytes=held, **series)), ENTITY)
    assert found == {
        "reassembly_bytes.mean": 15,
        "reassembly_bytes.max": 30,
        "reassembly.gaps": 4,
        "reassembly.late": 8,
    }
    beyond = table_of(reassembly_bytes=held, **series).window(99 * MS, 100 * MS)
    assert entity_metrics.reassembly(beyond, ENTITY)["reassembly_bytes.max"] is None


def test_a_lane() -> None:
    held = np.cumsum([0, 0, 0, MS // 2, 0, MS // 4, MS // 4, 0, 0, 0, 0, 0])
    assert entity_metrics.lane(phase(table_of(paused_ps=held)), ENTITY) == {
        "pause.time_s": pytest.approx(1e-3),
        "pause.longest_s": pytest.approx(0.5e-3),
    }


def test_a_flow_of_half_a_phase_counts_and_one_of_less_does_not() -> None:
    columns = [Column("n", name, "bytes_received", "B", "counter") for name in ("a", "b")]
    values = np.stack([counting(5, ROWS), counting(5, ROWS)], axis=1)
    table = phase(Table(np.arange(ROWS) * MS, columns, values))
    assert entity_metrics.fairness(table, {"a": 1.0, "b": 0.5}) == {
        "fairness.jain": pytest.approx(9 / 10),
        "fairness.max_min": 2,
    }
    assert entity_metrics.fairness(table, {"a": 1.0, "b": 0.49}) == {
        "fairness.jain": None,
        "fairness.max_min": None,
    }
    assert entity_metrics.aggregate_flows(table, {"a": 1.0})["throughput_bps"] == pytest.approx(
        40_000
    )


@pytest.mark.parametrize(
    ("measure", "series", "exact"),
    [
        (entity_metrics.switch_port, {"queue_bytes": 9}, ()),
        (entity_metrics.switch_port, {"queue_bytes": 0}, ()),
        (entity_metrics.limiter, {"current_rate": 9, "active": 1}, ()),
        (entity_metrics.limiter, {"current_rate": 9}, ("active.share",)),
        (entity_metrics.acknowledged, {"window_bytes": 9, "rtt_ps": 9}, ()),
        (entity_metrics.reassembly, {"reassembly_bytes": 9}, ()),
    ],
)
@pytest.mark.parametrize("count", [0, 1])
def test_a_statistic_of_too_few_samples_has_no_value(
    measure: Any, series: dict[str, int], exact: tuple[str, ...], count: int
) -> None:
    """A sample interval longer than the phase, or than the run: one sample, or none."""
    rows = {name: [value] * 3 for name, value in series.items()}
    window = table_of(times=[0, 10 * MS, 20 * MS], **rows).window(MS, (11 if count else 9) * MS)
    assert len(window.grid) == count
    found = measure(window, ENTITY)
    assert {name for name, value in found.items() if value is not None} == set(exact)


@pytest.mark.parametrize(("grown", "flows"), [((1, 1), 2), ((1, 0), 1), ((0, 0), 0)])
def test_a_flow_is_served_once_a_frame_of_it_arrives(grown: tuple[int, int], flows: int) -> None:
    columns = {f"f{at}": np.arange(ROWS) * step for at, step in enumerate(grown)}
    tables = {name: phase(table_of(bytes_received=values)) for name, values in columns.items()}
    found = [entity_metrics.served(one, [ENTITY])["flows.served"] for one in tables.values()]
    assert sum(found) == flows  # type: ignore[arg-type]


def test_a_ratio_to_nothing_is_none() -> None:
    assert (entity_metrics.ratio(1, 2), entity_metrics.ratio(1, 0)) == (0.5, None)


# The longest time held: a run of samples in a row over which the counter grew.


def longest(grown: list[int], begin: int, end: int) -> float:
    """`grown`: by how many ps the counter of time held grew from each sample to the next."""
    held = [100]
    for step in grown:
        held.append(held[-1] + step)
    return longest_pause_s(table_of(paused_ps=held).window(begin * MS, end * MS), ENTITY)


@pytest.mark.parametrize(
    ("grown", "most"),
    [
        ([0, 0, 0, 0], 0),
        ([0, 5, 0, 0], 5),
        ([0, 5, 3, 0], 8),
        ([4, 0, 0, 3], 4),
        ([3, 0, 0, 4], 4),
        ([3, 0, 2, 2], 4),
        ([1, 0, 1, 0], 1),
        ([9, 9, 9, 9], 36),
    ],
)
def test_the_longest_run_of_samples(grown: list[int], most: int) -> None:
    assert longest(grown, 0, 4) == most / 10**12


def test_a_phase_has_its_own_part_of_a_pause() -> None:
    grown = [2, 2, 2, 0, 1, 0, 7, 7]
    assert longest(grown, 1, 6) == 4e-12
    assert longest(grown, 3, 6) == 1e-12
    assert longest(grown, 3, 4) == 0
