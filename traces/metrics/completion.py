"""Completion times of messages and their slowdowns, by traffic entry and by size class."""

from __future__ import annotations

import numpy as np

from orchestrator.plan.metrics import SIZE_CLASSES
from orchestrator.recording import MessageTable
from traces.metrics.entities import Metrics
from traces.metrics.gauges import percentile

ALL_TRAFFIC = "traffic"
"""The entity that stands for all flows together."""
CLASS_EDGES = (100_000, 10_000_000)
"""Octets: the largest small and the largest medium message (see SIZE_CLASSES)."""
PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


def completions(table: MessageTable, span: tuple[int, int]) -> dict[str, Metrics]:
    """Of every traffic entry with messages, and of all: the messages that began within `span`.

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
    return found


def _classes(done: np.ndarray, sizes: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """All that were completed, and those of each size class (0, 1, 2)."""
    each = [(f"{name}.", done & (sizes == place)) for place, name in enumerate(SIZE_CLASSES)]
    return [("", done), *each]


def _statistics(prefix: str, values: np.ndarray) -> Metrics:
    mean = float(values.mean()) if len(values) else None
    shares = {prefix + name: percentile(values, share) for name, share in PERCENTILES.items()}
    return {f"{prefix}mean": mean, **shares}
