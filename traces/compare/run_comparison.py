"""Comparison of runs by phase, entity and metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from orchestrator.errors import BadInput
from traces.compare import agreement_criterion
from traces.compare.comparison_result import Comparison, Difference, Divergence, QueueDistance
from traces.metrics.sample_table import PS, RUN_PHASE
from traces.run_reader import Run
from traces.time_series import utilization


def _cumulative_shares(
    first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All distinct values, and each sample's share that is at most that value."""
    values = np.unique(np.concatenate([first, second]))
    shares = [
        np.searchsorted(np.sort(samples), values, side="right") / len(samples)
        for samples in (first, second)
    ]
    return values, shares[0], shares[1]


def kolmogorov_smirnov(first: np.ndarray, second: np.ndarray) -> float | None:
    """The largest difference of the two distribution functions, 0 to 1."""
    if not len(first) or not len(second):
        return None
    _, one, other = _cumulative_shares(first, second)
    return float(np.abs(one - other).max())


def wasserstein(first: np.ndarray, second: np.ndarray) -> float | None:
    """1-Wasserstein (earth mover's) distance, in the unit of the samples.

    The area between the two distribution functions: by how much a value must be moved on average
    to turn one sample's distribution into the other's.
    """
    if not len(first) or not len(second):
        return None
    values, one, other = _cumulative_shares(first, second)
    return float(np.dot(np.abs(one - other)[:-1], np.diff(values)))


# Divergence of runs in a phase: the first 50 ms from which on their means keep differing.
#
# "Keep": in that window and the three after it (as far as the phase goes), always by more than the
# rule allows and always between the same two runs in the same order. Single windows differ by
# chance.

WINDOW_PS = 50 * 10**9
MIN_WINDOWS = 4
"""Windows in a row that must differ."""


def first_divergence(
    runs: Sequence[Run], port: str, metric: str, span: tuple[int, int]
) -> int | None:
    """Start (ps) of the window from which on the runs differ; None: only the mean of all does."""
    starts = np.arange(span[0], span[1], WINDOW_PS)
    if len(starts) > 1 and span[1] - starts[-1] < WINDOW_PS // 2:
        starts = starts[:-1]  # a short rest joins the window before it
    edges = np.append(starts, span[1])
    means = np.array([_means(run, port, metric, edges) for run in runs])
    found = [
        index
        for one, other in permutations(range(len(runs)), 2)
        if (index := _first_lasting(means[one], means[other], agreement_criterion.RULES[metric]))
        is not None
    ]
    return int(starts[min(found)]) if found else None


def _first_lasting(
    low: np.ndarray, high: np.ndarray, agree: Callable[[Sequence[float]], bool]
) -> int | None:
    """First window from which on `low` stays below `high` by more than the rule allows."""
    apart = [
        one < other and not agree((one, other))
        for one, other in zip(low.tolist(), high.tolist(), strict=True)
    ]
    return next((i for i, one in enumerate(apart) if one and all(apart[i : i + MIN_WINDOWS])), None)


def _means(run: Run, port: str, metric: str, edges: np.ndarray) -> np.ndarray:
    """The run's mean in each window between two edges; the previous one where it has no sample."""
    table = run.table
    if metric == agreement_criterion.UTILIZATION:
        rows = np.minimum(np.searchsorted(table.times_ps, edges), len(table.times_ps) - 1)
        return utilization(table, port, rows)[1]
    grid = np.flatnonzero(table.on_grid)
    cuts = np.searchsorted(table.times_ps[grid], edges)
    total = np.concatenate([[0], np.cumsum(table.column(port, "queue_bytes")[grid])])
    count = np.diff(cuts)
    sums = np.diff(total[cuts]).astype(float)
    means = np.divide(sums, count, out=np.zeros(len(count)), where=count > 0)
    for index in np.flatnonzero(count == 0):
        means[index] = means[index - 1] if index else 0.0
    return means


def compare(runs: Sequence[Run]) -> Comparison:
    """Compare runs of the same plan (or of plans with phases and ports of the same names)."""
    if len(runs) < 2:
        raise BadInput("compare", f"{len(runs)} run given; it takes two or more")
    labels = numbered_labels([run.label for run in runs])
    notes = _notes(runs, labels)
    spans = {
        name: span
        for name, span in runs[0].phases.items()
        if all(name in run.phases and name in run.result.metrics for run in runs)
    }
    # the whole run holds the start-up too: where there are phases, they decide
    deciding = set(spans) or {RUN_PHASE}
    differences = [
        one
        for phase in (*spans, RUN_PHASE)
        for one in _differences(runs, phase, decides=phase in deciding)
    ]
    decided = [one for one in differences if one.agree is not None]
    if not decided:
        raise BadInput("compare", "the runs have no phase and port in common to compare")
    spans.setdefault(RUN_PHASE, (int(runs[0].times_ps[0]), int(runs[0].times_ps[-1])))
    parted = next((one for one in decided if not one.agree), None)
    parting = None
    if parted is not None:
        time = None
        if parted.metric in agreement_criterion.PORTS:
            at = first_divergence(runs, parted.entity, parted.metric, spans[parted.phase])
            time = None if at is None else at / PS
        parting = Divergence(parted.phase, parted.entity, parted.metric, time)
    queues = [
        _queue_distance(phase, port, label, runs[0], run)
        for phase in spans
        for port in common_ports(runs)
        for label, run in list(zip(labels, runs, strict=True))[1:]
    ]
    return Comparison(labels, differences, queues, parting, notes)


def numbered_labels(labels: list[str]) -> list[str]:
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
                    difference=agreement_criterion.spread(known) if full else None,
                    relative=agreement_criterion.relative(known) if full else None,
                    agree=_fair(metric, known, full)
                    if metric == agreement_criterion.JAIN and phase == RUN_PHASE
                    else _agree(runs, entity, metric, known, full)
                    if decides
                    else None,
                )
            )
    return found + _shares(tables, phase)


def _fair(metric: str, known: list[float], full: bool) -> bool:
    """Fairness of the whole run decides: in a phase, equal flows may have unequal shares."""
    return agreement_criterion.RULES[metric](known) if full else not known


def _shares(tables: Sequence[dict[str, dict[str, float | None]]], phase: str) -> list[Difference]:
    """What share each flow has of its traffic entry, which decides in the whole run: queue and
    utilisation are the same where one flow has all."""
    every = [agreement_criterion.shares(table) for table in tables]
    found = []
    for entity in every[0]:
        if not all(entity in shares for shares in every):
            continue
        values = [shares[entity] for shares in every]
        found.append(
            Difference(
                phase=phase,
                entity=entity,
                metric=agreement_criterion.SHARE,
                unit="ratio",
                values=list(values),
                difference=agreement_criterion.spread(values),
                relative=agreement_criterion.relative(values),
                agree=agreement_criterion.shares_agree(values) if phase == RUN_PHASE else None,
            )
        )
    return found


def _agree(
    runs: Sequence[Run], entity: str, metric: str, known: list[float], full: bool
) -> bool | None:
    """Only ports decide; a value that some runs have and others lack is a disagreement."""
    if metric not in agreement_criterion.PORTS or not all(
        run.table.has(entity, "queue_bytes") for run in runs
    ):
        return None
    return agreement_criterion.RULES[metric](known) if full else not known


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
