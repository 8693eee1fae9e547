"""The tables of a sweep are written while its rows go by, whenever a column turns up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from orchestrator.batch import parquet_dataset
from orchestrator.batch.confidence_interval import mean_and_half
from orchestrator.batch.parameter_axis import read_axes
from orchestrator.batch.parquet_dataset import HALF, Measured, write_tables
from orchestrator.batch.sample_design import Design, parameter_points

AXES = read_axes(["sources=1,2,3,4,5,6"], "--over", {"sources": "traffic.gen.flows"})
PLACES = parameter_points(AXES, 6, Design.grid, "--over")
SEEDS = 2


class Rows:
    """Of each place two; a place has the columns c0 … cN of its number, if they `grow`."""

    def __init__(self, grow: bool) -> None:
        self.walks = 0
        self._grow = grow
        self._seen: dict[str, None] = {}

    def __call__(self) -> Iterator[Measured]:
        self.walks += 1
        for place in range(len(PLACES)):
            for seed in range(1, SEEDS + 1):
                numbers = {f"c{n}": 10.0 * place + seed + n for n in self._of(place)}
                self._seen |= dict.fromkeys(numbers)
                yield place, seed, "met", numbers

    def columns(self) -> list[str]:
        return list(self._seen)

    def _of(self, place: int) -> range:
        return range(place + 1) if self._grow else range(3)


@pytest.mark.parametrize(
    ("grow", "part", "walks"), [(False, 3, 1), (False, 100, 1), (True, 100, 1), (True, 3, 3)]
)
def test_one_walk_is_enough_but_where_a_column_comes_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grow: bool, part: int, walks: int
) -> None:
    monkeypatch.setattr(parquet_dataset, "FILE_ROWS", part)
    monkeypatch.setattr(parquet_dataset, "GROUP_ROWS", part)
    rows = Rows(grow)
    assert write_tables(tmp_path, AXES, PLACES, rows.columns, rows) == len(PLACES) * SEEDS
    assert rows.walks == walks
    files = sorted((tmp_path / "points").iterdir())
    assert [path.name for path in files] == [
        f"part-{n:05}.parquet" for n in range(-(-len(PLACES) * SEEDS // part))
    ]
    whole = Rows(grow)
    every = list(whole())
    columns = whole.columns()
    assert pq.read_table(tmp_path / "points").to_pylist() == [
        {"sources": float(place + 1), "place": place, "seed": seed, "verdict": said}
        | {name: numbers.get(name) for name in columns}
        for place, seed, said, numbers in every
    ]
    assert pq.read_table(tmp_path / "places.parquet").to_pylist() == [
        summed(place, columns, every) for place in range(len(PLACES))
    ]


def summed(place: int, columns: list[str], every: list[Measured]) -> dict[str, Any]:
    """What the table of places is to say of one."""
    mine = [numbers for at, _, _, numbers in every if at == place]
    line: dict[str, Any] = {"sources": float(place + 1), "place": place, "seeds": len(mine)}
    for name in columns:
        values = [numbers[name] for numbers in mine if name in numbers]
        line[name], line[name + HALF] = mean_and_half(values)
    return line


def test_no_row_is_a_table_as_well(tmp_path: Path) -> None:
    assert write_tables(tmp_path, AXES, PLACES, list, lambda: iter(())) == 0
    for name in ("points", "places.parquet"):
        assert pq.read_table(tmp_path / name).num_rows == 0
