"""Significance test: do runs differ by more than the spread of seeds?

A phase that is one short event (the climb after a service rate has risen) comes out differently
with every seed, by more than `agreement_criterion` allows. Seeds of the simulated target, which
nothing disturbs, tell by how much: a difference is by chance when every run's value lies within
`DEVIATIONS` standard deviations of the seeds' mean (of one more value to come, so that few seeds
count for less) and more than `RARE` of the seeds' own pairs differ by the same rule. Where seeds
agree among themselves nothing is excused. What two runs show by chance can still hide a small
difference of their targets: only many runs of each tell it.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.progress import Report
from traces.compare import agreement_criterion
from traces.compare.comparison_result import Comparison, Difference, SeedSignificance

if TYPE_CHECKING:
    from orchestrator.batch.result_store import Store

LEAST_SEEDS, MOST_SEEDS = 5, 1000
DEVIATIONS = 3.0
RARE = 0.05


def assess_significance(
    comparison: Comparison,
    plan_text: str,
    seeds: int,
    progress: Report,
    store: Store | None = None,
) -> None:
    """Fill `comparison.chances` for what differs; `plan_text` is run with seeds 1 to `seeds`.

    These are points as those of `run --seeds`; what the `store` has of them is not run. Raises
    Refused where the plan cannot be simulated, BadInput for fewer than LEAST_SEEDS.
    """
    if not LEAST_SEEDS <= seeds <= MOST_SEEDS:
        raise BadInput("--seeds", f"{seeds}; expected {LEAST_SEEDS} to {MOST_SEEDS}")
    apart = [one for one in comparison.differences if one.agree is False]
    if not apart:
        return
    metrics = _simulated(plan_text, seeds, progress, store)
    comparison.chances = [seed_significance(one, _values(one, metrics)) for one in apart]


def _simulated(
    plan_text: str, seeds: int, progress: Report, store: Store | None
) -> list[dict[str, Any]]:
    """Metrics by phase and entity of each seed."""
    from orchestrator.batch import batch_executor
    from orchestrator.batch.experiment import SIMULATED, Experiment, Point

    subject = Experiment.of(Plan.load(plan_text), SIMULATED)
    points = [Point(subject, seed) for seed in range(1, seeds + 1)]
    found = batch_executor.run_points(points, store=store, progress=progress)
    return [one.row["metrics"] for one in found]


def _values(one: Difference, metrics: Sequence[dict[str, Any]]) -> list[float]:
    """The metric in each seed that has it."""
    if one.metric == agreement_criterion.SHARE:
        every = [agreement_criterion.shares(table.get(one.phase, {})) for table in metrics]
        return [shares[one.entity] for shares in every if one.entity in shares]
    return [
        float(value)
        for table in metrics
        if (value := table.get(one.phase, {}).get(one.entity, {}).get(one.metric)) is not None
    ]


def seed_significance(one: Difference, known: Sequence[float]) -> SeedSignificance:
    """Significance of a difference, given the values of seeds."""
    if len(known) < LEAST_SEEDS:
        return SeedSignificance(
            one.phase, one.entity, one.metric, None, None, None, None, [], False
        )
    pairs = list(itertools.combinations(known, 2))
    share = sum(not agreement_criterion.RULES[one.metric](pair) for pair in pairs) / len(pairs)
    mean = statistics.fmean(known)
    deviation = statistics.stdev(known) * math.sqrt(1 + 1 / len(known))
    away = [None if value is None else _away(value - mean, deviation) for value in one.values]
    near = all(far is not None and far <= DEVIATIONS for far in away)
    least, most = min(known), max(known)
    excused = near and share > RARE
    return SeedSignificance(
        one.phase, one.entity, one.metric, least, most, mean, share, away, excused
    )


def _away(distance: float, deviation: float) -> float | None:
    """Standard deviations; None where every seed gives the same and this is another value."""
    if deviation == 0:
        return 0.0 if distance == 0 else None
    return abs(distance) / deviation
