"""Divergence of runs in a phase: the first 50 ms from which on their means keep differing.

"Keep": in that window and the three after it (as far as the phase goes), always by more than the
rule allows and always between the same two runs in the same order. Single windows differ by
chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from traces.compare import rule
from traces.runs import Run
from traces.series import utilization

WINDOW_PS = 50 * 10**9
LASTING = 4
"""Windows in a row that must differ."""


def first_parting(runs: Sequence[Run], port: str, metric: str, span: tuple[int, int]) -> int | None:
    """Start (ps) of the window from which on the runs differ; None: only the mean of all does."""
    starts = np.arange(span[0], span[1], WINDOW_PS)
    if len(starts) > 1 and span[1] - starts[-1] < WINDOW_PS // 2:
        starts = starts[:-1]  # a short rest joins the window before it
    edges = np.append(starts, span[1])
    means = np.array([_means(run, port, metric, edges) for run in runs])
    found = [
        index
        for one, other in permutations(range(len(runs)), 2)
        if (index := _first_lasting(means[one], means[other], rule.RULES[metric])) is not None
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
    return next((i for i, one in enumerate(apart) if one and all(apart[i : i + LASTING])), None)


def _means(run: Run, port: str, metric: str, edges: np.ndarray) -> np.ndarray:
    """The run's mean in each window between two edges; the previous one where it has no sample."""
    table = run.table
    if metric == rule.UTILIZATION:
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
