"""`latency.parquet`: histograms of frame latency.

One row per traffic entry, instant and bin that is not empty: `entry`, `until_ps`, `low_ps`,
`high_ps` (not in the bin), `frames` since the run began. Instants are the phases' boundaries and
the run's end. The mean, median and p99 of result.json are of these.
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.errors import BadInput
from orchestrator.recording import Recording
from traces import arrow_arrays
from traces.metrics.latency_histograms import LatencyTable

NUMBERS = ("until_ps", "low_ps", "high_ps", "frames")


def write_latency(path: str | os.PathLike[str], recording: Recording) -> None:
    """Write the histograms of a recording that has some."""
    edges = recording.latency_edges_ps
    found: dict[str, list[np.ndarray]] = {name: [] for name in NUMBERS}
    entries: list[str] = []
    for entry, history in recording.latency.items():
        bins = history[:, : len(edges) - 1]
        marks, places = np.nonzero(bins)
        entries += [entry] * len(marks)
        rows = (recording.latency_marks_ps[marks], edges[places], edges[places + 1])
        for name, values in zip(NUMBERS, (*rows, bins[marks, places]), strict=True):
            found[name].append(values)
    columns = {name: np.concatenate([[], *parts]).astype(np.int64) for name, parts in found.items()}
    encoded = arrow_arrays.dictionary_texts(entries)
    table = pa.table({"entry": encoded, **{n: arrow_arrays.numbers(v) for n, v in columns.items()}})
    pq.write_table(table, path, compression="zstd")


def read_latency(path: str | os.PathLike[str]) -> LatencyTable:
    """The histograms in a file that `write_latency` wrote. Raises BadInput."""
    try:
        table = arrow_arrays.read_parquet(path)
        until, low, high, frames = (arrow_arrays.to_numpy(table[name]) for name in NUMBERS)
        entries = np.array(table["entry"].to_pylist(), dtype=object)
        texts = all(isinstance(entry, str) for entry in entries.tolist())
        if not texts or any(values.dtype != np.int64 for values in (until, low, high, frames)):
            raise KeyError("of another type")
    except (*arrow_arrays.READ_ERRORS, KeyError) as error:
        words = f"cannot be read as latencies that tailback wrote ({error})"
        raise BadInput(os.fspath(path), words) from error
    marks, edges = np.unique(until), np.unique(np.concatenate([low, high]))
    history = {}
    for entry in dict.fromkeys(entries.tolist()):
        mine = entries == entry
        bins = np.zeros((len(marks), max(len(edges) - 1, 0)), np.int64)
        rows, places = np.searchsorted(marks, until[mine]), np.searchsorted(edges, low[mine])
        if (places >= bins.shape[1]).any():
            raise BadInput(os.fspath(path), "has a bin that ends before it begins")
        bins[rows, places] = frames[mine]
        history[entry] = bins
    return LatencyTable(marks, edges, history)
