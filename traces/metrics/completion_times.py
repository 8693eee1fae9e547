"""Completion times of messages and their slowdowns, by traffic entry and by size class."""

from __future__ import annotations

import numpy as np

from orchestrator.plan.metric_registry import SIZE_CLASSES
from orchestrator.recording import MessageTable
from traces.metrics.entity_metrics import Metrics
from traces.metrics.sample_statistics import percentile

ALL_TRAFFIC = "traffic"
"""The entity that stands for all flows together."""
CLASS_EDGES = (100_000, 10_000_000)
"""Octets: the largest small and the largest medium message (see SIZE_CLASSES)."""
NEVER = np.iinfo(np.int64).max
PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def completions(table: MessageTable, span: tuple[int, int]) -> dict[str, Metrics]:
    """Metrics of every traffic entry with messages, and of all: messages that began within `span`.

    What was not completed by the end of the run has no completion time; the counts tell how many.
    """
    entries = np.array([entry for _, entry in table.flows], dtype=object)[table.flow]
    began = (table.start_ps >= span[0]) & (table.start_ps < span[1])
    fct, slowdown = table.fct_s(), table.slowdown()
    found: dict[str, Metrics] = {}
    for entity in [*dict.fromkeys(entries.tolist()), ALL_TRAFFIC]:
        mine = began if entity == ALL_TRAFFIC else began & (entries == entity)
        done = mine & (table.done_ps >= 0)
        measured: Metrics = {
            "messages.started": int(mine.sum()),
            "messages.completed": int(done.sum()),
        }
        sizes = np.searchsorted(CLASS_EDGES, table.size)
        for prefix, kept in _classes(done, sizes):
            if prefix == "" or kept.any():
                measured |= _statistics(f"fct_s.{prefix}", fct[kept])
                measured |= _statistics(f"slowdown.{prefix}", slowdown[kept])
        found[entity] = measured
    for entity, measured in _collectives(table, entries, span).items():
        found[entity] |= measured
    return found


def _collectives(
    table: MessageTable, entries: np.ndarray, span: tuple[int, int]
) -> dict[str, Metrics]:
    """Metrics of every entry with rounds: those that began within `span`, and their steps."""
    if table.round is None or table.step is None:
        return {}
    found: dict[str, Metrics] = {}
    for entity in dict.fromkeys(entries[table.round >= 0].tolist()):
        mine = np.flatnonzero((entries == entity) & (table.round >= 0))
        rounds = _spells(table, mine, table.round[mine], span)
        each = table.round[mine] * (1 + table.step.max()) + table.step[mine]
        steps = _spells(table, mine, each, span)
        found[entity] = {
            "collectives.started": len(rounds),
            "collectives.completed": int((~np.isnan(rounds)).sum()),
            **_statistics("collective_s.", rounds[~np.isnan(rounds)]),
            **_statistics("collective_step_s.", steps[~np.isnan(steps)]),
        }
    return found


def _spells(
    table: MessageTable, rows: np.ndarray, each: np.ndarray, span: tuple[int, int]
) -> np.ndarray:
    """Seconds from the first begin to the last arrival of the messages `rows` that are of one of
    `each`, for all that began within `span`; NaN where one of them is not complete."""
    _, group = np.unique(each, return_inverse=True)
    first = np.full(group.max() + 1, NEVER, np.int64)
    last, whole = np.zeros(len(first), np.int64), np.ones(len(first), bool)
    begun = table.start_ps[rows] >= 0
    np.minimum.at(first, group[begun], table.start_ps[rows][begun])
    np.maximum.at(last, group, table.done_ps[rows])
    np.logical_and.at(whole, group, table.done_ps[rows] >= 0)
    within = (first >= span[0]) & (first < span[1])
    return np.where(whole, (last - first) / 1e12, np.nan)[within]


def _classes(done: np.ndarray, sizes: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """All that were completed, and those of each size class (0, 1, 2)."""
    each = [(f"{name}.", done & (sizes == place)) for place, name in enumerate(SIZE_CLASSES)]
    return [("", done), *each]


def _statistics(prefix: str, values: np.ndarray) -> Metrics:
    mean = float(values.mean()) if len(values) else None
    shares = {prefix + name: percentile(values, share) for name, share in PERCENTILES.items()}
    return {f"{prefix}mean": mean, **shares}
