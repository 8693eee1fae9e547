"""What a sweep measured as Parquet: a table of points, in parts, and a table of places.

    points/part-00000.parquet …   a row for each point: axes, place, seed, verdict, metrics
    places.parquet                a row for each place: axes, seeds, of each metric mean and `±`

Rows are in the order of places and seeds, whoever ran them when. A number that a point does not
have is null. What a table holds in memory is one part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.points.axis import Axis
from orchestrator.points.grid import Place
from orchestrator.points.interval import mean_and_half

POINTS, PLACES = "points", "places.parquet"
PART_ROWS = 10_000
HALF = " ±"
"""Behind a metric's name: half the width of the 95 % interval of its mean."""
_SI = {"ps": ("s", 1e-12), "b/s": ("bit/s", 1.0)}
Measured = tuple[int, int, str, dict[str, float]]
"""Place, seed, verdict, column -> number."""


def axis_fields(axes: Sequence[Axis]) -> list[pa.Field]:
    """A column for each axis: numbers in SI units as metrics are, words as they are."""
    return [pa.field(axis.label, pa.string() if axis.words else pa.float64()) for axis in axes]


def si_of(axis: Axis) -> tuple[str, float]:
    """The SI unit of an axis, and what one of its base units is in it."""
    return _SI.get(axis.unit, (axis.unit, 1.0))


def told_of(axis: Axis) -> dict[str, Any]:
    """An axis for those who draw it: its name, what its numbers are, and where they lie."""
    return {
        "key": axis.label,
        "spacing": axis.spacing,
        "unit": si_of(axis)[0],
        "words": axis.words,
    }


def axis_values(axes: Sequence[Axis], place: Place) -> dict[str, Any]:
    """Column -> value of the axes."""
    return {
        axis.label: value.text if axis.words else value.number * si_of(axis)[1]
        for axis, value in zip(axes, place, strict=True)
    }


def write_points(
    folder: Path,
    axes: Sequence[Axis],
    places: Sequence[Place],
    columns: Sequence[str],
    measured: Iterable[Measured],
) -> int:
    """Write the table of points; the number of its rows."""
    fields = [
        *axis_fields(axes),
        pa.field("place", pa.int64()),
        pa.field("seed", pa.int64()),
        pa.field("verdict", pa.string()),
        *(pa.field(name, pa.float64()) for name in columns),
    ]
    schema, rows = pa.schema(fields), 0
    target = folder / POINTS
    target.mkdir()
    lines = (
        axis_values(axes, places[place]) | {"place": place, "seed": seed, "verdict": said} | numbers
        for place, seed, said, numbers in measured
    )
    for part, some in enumerate(_parts(lines, PART_ROWS)):
        table = pa.Table.from_pylist(some, schema=schema)
        pq.write_table(table, target / f"part-{part:05}.parquet", compression="zstd")
        rows += len(some)
    if not rows:
        pq.write_table(schema.empty_table(), target / "part-00000.parquet", compression="zstd")
    return rows


def write_places(
    path: Path,
    axes: Sequence[Axis],
    places: Sequence[Place],
    columns: Sequence[str],
    measured: Iterable[Measured],
) -> None:
    """Write the table of places: of every metric the mean over seeds and half its interval."""
    pairs = [pa.field(n + end, pa.float64()) for n in columns for end in ("", HALF)]
    fields = [*axis_fields(axes), pa.field("place", pa.int64()), pa.field("seeds", pa.int64())]
    schema = pa.schema([*fields, *pairs])
    lines = (_summed(axes, places, place, of) for place, of in _by_place(measured))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for some in _parts(lines, PART_ROWS):
            writer.write_table(pa.Table.from_pylist(some, schema=schema))


def _summed(
    axes: Sequence[Axis], places: Sequence[Place], place: int, of: list[Measured]
) -> dict[str, Any]:
    found: dict[str, list[float]] = {}
    for _, _, _, numbers in of:
        for name, value in numbers.items():
            found.setdefault(name, []).append(value)
    line = axis_values(axes, places[place]) | {"place": place, "seeds": len(of)}
    for name, values in found.items():
        line[name], line[name + HALF] = mean_and_half(values)
    return line


def _by_place(measured: Iterable[Measured]) -> Iterator[tuple[int, list[Measured]]]:
    some: list[Measured] = []
    for one in measured:
        if some and some[0][0] != one[0]:
            yield some[0][0], some
            some = []
        some.append(one)
    if some:
        yield some[0][0], some


def _parts(lines: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    some: list[dict[str, Any]] = []
    for line in lines:
        some.append(line)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some
