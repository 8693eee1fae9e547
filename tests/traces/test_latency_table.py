"""Tables of latencies and of marks as files: rows, and what is read back."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.errors import BadInput
from traces.latency_table import read_latency, write_latency
from traces.metrics.latency_histograms import LatencyTable

EDGES = np.array([0, 10, 20, 40, 80], np.int64)
MARKS = np.array([100, 200, 300], np.int64)


def recording(**parts: Any) -> Any:
    return SimpleNamespace(latency_edges_ps=EDGES, latency_marks_ps=MARKS, **parts)


def test_a_row_is_a_bin_that_is_not_empty(tmp_path: Path) -> None:
    """The last column of a histogram holds what lies beyond its edges: it is no bin."""
    latency = {
        "gen": np.array([[0, 2, 0, 0, 9], [1, 2, 0, 5, 9], [1, 2, 0, 6, 9]], np.int64),
        "back": np.array([[0, 0, 0, 0, 0], [0, 0, 3, 0, 0], [0, 0, 3, 0, 0]], np.int64),
    }
    path = tmp_path / "latency.parquet"
    write_latency(path, recording(latency=latency))
    rows = pq.read_table(path).to_pylist()
    names = ["entry", "until_ps", "low_ps", "high_ps", "frames"]
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("gen", 100, 10, 20, 2),
        ("gen", 200, 0, 10, 1),
        ("gen", 200, 10, 20, 2),
        ("gen", 200, 40, 80, 5),
        ("gen", 300, 0, 10, 1),
        ("gen", 300, 10, 20, 2),
        ("gen", 300, 40, 80, 6),
        ("back", 200, 20, 40, 3),
        ("back", 300, 20, 40, 3),
    ]
    found = read_latency(path)
    assert found.marks_ps.tolist() == MARKS.tolist()
    assert found.edges_ps.tolist() == EDGES.tolist()
    assert found.history["gen"].tolist() == latency["gen"][:, :4].tolist()
    assert found.history["back"].tolist() == latency["back"][:, :4].tolist()


def test_a_run_without_frames_has_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "latency.parquet"
    write_latency(path, recording(latency={"gen": np.zeros((3, 5), np.int64)}))
    found = read_latency(path)
    assert (len(found.marks_ps), len(found.edges_ps), found.history) == (0, 0, {})


def damaged(path: Path, **columns: Any) -> str:
    row = {"entry": ["gen"], "until_ps": [1], "low_ps": [2], "high_ps": [3], "frames": [4]}
    table = {name: value for name, value in (row | columns).items() if value is not None}
    pq.write_table(pa.table(table), path)
    with pytest.raises(BadInput) as caught:
        read_latency(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def test_tables_of_another_make_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "latency.parquet"
    assert "has a bin that ends before it begins" in damaged(path, low_ps=[9])
    words = "cannot be read as latencies that tailback wrote"
    assert words in damaged(path, frames=None)
    assert words in damaged(path, frames=[1.5])
    assert words in damaged(path, frames=["x"])
    assert words in damaged(path, entry=None)
    path.write_bytes(b"no table")
    with pytest.raises(BadInput, match=words):
        read_latency(path)
    with pytest.raises(BadInput, match=words):
        read_latency(tmp_path / "gone")


def test_a_phase_has_what_came_between_its_bounds() -> None:
    """Counts go on from the run's beginning: those up to a phase's beginning are taken off."""
    history = {"gen": np.array([[1, 0], [3, 2], [3, 7]], np.int64)}
    table = LatencyTable(MARKS, EDGES[:3], history)
    assert table.within("gen", (0, 100), 0).tolist() == [1, 0]
    assert table.within("gen", (0, 300), 0).tolist() == [3, 7]
    assert table.within("gen", (100, 200), 0).tolist() == [2, 2]
    assert table.within("gen", (100, 300), 0).tolist() == [2, 7]
    assert table.within("gen", (200, 400), 0).tolist() == [0, 5]  # the run ended before the phase
    assert table.within("gen", (400, 500), 0).tolist() == [0, 0]
    assert table.within("gen", (100, 300), 100).tolist() == [3, 7]  # the run began at the phase
    assert history["gen"].tolist() == [[1, 0], [3, 2], [3, 7]]
