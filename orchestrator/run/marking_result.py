"""Marking over queue length, for `result.json`: what congestion points saw, marked, and are set to.

Eight bins for each factor of two; `marking.parquet` has 32, at every phase boundary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.assembly.marking_histograms import marked_queues
from orchestrator.assembly.row_index import Indices
from orchestrator.plan import ResolvedPlan
from orchestrator.recording import Recording

FINE_BINS = 4
"""Bins of the recording in one of these."""
COLUMNS = ("low_bytes", "high_bytes", "frames", "ect", "marked")


def marking_result(resolved: ResolvedPlan, recording: Recording) -> dict[str, Any]:
    """Queue -> `columns`, `rows` of the bins that have frames over the whole run, and `curve`, the
    points (octets, chance) that its congestion point is set to, None where it goes by more than the
    queue's length. Empty for a recording without marking queues."""
    if not recording.marking:
        return {}
    curves: dict[str, list[list[float]] | None] = {}
    for queue in marked_queues(resolved, Indices(resolved.plan)):
        use = resolved.use("congestion_point", queue.holder)
        points = None if use is None else use.params.marking_curve()
        curve = None if points is None else [[octets, chance] for octets, chance in points]
        curves.setdefault(queue.table, curve)
    return {
        table: {
            "columns": list(COLUMNS),
            "rows": _rows(history[-1], recording.latency_edges_ps),
            "curve": curves.get(table),
        }
        for table, history in recording.marking.items()
    }


def _rows(counts: np.ndarray, edges: np.ndarray) -> list[list[int]]:
    """Rows of int64[3, bins] as in COLUMNS: [low, high) in octets, frames, ECN-capable, marked."""
    coarse = counts.reshape(counts.shape[0], -1, FINE_BINS).sum(axis=2)
    low, high = edges[:-1:FINE_BINS], edges[FINE_BINS::FINE_BINS]
    table = np.column_stack([low, high, coarse.T])
    found: list[list[int]] = table[coarse[0] > 0].tolist()
    return found
