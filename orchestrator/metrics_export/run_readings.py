"""Readings of a run for Prometheus: its newest samples, its state and, once judged, its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from orchestrator import __version__
from orchestrator.live.feed_messages import Stage
from orchestrator.live.live_session import Session
from orchestrator.metrics_export import process_families as process
from orchestrator.metrics_export.metric_families import (
    SAMPLED,
    Family,
    entity_labels,
    observed_families,
    result_families,
    result_family,
)
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.metric_registry import DECLARED
from orchestrator.plan.observables import PLUGIN, plugin_of
from orchestrator.plan.observers import observed_entities
from orchestrator.recording import KNOWN, Column, Recording
from orchestrator.registry import Registry
from orchestrator.run import fidelity_thresholds
from orchestrator.run.verdict import INVALID, MET, MISSED, UNCERTAIN, UNJUDGED

Reading = tuple[Family, tuple[str, ...], float]
"""A family, the values of its labels, a value in its unit."""
Json = Mapping[str, Any]

STAGES = get_args(Stage)
VERDICTS = (MET, MISSED, UNJUDGED, UNCERTAIN, INVALID)


@dataclass(frozen=True)
class RunSnapshot:
    """State of a run at one instant. Times in ps of the run.

    `values` int64[columns] is the newest row of samples, None before the first. `result` is what
    `result.json` has, None before the run is judged; `verdict` and `fidelity` may be known without.
    """

    run: str
    target: str
    plan: str
    seed: int
    stage: str
    now_ps: int
    duration_ps: int
    pace: float | None = None
    resolved: ResolvedPlan | None = None
    columns: Sequence[Column] = ()
    values: np.ndarray | None = None
    rows: int = 0
    verdict: str | None = None
    fidelity: str | None = None
    result: Json | None = field(default=None, repr=False)


def session_snapshot(
    session: Session, recording: Recording | None = None, result: Json | None = None
) -> RunSnapshot:
    """Snapshot of a session; samples are of the recording, and judged by the result, once there
    are both. Has the target export samples from the first snapshot on, as a watcher does."""
    if not session.watched.is_set():
        session.watched.set()
        session.woken()
    columns, values = session.columns, None
    rows = session.rows.count()
    if recording is not None:
        columns, rows = recording.columns, len(recording.times_ps)
        values = recording.values[-1] if rows else None
    elif rows:
        values = session.rows.read(rows - 1, rows)[1][0]
    state, judgement = session.state(), session.verdict
    return RunSnapshot(
        run=session.run,
        target=session.target,
        plan=state.plan,
        seed=state.seed,
        stage=state.stage,
        now_ps=state.now_ps if recording is None or not rows else int(recording.times_ps[-1]),
        duration_ps=state.duration_ps,
        pace=state.pace,
        resolved=session.resolved,
        columns=columns,
        values=values,
        rows=rows,
        verdict=state.verdict,
        fidelity=judgement.fidelity.get("verdict") if judgement is not None else None,
        result=result,
    )


def state_readings(
    family: Family, states: Sequence[str], current: str, *labels: str
) -> Iterator[Reading]:
    """One reading per state: 1 for the current one, 0 for the others."""
    for state in dict.fromkeys((*states, current)):
        yield family, (*labels, state), float(state == current)


@dataclass(frozen=True)
class _Series:
    """Series of one column. `known`: column that is 0 while this one has no value; -1: none."""

    family: Family
    labels: tuple[str, ...]
    position: int
    known: int


class RunReader:
    """Reader of one run's snapshots; it keeps the series of the run's columns between scrapes."""

    def __init__(self) -> None:
        self._columns: Sequence[Column] = ()
        self._series: list[_Series] = []

    def readings(self, snapshot: RunSnapshot) -> Iterator[Reading]:
        """All readings of a snapshot."""
        yield from _progress(snapshot)
        if snapshot.values is not None and snapshot.resolved is not None:
            if snapshot.columns is not self._columns:
                self._series = _series_of(snapshot.resolved, snapshot.columns)
                self._columns = snapshot.columns
            values = snapshot.values.tolist()
            mine = (snapshot.run, snapshot.target)
            for series in self._series:
                if series.known < 0 or values[series.known]:
                    value = values[series.position] * series.family.scale
                    yield series.family, (*mine, *series.labels), value
        if snapshot.result is not None:
            yield from _judged(snapshot, snapshot.result)


def _progress(snapshot: RunSnapshot) -> Iterator[Reading]:
    mine = (snapshot.run, snapshot.target)
    yield process.RUN_INFO, (*mine, snapshot.plan, str(snapshot.seed), __version__), 1.0
    yield from state_readings(process.RUN_STAGE, STAGES, snapshot.stage, *mine)
    yield process.RUN_TIME, mine, snapshot.now_ps / 1e12
    yield process.RUN_DURATION, mine, snapshot.duration_ps / 1e12
    if snapshot.pace is not None:
        yield process.RUN_PACE, mine, snapshot.pace
    yield process.RUN_ROWS, mine, float(snapshot.rows)
    if snapshot.verdict is not None:
        yield from state_readings(process.RUN_VERDICT, VERDICTS, snapshot.verdict, *mine)
    if snapshot.fidelity is not None:
        grades = fidelity_thresholds.ORDER
        yield from state_readings(process.RUN_FIDELITY, grades, snapshot.fidelity, *mine)


def _series_of(resolved: ResolvedPlan, columns: Sequence[Column]) -> list[_Series]:
    """Series of the columns, in their order."""
    kinds = observed_entities(resolved.plan)
    observed = observed_families(Registry.load().algorithms)
    positions = {(column.entity, column.quantity): n for n, column in enumerate(columns)}
    series = []
    for position, column in enumerate(columns):
        family = _family_of(column, kinds.get(column.entity, frozenset()), observed)
        if family is None:
            continue
        labels = {"node": column.node, "entity": column.entity, **entity_labels(column.entity)}
        if not kinds.get(column.entity, frozenset()) & {"flow", "multicast", "copy"}:
            labels["flow"] = ""
        known = column.known or KNOWN.get(column.quantity, "")
        series.append(
            _Series(
                family,
                tuple(labels[name] for name in family.labels[2:]),
                position,
                positions.get((column.entity, known), -1) if known else -1,
            )
        )
    return series


def _family_of(
    column: Column, kinds: frozenset[str], observed: Mapping[tuple[str, str], Family]
) -> Family | None:
    """Family of a column; None for a column that only tells when another one has a value."""
    plugins = sorted(kind.removeprefix(PLUGIN) for kind in kinds if kind.startswith(PLUGIN))
    for plugin in plugins:
        if (family := observed.get((plugin, column.quantity))) is not None:
            return family
    for kind in DECLARED:
        if kind in kinds and (family := SAMPLED.get((kind, column.quantity))) is not None:
            return family
    return None


def _judged(snapshot: RunSnapshot, result: Json) -> Iterator[Reading]:
    """Readings of a result: expectations, fidelity, metrics by phase."""
    mine = (snapshot.run, snapshot.target)
    for number, row in enumerate(result["expectations"]):
        if row.get("of_seeds") is None:
            labels = (*mine, str(number), row["metric"], row["of"], row["phase"])
            yield process.RUN_EXPECTATION, labels, float(row["met"])
    yield from _distortions(mine, result["fidelity"])
    if snapshot.resolved is not None:
        yield from _results(mine, snapshot.resolved, result)


def _distortions(mine: tuple[str, str], fidelity: Json) -> Iterator[Reading]:
    """Readings of the fidelity of a run; targets without a machine in their path have few."""
    late = dict(fidelity.get("lateness_s") or {})
    if (mean := fidelity.get("lateness_mean_s")) is not None:
        late["mean"] = mean
    for statistic, value in late.items():
        yield process.RUN_LATENESS, (*mine, statistic), float(value)
    if (share := fidelity.get("displaced_share")) is not None:
        yield process.RUN_DISPLACED, mine, float(share)
    for point, count in (fidelity.get("lost_outside_queues") or {}).items():
        yield process.RUN_LOST, (*mine, point), float(count)


def _results(mine: tuple[str, str], resolved: ResolvedPlan, result: Json) -> Iterator[Reading]:
    """Readings of the metrics of a result; null has none."""
    kinds, families = observed_entities(resolved.plan), result_families()
    units = result["units"]
    for phase, entities in result["metrics"].items():
        for entity, metrics in entities.items():
            of_entity = [kind for kind in DECLARED if kind in kinds.get(entity, frozenset())]
            for metric, value in metrics.items():
                if value is None:
                    continue
                family = next(
                    (families[kind, metric] for kind in of_entity if (kind, metric) in families),
                    None,
                )
                if family is None:  # of an algorithm, whose name the metric begins with
                    meaning = f"metric of the state of {plugin_of(metric) or metric}"
                    family = result_family("algorithm", metric, units[metric], meaning)
                yield family, (*mine, entity, phase), value * family.scale
