"""A sweep's folder as it is read for maps and curves: columns, axes, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.batch.parquet_dataset import HALF, PARAMETER_POINTS
from orchestrator.errors import BadInput
from traces.sweep_results import LOG_FROM, SweepResults


def axis(key: str, **changes: Any) -> dict[str, Any]:
    return {"key": key, "words": False, "unit": "bit/s", "spacing": "list"} | changes


def sweep(folder: Path, axes: list[dict[str, Any]], design: str = "grid", **columns: Any) -> Any:
    (folder / "sweep.json").write_text(json.dumps({"design": design, "axes": axes}))
    pq.write_table(pa.table(columns), folder / PARAMETER_POINTS)
    return SweepResults(folder)


def test_means_and_half_intervals_are_columns_without_numbers_where_there_are_none(
    tmp_path: Path,
) -> None:
    found = sweep(
        tmp_path, [], **{"m": [1.0, None, 3.0], f"m{HALF}": [0.5, 0.25, None], "n": [1] * 3}
    )
    assert found.mean("m")[[0, 2]].tolist() == [1.0, 3.0]
    assert np.isnan(found.mean("m")[1])
    assert found.half("m")[:2].tolist() == [0.5, 0.25]
    assert np.isnan(found.half("m")[2])
    assert found.column("n").dtype == float


def test_an_axis_of_numbers_has_their_values_and_texts(tmp_path: Path) -> None:
    found = sweep(tmp_path, [axis("r")], r=[2e6, 1e6, 2e6])
    (one,) = found.sweep_axes
    assert (one.key, one.is_log) == ("r", False)
    assert one.at.tolist() == [2e6, 1e6, 2e6]
    assert one.values.tolist() == [1e6, 2e6]
    assert one.texts == {1e6: "1 Mb/s", 2e6: "2 Mb/s"}


def test_an_axis_of_words_has_them_in_their_order(tmp_path: Path) -> None:
    found = sweep(tmp_path, [axis("w", words=True)], w=["b", "a", "b", "c"])
    (one,) = found.sweep_axes
    assert one.at.tolist() == [0.0, 1.0, 0.0, 2.0]
    assert one.texts == {0.0: "b", 1.0: "a", 2.0: "c"}
    assert not one.is_log


@pytest.mark.parametrize(
    ("spacing", "values", "is_log"),
    [
        ("log", [1e6, 2e6], True),
        ("list", [1e6, LOG_FROM * 1e6], True),
        ("list", [1e6, (LOG_FROM - 1) * 1e6], False),
        ("linear", [1e6, 1e9], False),
        ("log", [0.0, 1e6], False),
        ("list", [-1e6, 1e9], False),
        ("log", [], False),
    ],
)
def test_an_axis_is_logarithmic_by_its_spacing_or_its_span(
    tmp_path: Path, spacing: str, values: list[float], is_log: bool
) -> None:
    (one,) = sweep(
        tmp_path, [axis("r", spacing=spacing)], r=pa.array(values, pa.float64())
    ).sweep_axes
    assert one.is_log == is_log
    wanted = np.log10(values) if is_log else np.array(values)
    assert one.at.tolist() == pytest.approx(wanted.tolist())
    assert sorted(one.texts) == pytest.approx(sorted(set(wanted.tolist())))


def test_parameters_that_a_search_bisected_come_first(tmp_path: Path) -> None:
    axes = [axis("a"), axis("b", halved=True), axis("c"), axis("d", halved=True)]
    found = sweep(tmp_path, axes, "search", a=[1.0], b=[1.0], c=[1.0], d=[1.0])
    assert [one.key for one in found.sweep_axes] == ["b", "d", "a", "c"]
    assert (found.halved, found.is_grid) == (2, False)
    plain = sweep(tmp_path, [axis("a")], a=[1.0])
    assert (plain.halved, plain.is_grid) == (0, True)


def test_folders_that_are_no_sweep_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no sweep is there: No such file"):
        SweepResults(tmp_path)
    for text in ("no json", "[" * 100_000):
        (tmp_path / "sweep.json").write_text(text)
        with pytest.raises(BadInput, match="is not JSON"):
            SweepResults(tmp_path)
