"""`marking.parquet`: frames that congestion points saw and marked, by the length of their queue.

One row per queue, instant and bin that is not empty: `entity`, `until_ps`, `low_bytes`,
`high_bytes` (not in the bin), and since the run began `frames` that the congestion point saw, `ect`
of these that were ECN-capable and had no mark, `marked` by it. The length is that without the
frame. Instants are the phases' boundaries and the run's end.
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.recording import Recording
from traces import arrow_arrays

NUMBERS = ("until_ps", "low_bytes", "high_bytes", "frames", "ect", "marked")


def write_marking(path: str | os.PathLike[str], recording: Recording) -> None:
    """Write the tables of a recording that has some."""
    edges = recording.latency_edges_ps
    found: dict[str, list[np.ndarray]] = {name: [] for name in NUMBERS}
    entities: list[str] = []
    for entity, history in recording.marking.items():
        marks, places = np.nonzero(history[:, 0])
        entities += [entity] * len(marks)
        bins = (recording.latency_marks_ps[marks], edges[places], edges[places + 1])
        counts = (history[marks, row, places] for row in range(history.shape[1]))
        for name, values in zip(NUMBERS, (*bins, *counts), strict=True):
            found[name].append(values)
    columns = {name: np.concatenate([[], *parts]).astype(np.int64) for name, parts in found.items()}
    encoded = arrow_arrays.dictionary_texts(entities)
    table = pa.table(
        {"entity": encoded, **{n: arrow_arrays.numbers(v) for n, v in columns.items()}}
    )
    pq.write_table(table, path, compression="zstd")
