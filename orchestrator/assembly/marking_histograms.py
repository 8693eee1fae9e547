"""Marking histograms: what a marking congestion point saw and marked, by the length of its queue.

They are rows of the array of latency histograms behind those of the traffic entries, three for
each table, and have the same bins, of octets instead of ps: 32 for each factor of two. So they are
copied at phase boundaries, carried between processes and added up as latencies are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator.assembly.row_index import Indices
from orchestrator.plan import ResolvedPlan
from orchestrator.plan.entity_names import is_ours
from orchestrator.plan.plugin_catalog import Use

COUNTS = ("frames", "ect", "marked")
"""Rows of a table: frames that the congestion point saw, acknowledgements included; of these,
ECN-capable ones without CE; those whose mark it changed."""
MOST_TABLES = 128
"""Queues that have a table each; where more mark, those of equal parameters share one."""


@dataclass(frozen=True)
class MarkedQueue:
    """A queue whose congestion point marks, as results name it, and the table it counts in."""

    queue: str
    holder: str
    """Its port or input, without the lane."""
    table: str
    row: int
    """First of the rows of that table."""
    leaving: bool
    """True if it looks at frames as they leave; else as they arrive."""


def marked_queues(resolved: ResolvedPlan, indices: Indices) -> list[MarkedQueue]:
    """Every queue of a plan whose congestion point marks, in the order of the queues."""
    found = [
        (name, holder, use)
        for holder, use in _marking(resolved, indices)
        for name in indices.buffers[holder]
    ]
    tables = [name for name, _, _ in found]
    if len(found) > MOST_TABLES:
        kinds: dict[tuple[str, str], str] = {}
        for _, _, use in found:
            called = use.algorithm.name
            number = 1 + sum(name == called for name, _ in kinds)
            text = called if number == 1 else f"{called} {number}"
            kinds.setdefault((called, repr(use.params.to_table())), text)
        tables = [kinds[use.algorithm.name, repr(use.params.to_table())] for _, _, use in found]
    first = max(len(indices.groups), 1)
    rows = {table: first + len(COUNTS) * n for n, table in enumerate(dict.fromkeys(tables))}
    return [
        MarkedQueue(name, holder, table, rows[table], _looks_at_leaving(use))
        for (name, holder, use), table in zip(found, tables, strict=True)
    ]


def histogram_rows(resolved: ResolvedPlan, indices: Indices) -> int:
    """Rows of the array of histograms: of the traffic entries, and of all tables."""
    last = max((queue.row for queue in marked_queues(resolved, indices)), default=None)
    return max(len(indices.groups), 1) if last is None else last + len(COUNTS)


def marking_tables(
    resolved: ResolvedPlan, indices: Indices, histograms: np.ndarray
) -> dict[str, np.ndarray]:
    """Table -> int64[marks, 3, bins] of histograms int64[marks, rows, bins], for those with any."""
    rows = {queue.table: queue.row for queue in marked_queues(resolved, indices)}
    tables = {name: histograms[:, row : row + len(COUNTS)] for name, row in rows.items()}
    return {name: table for name, table in tables.items() if table.any()}


def _marking(resolved: ResolvedPlan, indices: Indices) -> Iterator[tuple[str, Use]]:
    for holder in indices.buffers:
        use = resolved.use("congestion_point", holder)
        ours = is_ours(resolved.plan, indices.port_of[holder].node)
        if use is not None and ours and use.params.marks():
            yield holder, use


def _looks_at_leaving(use: Use) -> bool:
    """True if an algorithm judges frames as they leave: it has no kernel for those that arrive, or
    that one does nothing with its parameters."""
    return "arrival" not in use.algorithm.kernels or "arrival" in use.params.needless()
