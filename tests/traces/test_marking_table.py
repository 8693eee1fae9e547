"""The table of marks as a file: a row for each queue, instant and length that frames saw."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from traces.marking_table import write_marking


def test_a_row_has_the_frames_and_how_many_of_them_were_marked(tmp_path: Path) -> None:
    """A bin that no frame saw has no row, even if something else is counted in it."""
    history = np.zeros((2, 3, 2), np.int64)
    history[0] = [[5, 0], [4, 0], [0, 0]]
    history[1] = [[5, 8], [4, 7], [0, 6]]
    other = np.zeros((2, 3, 2), np.int64)
    other[1] = [[0, 1], [9, 0], [9, 0]]
    run: Any = SimpleNamespace(
        latency_edges_ps=np.array([0, 1000, 3000], np.int64),
        latency_marks_ps=np.array([10, 20], np.int64),
        marking={"s.a": history, "s.b": other},
    )
    path = tmp_path / "marking.parquet"
    write_marking(path, run)
    names = ["entity", "until_ps", "low_bytes", "high_bytes", "frames", "ect", "marked"]
    table = pq.read_table(path)
    assert table.column_names == names
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("s.a", 10, 0, 1000, 5, 4, 0),
        ("s.a", 20, 0, 1000, 5, 4, 0),
        ("s.a", 20, 1000, 3000, 8, 7, 6),
        ("s.b", 20, 1000, 3000, 1, 0, 0),
    ]


def test_queues_without_frames_have_no_row(tmp_path: Path) -> None:
    run: Any = SimpleNamespace(
        latency_edges_ps=np.array([0, 1000], np.int64),
        latency_marks_ps=np.array([10], np.int64),
        marking={"s.a": np.zeros((1, 3, 1), np.int64)},
    )
    write_marking(tmp_path / "m", run)
    assert pq.read_table(tmp_path / "m").num_rows == 0
