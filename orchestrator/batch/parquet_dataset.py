"""Parquet files of a sweep: a table of runs, in parts, and a table of parameter points.

    points/part-00000.parquet …   a row for each run: axes, place, seed, verdict, metrics
    places.parquet                a row for each parameter point: axes, seeds, mean and `±` of
    metrics

Rows are in the order of parameter points and seeds, independent of the order of the runs. A missing
number is null. Only one part of a table is held in memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.batch.confidence_interval import mean_and_half
from orchestrator.batch.parameter_axis import Axis
from orchestrator.batch.sample_design import ParameterPoint

POINTS, PARAMETER_POINTS = "points", "places.parquet"
FILE_ROWS = 10_000
"""Rows of a file."""
GROUP_ROWS = 1_000
"""Rows of parameter points that are written at once; they are twice as wide."""
HALF = " ±"
"""Suffix of a metric's column: half the width of the 95 % interval of its mean."""
_SI = {"ps": ("s", 1e-12), "b/s": ("bit/s", 1.0)}
Measured = tuple[int, int, str, dict[str, float]]
"""Index of the parameter point, seed, verdict, column -> number."""
Line = dict[str, Any]


def axis_fields(axes: Sequence[Axis]) -> list[pa.Field]:
    """Column for each axis: numbers in SI units, as metrics are; words unchanged."""
    return [pa.field(axis.label, pa.string() if axis.words else pa.float64()) for axis in axes]


def si_of(axis: Axis) -> tuple[str, float]:
    """The SI unit of an axis, and the factor from its base unit."""
    return _SI.get(axis.unit, (axis.unit, 1.0))


def axis_description(axis: Axis) -> dict[str, Any]:
    """Description of an axis for plots: name, spacing, unit, categorical or not."""
    return {
        "key": axis.label,
        "spacing": axis.spacing,
        "unit": si_of(axis)[0],
        "words": axis.words,
    }


def axis_values(axes: Sequence[Axis], place: ParameterPoint) -> dict[str, Any]:
    """Column -> value of the axes."""
    return {
        axis.label: value.text if axis.words else value.number * si_of(axis)[1]
        for axis, value in zip(axes, place, strict=True)
    }


def write_tables(
    folder: Path,
    axes: Sequence[Axis],
    places: Sequence[ParameterPoint],
    columns: Callable[[], Sequence[str]],
    measured: Callable[[], Iterable[Measured]],
) -> int:
    """Write both tables; the number of points.

    `measured` yields all rows anew, `columns` those of the rows so far. One pass is enough, unless
    a column appears after rows that are written already.
    """
    try:
        return _TableWriter(folder, axes, places, columns).write(measured())
    except _LateColumn:
        shutil.rmtree(folder / POINTS)
        (folder / PARAMETER_POINTS).unlink(missing_ok=True)
    for _ in measured():
        pass  # now all columns are known
    return _TableWriter(folder, axes, places, columns).write(measured())


def write_points(
    folder: Path,
    axes: Sequence[Axis],
    places: Sequence[ParameterPoint],
    columns: Sequence[str],
    measured: Iterable[Measured],
) -> int:
    """Write the table of runs only; returns the number of its rows."""
    points = _RunTable(folder / POINTS, axes, lambda: columns)
    for one in measured:
        points.add(_line(axes, places, one))
    return points.end()


class _LateColumn(Exception):
    """A column appeared after rows that were written without it."""


class _TableWriter:
    """Writer of both tables in one pass over the rows."""

    def __init__(
        self,
        folder: Path,
        axes: Sequence[Axis],
        places: Sequence[ParameterPoint],
        columns: Callable[[], Sequence[str]],
    ) -> None:
        self._axes, self._places, self._columns = axes, places, columns
        self._written: list[str] | None = None
        self._points = _RunTable(folder / POINTS, axes, self._current_columns)
        self._summed = _ParameterPointTable(folder / PARAMETER_POINTS, axes, self._current_columns)

    def write(self, measured: Iterable[Measured]) -> int:
        """Write all rows; returns the number of points. Raises _Late."""
        with self._summed:
            for place, of in groupby(measured, key=itemgetter(0)):
                some = list(of)
                for one in some:
                    self._points.add(_line(self._axes, self._places, one))
                self._summed.add(_summary(self._axes, self._places, place, some))
            rows = self._points.end()
            self._summed.end()
        return rows

    def _current_columns(self) -> Sequence[str]:
        """Columns of the rows, which must not change after the first ones were written."""
        if self._written is None:
            self._written = list(self._columns())
        elif len(self._columns()) > len(self._written):
            raise _LateColumn
        return self._written


class _RunTable:
    """Table of runs, in files of PART_ROWS rows."""

    def __init__(
        self, folder: Path, axes: Sequence[Axis], columns: Callable[[], Sequence[str]]
    ) -> None:
        folder.mkdir()
        self._folder, self._axes, self._columns = folder, axes, columns
        self._lines: list[Line] = []
        self._part = self._rows = 0

    def add(self, line: Line) -> None:
        """Add the row of a run."""
        self._lines.append(line)
        if len(self._lines) == FILE_ROWS:
            self._write()

    def end(self) -> int:
        """Write the last file; returns the number of rows. An empty table is a file as well."""
        if self._lines or not self._part:
            self._write()
        return self._rows

    def _write(self) -> None:
        schema = pa.schema(
            [
                *axis_fields(self._axes),
                pa.field("place", pa.int64()),
                pa.field("seed", pa.int64()),
                pa.field("verdict", pa.string()),
                *(pa.field(name, pa.float64()) for name in self._columns()),
            ]
        )
        table = pa.Table.from_pylist(self._lines, schema=schema)
        path = self._folder / f"part-{self._part:05}.parquet"
        pq.write_table(table, path, compression="zstd")
        self._part, self._rows, self._lines = self._part + 1, self._rows + len(self._lines), []


class _ParameterPointTable:
    """File with a row for each parameter point, closed at the end of a `with` block."""

    def __init__(
        self, path: Path, axes: Sequence[Axis], columns: Callable[[], Sequence[str]]
    ) -> None:
        self._path, self._axes, self._columns = path, axes, columns
        self._lines: list[Line] = []
        self._file: pq.ParquetWriter | None = None

    def add(self, line: Line) -> None:
        """Add the row of a parameter point."""
        self._lines.append(line)
        if len(self._lines) == GROUP_ROWS:
            self._write()

    def end(self) -> None:
        """Write the remaining rows."""
        if self._lines or self._file is None:
            self._write()

    def __enter__(self) -> _ParameterPointTable:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self) -> None:
        columns = self._columns()
        if self._file is None:
            pairs = [pa.field(n + end, pa.float64()) for n in columns for end in ("", HALF)]
            counts = [pa.field(name, pa.int64()) for name in ("place", "seeds")]
            schema = pa.schema([*axis_fields(self._axes), *counts, *pairs])
            self._file = pq.ParquetWriter(self._path, schema, compression="zstd")
        self._file.write_table(pa.Table.from_pylist(self._lines, schema=self._file.schema))
        self._lines = []


def _line(axes: Sequence[Axis], places: Sequence[ParameterPoint], one: Measured) -> Line:
    place, seed, said, numbers = one
    values = axis_values(axes, places[place])
    return values | {"place": place, "seed": seed, "verdict": said} | numbers


def _summary(
    axes: Sequence[Axis], places: Sequence[ParameterPoint], place: int, of: Sequence[Measured]
) -> Line:
    found: dict[str, list[float]] = {}
    for _, _, _, numbers in of:
        for name, value in numbers.items():
            found.setdefault(name, []).append(value)
    line = axis_values(axes, places[place]) | {"place": place, "seeds": len(of)}
    for name, values in found.items():
        line[name], line[name + HALF] = mean_and_half(values)
    return line
