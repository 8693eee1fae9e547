"""Comparison of runs by phase, entity and metric."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import BadInput
from traces.compare import rule
from traces.compare.distance import kolmogorov_smirnov, wasserstein
from traces.compare.found import Comparison, Difference, Parting, QueueDistance
from traces.compare.parting import first_parting
from traces.metrics.table import PS, WHOLE_RUN
from traces.runs import Run


def compare(runs: Sequence[Run]) -> Comparison:
    """Compare runs of the same plan (or of plans with phases and ports of the same names)."""
    if len(runs) < 2:
        raise BadInput("compare", f"{len(runs)} run given; it takes two or more")
    labels = distinct([run.label for run in runs])
    notes = _notes(runs, labels)
    spans = {
        name: span
        for name, span in runs[0].phases.items()
        if all(name in run.phases and name in run.result.metrics for run in runs)
    }
    # the whole run holds the start-up too: where there are phases, they decide
    deciding = set(spans) or {WHOLE_RUN}
    differences = [
        one
        for phase in (*spans, WHOLE_RUN)
        for one in _differences(runs, phase, decides=phase in deciding)
    ]
    decided = [one for one in differences if one.agree is not None]
    if not decided:
        raise BadInput("compare", "the runs have no phase and port in common to compare")
    spans.setdefault(WHOLE_RUN, (int(runs[0].times_ps[0]), int(runs[0].times_ps[-1])))
    parted = next((one for one in decided if not one.agree), None)
    parting = None
    if parted is not None:
        time = None
        if parted.metric in rule.PORTS:
            at = first_parting(runs, parted.entity, parted.metric, spans[parted.phase])
            time = None if at is None else at / PS
        parting = Parting(parted.phase, parted.entity, parted.metric, time)
    queues = [
        _queue_distance(phase, port, label, runs[0], run)
        for phase in spans
        for port in common_ports(runs)
        for label, run in list(zip(labels, runs, strict=True))[1:]
    ]
    return Comparison(labels, differences, queues, parting, notes)


def distinct(labels: list[str]) -> list[str]:
    """The labels, numbered where one stands twice."""
    return [
        label if labels.count(label) == 1 else f"{label} #{index + 1}"
        for index, label in enumerate(labels)
    ]


def common_ports(runs: Sequence[Run]) -> list[str]:
    """Ports whose queue was sampled in every run."""
    return [
        port
        for port in runs[0].table.entities("queue_bytes")
        if all(run.table.has(port, "queue_bytes") for run in runs)
    ]


def _differences(runs: Sequence[Run], phase: str, *, decides: bool) -> list[Difference]:
    found = []
    tables = [run.result.metrics.get(phase, {}) for run in runs]
    for entity, metrics in tables[0].items():
        for metric in metrics:
            if not all(metric in table.get(entity, {}) for table in tables):
                continue
            values = [table[entity][metric] for table in tables]
            known = [float(value) for value in values if value is not None]
            full = len(known) == len(values)
            found.append(
                Difference(
                    phase=phase,
                    entity=entity,
                    metric=metric,
                    unit=runs[0].result.units.get(metric, ""),
                    values=list(values),
                    difference=rule.spread(known) if full else None,
                    relative=rule.relative(known) if full else None,
                    agree=_fair(metric, known, full)
                    if metric == rule.JAIN and phase == WHOLE_RUN
                    else _agree(runs, entity, metric, known, full)
                    if decides
                    else None,
                )
            )
    return found + _shares(tables, phase)


def _fair(metric: str, known: list[float], full: bool) -> bool:
    """Fairness of the whole run decides: in a phase, equal flows may have unequal shares."""
    return rule.RULES[metric](known) if full else not known


def _shares(tables: Sequence[dict[str, dict[str, float | None]]], phase: str) -> list[Difference]:
    """What share each flow has of its traffic entry, which decides in the whole run: queue and
    utilisation are the same where one flow has all."""
    every = [rule.shares(table) for table in tables]
    found = []
    for entity in every[0]:
        if not all(entity in shares for shares in every):
            continue
        values = [shares[entity] for shares in every]
        found.append(
            Difference(
                phase=phase,
                entity=entity,
                metric=rule.SHARE,
                unit="ratio",
                values=list(values),
                difference=rule.spread(values),
                relative=rule.relative(values),
                agree=rule.shares_agree(values) if phase == WHOLE_RUN else None,
            )
        )
    return found


def _agree(
    runs: Sequence[Run], entity: str, metric: str, known: list[float], full: bool
) -> bool | None:
    """Only ports decide; a value that some runs have and others lack is a disagreement."""
    if metric not in rule.PORTS or not all(run.table.has(entity, "queue_bytes") for run in runs):
        return None
    return rule.RULES[metric](known) if full else not known


def _queue_distance(phase: str, port: str, label: str, first: Run, other: Run) -> QueueDistance:
    samples = []
    for run in (first, other):
        whole = (int(run.times_ps[0]), int(run.times_ps[-1]))
        window = run.table.window(*run.phases.get(phase, whole))
        samples.append(window.gauge(port, "queue_bytes"))
    return QueueDistance(phase, port, label, kolmogorov_smirnov(*samples), wasserstein(*samples))


def _notes(runs: Sequence[Run], labels: Sequence[str]) -> list[str]:
    notes = []
    first = runs[0]
    for label, run in list(zip(labels, runs, strict=True))[1:]:
        if run.result.plan != first.result.plan:
            notes.append(f"{label} ran plan {run.result.plan}, {labels[0]} {first.result.plan}")
        for name in sorted(set(first.phases) ^ set(run.phases)):
            notes.append(f"phase {name} is not in all runs and was left out")
        for name in sorted(set(first.phases) & set(run.phases)):
            if first.phases[name] != run.phases[name]:
                notes.append(f"phase {name} spans other times in {label} than in {labels[0]}")
    for label, run in zip(labels, runs, strict=True):
        if run.result.verdict == "invalid" or run.result.fidelity.get("verdict") == "invalid":
            notes.append(f"{label} is an invalid run: its machine distorted it")
    return notes
