"""Readings of runs: newest samples while a run goes on, and at its end what `result.json` has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.assembly.row_index import Indices
from orchestrator.assembly.sample_columns import probes
from orchestrator.live.live_session import Session
from orchestrator.live.sample_rows import AccumulatedRows
from orchestrator.metrics_export.http_endpoint import served
from orchestrator.metrics_export.metric_families import (
    SAMPLED,
    base_unit,
    observed_families,
    result_families,
)
from orchestrator.metrics_export.run_exporter import RunExporter
from orchestrator.metrics_export.run_readings import RunReader, RunSnapshot, session_snapshot
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.metric_registry import DECLARED, counted_by
from orchestrator.recording import Column
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from tests.orchestrator.metrics_export.scraping import (
    OPENMETRICS,
    TEXT,
    Key,
    fetched,
    read,
    samples,
    valued,
)
from tests.orchestrator.worlds import line_of_three
from tests.shipped import FOLDER

pytest.importorskip("prometheus_client")

PLANS = ("quickstart", "swift", "priority-demotion", "codel", "multicast-inputs")


def resolved_plan(name: str) -> ResolvedPlan:
    registry = Registry.load()
    return Plan.load(registry.plans()[name], registry).check(registry)


def columns_of(resolved: ResolvedPlan) -> list[Column]:
    return [probe.column for probe in probes(resolved, Indices(resolved.plan))]


def snapshot_of(resolved: ResolvedPlan, values: list[int], **more: Any) -> RunSnapshot:
    return RunSnapshot(
        run="r1", target="software", plan=resolved.plan.name, seed=1, stage="running", now_ps=0,
        duration_ps=resolved.plan.duration, resolved=resolved, columns=columns_of(resolved),
        values=np.array(values, np.int64), rows=1, **more,
    )  # fmt: skip


def scraped(snapshot: RunSnapshot) -> dict[Key, float]:
    return read(RunReader().readings(snapshot))


def planned(**more: Any) -> ResolvedPlan:
    return Plan(**line_of_three(**more)).check(Registry.load())


def shipped_columns_have_series(name: str) -> None:
    """Every column of a shipped plan is exported, under its name and in its unit."""
    resolved = resolved_plan(name)
    columns = columns_of(resolved)
    found = scraped(snapshot_of(resolved, list(range(1, len(columns) + 1))))
    algorithms = Registry.load().algorithms
    families = [*SAMPLED.values(), *observed_families(algorithms).values()]
    names = {family.exported for family in families}
    shown = {field for _, field in observed_families(algorithms)} | {q for _, q in SAMPLED}
    series = {key: value for key, value in found.items() if key[0] in names}
    assert len(series) == sum(column.quantity in shown for column in columns)
    for position, column in enumerate(columns):
        if column.quantity in shown:
            unit, scale = base_unit(column.unit)
            mine = [
                value
                for (of, labels), value in series.items()
                if ("entity", column.entity) in labels and of.removesuffix("_total").endswith(unit)
            ]
            assert pytest.approx((position + 1) * scale) in mine, column


@pytest.mark.parametrize("name", PLANS)
def test_every_column_of_a_plan_is_exported(name: str):
    shipped_columns_have_series(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({path.stem for path in FOLDER.glob("*.toml")} - set(PLANS)))
def test_every_column_of_every_shipped_plan_is_exported(name: str):
    resolved = resolved_plan(name)
    columns = columns_of(resolved)
    helpers = {c.quantity for c in columns} - {q for _, q in SAMPLED}
    helpers -= {field for _, field in observed_families(Registry.load().algorithms)}
    exported = sum(
        1
        for family, _, _ in RunReader().readings(snapshot_of(resolved, [1] * len(columns)))
        if not family.name.startswith("tailback_run_")
    )
    assert exported == sum(column.quantity not in helpers for column in columns)


def test_labels_say_priority_flow_node_run_and_target():
    resolved = resolved_plan("priority-demotion")
    found = scraped(snapshot_of(resolved, [1] * len(columns_of(resolved))))
    lanes = [dict(labels) for name, labels in found if name == "tailback_port_pause_sent_total"]
    assert lanes
    for labels in lanes:
        assert labels["node"] == labels["entity"].split(".")[0]
        suffix = labels["entity"].partition("/p")[2]
        assert labels.get("priority", "") == suffix
        assert (labels["run"], labels["target"]) == ("r1", "software")
    flows = [dict(labels) for name, labels in found if name == "tailback_flow_sent_bytes_total"]
    assert {labels["flow"] for labels in flows} == {f.entity for f in resolved.plan.flows()}


def test_what_members_of_a_group_receive_has_the_label_of_its_flow():
    resolved = resolved_plan("multicast-inputs")
    found = scraped(snapshot_of(resolved, [1] * len(columns_of(resolved))))
    copies = [
        dict(labels) for name, labels in found if name == "tailback_copy_received_bytes_total"
    ]
    assert copies
    sent = [flow for flow in resolved.plan.flows() if flow.members]
    assert {(labels["entity"], labels["flow"]) for labels in copies} == {
        (flow.at(member), flow.entity) for flow in sent for member in flow.members
    }


def test_a_value_that_is_not_known_yet_has_no_series():
    resolved = resolved_plan("swift")
    columns = columns_of(resolved)
    zeros = scraped(snapshot_of(resolved, [0] * len(columns)))
    ones = scraped(snapshot_of(resolved, [1] * len(columns)))
    for name in ("tailback_limiter_rtt_seconds", "tailback_limiter_window_bytes"):
        assert not valued(zeros, name)
        assert valued(ones, name)
    assert valued(zeros, "tailback_limiter_active")


def test_a_run_that_goes_on_shows_its_newest_row_and_exports_samples_from_the_first_scrape_on():
    resolved = planned()
    session, exporter = Session(resolved, "software"), RunExporter()
    woken: list[int] = []
    with served("127.0.0.1:0", exporter.readings, lambda text: None) as endpoint:
        assert samples(fetched(endpoint.url)[1]) == {}
        exporter.observe(session)
        columns = columns_of(resolved)
        rows = AccumulatedRows(10, len(columns))
        session.woken = lambda: woken.append(1)
        session.begin(columns, rows, ())
        assert not session.watched.is_set(), "nobody has scraped it"
        found = samples(fetched(endpoint.url)[1])
        assert session.watched.is_set()
        assert valued(found, "tailback_run_stage", stage="running") == [1.0]
        assert not valued(found, "tailback_port_queue_bytes")
        at = next(n for n, c in enumerate(columns) if c.quantity == "queue_bytes")
        for row, octets in enumerate((1500, 4500)):
            values = np.zeros((1, len(columns)), np.int64)
            values[0, at] = octets
            rows.add(np.array([row * 10**9]), values)
            session.now_ps = row * 10**9
            found = samples(fetched(endpoint.url)[1])
            entity = columns[at].entity
            assert valued(found, "tailback_port_queue_bytes", entity=entity) == [octets]
            assert valued(found, "tailback_run_sample_rows_total") == [row + 1]
            assert valued(found, "tailback_run_time_seconds") == [row / 1000]
        assert woken == [1], "it is woken once"
        session.failed(RuntimeError())
        found = samples(fetched(endpoint.url)[1])
        assert valued(found, "tailback_run_stage", stage="failed") == [1.0]
        assert sum(valued(found, "tailback_run_stage")) == 1.0


@pytest.fixture(scope="module")
def judged() -> tuple[dict[str, Any], dict[Key, float], dict[Key, float]]:
    """A run with its result, and the last scrape of it in both formats."""
    registry, exporter = Registry.load(), RunExporter()
    with served("127.0.0.1:0", exporter.readings, lambda text: None) as endpoint:
        plan = Plan.load(registry.plans()["quickstart"], registry)
        done = run(plan, out=None, observe=exporter.observe)
        exporter.finish(done.recording, done.result)
        texts = [samples(fetched(endpoint.url, kind)[1], kind) for kind in (TEXT, OPENMETRICS)]
    return done.result, texts[0], texts[1]


def test_at_the_end_every_counter_is_what_the_result_has_of_the_whole_run(judged):
    result, found, _ = judged
    kinds = resolved_plan("quickstart").plan.entities()
    compared = 0
    for entity, metrics in result["metrics"]["run"].items():
        for kind in set(DECLARED) & kinds[entity]:
            for metric, quantity in counted_by(kind).items():
                family = SAMPLED[kind, quantity]
                values = valued(found, family.exported, entity=entity)
                if values and metric in metrics:
                    assert values == [metrics[metric] * family.scale], (entity, metric)
                    compared += 1
    assert compared > 30


def test_at_the_end_every_metric_of_the_result_is_there(judged):
    result, found, _ = judged
    kinds = resolved_plan("quickstart").plan.entities()
    families = result_families()
    expected = 0
    for phase, entities in result["metrics"].items():
        for entity, metrics in entities.items():
            for metric, value in metrics.items():
                mine = [families[k, metric] for k in DECLARED
                        if k in kinds[entity] and (k, metric) in families]  # fmt: skip
                values = [
                    value
                    for family in mine
                    for value in valued(found, family.exported, entity=entity, phase=phase)
                ]
                wanted = [] if value is None else [pytest.approx(value * mine[0].scale)]
                assert values == wanted, (phase, entity, metric)
                expected += value is not None
    assert expected > 200
    assert sum(name.startswith("tailback_result_") for name, _ in found) == expected


def test_at_the_end_verdict_fidelity_and_expectations_are_there(judged):
    result, found, _ = judged
    assert valued(found, "tailback_run_verdict", verdict=result["verdict"]) == [1.0]
    assert sum(valued(found, "tailback_run_verdict")) == 1.0
    fidelity = result["fidelity"]["verdict"]
    assert valued(found, "tailback_run_fidelity", fidelity=fidelity) == [1.0]
    for number, row in enumerate(result["expectations"]):
        labels = {"number": str(number), "metric": row["metric"], "phase": row["phase"]}
        assert valued(found, "tailback_run_expectation_met", **labels) == [float(row["met"])]


def test_both_formats_have_the_same_series(judged):
    _, text, openmetrics = judged
    assert text == openmetrics


def test_a_missed_expectation_and_the_machines_distortions_are_exported():
    resolved = planned()
    result = {
        "expectations": [
            {"metric": "utilization", "of": "switch.sink", "phase": "run", "met": False},
            {"metric": "utilization", "of": "switch.sink", "phase": "run", "met": True},
            {"metric": "deadlocks", "of": "network", "phase": "run", "met": False, "of_seeds": 3},
        ],
        "fidelity": {
            "verdict": "degraded",
            "lateness_s": {"p50": 1e-6, "p99": 2e-5},
            "lateness_mean_s": 3e-6,
            "displaced_share": 0.01,
            "lost_outside_queues": {"sockets": 3},
        },
        "metrics": {},
        "units": {},
    }
    found = scraped(
        snapshot_of(
            resolved,
            [0] * len(columns_of(resolved)),
            verdict="missed",
            fidelity="degraded",
            result=result,
        )
    )
    assert valued(found, "tailback_run_expectation_met", number="0") == [0.0]
    assert valued(found, "tailback_run_expectation_met", number="1") == [1.0]
    assert not valued(found, "tailback_run_expectation_met", number="2")
    assert valued(found, "tailback_run_lateness_seconds", statistic="p99") == [2e-5]
    assert valued(found, "tailback_run_lateness_seconds", statistic="mean") == [3e-6]
    assert valued(found, "tailback_run_displaced_ratio") == [0.01]
    lost = "tailback_run_frames_lost_outside_queues"
    assert valued(found, lost, point="sockets") == [3.0]
    assert valued(found, "tailback_run_verdict", verdict="missed") == [1.0]
    assert valued(found, "tailback_run_fidelity", fidelity="degraded") == [1.0]


def test_samples_of_a_session_are_those_of_the_recording_once_it_is_over(tmp_path: Path):
    resolved = planned()
    sessions: list[Session] = []
    done = run(resolved.plan, out=None, observe=sessions.append)
    (session,) = sessions
    snapshot = session_snapshot(session, done.recording, done.result)
    assert snapshot.values is not None
    assert (snapshot.values == done.recording.values[-1]).all()
    assert snapshot.now_ps == resolved.plan.duration
    assert not list(tmp_path.iterdir())
