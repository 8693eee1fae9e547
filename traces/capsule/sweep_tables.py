"""Comparison of a sweep's tables in a capsule with re-run tables, number by number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.batch.metric_columns import OF, split_column
from orchestrator.batch.parquet_dataset import PARAMETER_POINTS, POINTS
from orchestrator.errors import BadInput
from traces import arrow_arrays
from traces.capsule.tolerance import Tolerance
from traces.capsule.value_comparison import (
    PARAMETER_POINT,
    POINT,
    ComparedValue,
    ComparisonCount,
    is_added_here,
)

KEYS = {POINT: ("place", "seed"), PARAMETER_POINT: ("place",)}
MOST_COLUMNS = 100_000


Tables = dict[str, pa.Table]


def read_tables(folder: Path, points: int, places: int, of: str) -> Tables:
    """Both tables of a sweep, of at most so many rows; `of`: what messages call the capsule.

    Raises BadInput.
    """
    places_too = _read(PARAMETER_POINT, [folder / PARAMETER_POINTS], places, of)
    return read_points(folder, points, of) | {PARAMETER_POINT: places_too}


def read_points(folder: Path, points: int, of: str) -> Tables:
    """The table of points, or of seeds, alone. Raises BadInput."""
    parts = sorted((folder / POINTS).glob("part-*.parquet"))
    return {POINT: _read(POINT, parts, points, of)}


def compare_tables(packed: Tables, here: Tables, tolerance: Tolerance) -> ComparisonCount:
    """Points and places of a sweep, or the points of seeds."""
    count = ComparisonCount()
    for kind in here:
        _compare(packed[kind], here[kind], tolerance, kind, count)
    return count


def _read(kind: str, paths: list[Path], most: int, of: str) -> pa.Table:
    """A table of at most so many rows, each of its columns of a type that such tables have."""
    rows, found = 0, []
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                rows += file.metadata.num_rows
                if rows > most or len(file.schema_arrow) > MOST_COLUMNS:
                    text = f"says it has {rows} rows; this plan makes {most}"
                    raise BadInput(f"{of}: {path.name}", text)
                names = file.schema_arrow.names
                if len(set(names)) < len(names):
                    raise BadInput(f"{of}: {path.name}", "has two columns of one name")
                kinds = {str(field.type) for field in file.schema_arrow}
                if not kinds <= {"double", "int64", "string"} or not set(KEYS[kind]) <= set(names):
                    text = f"holds other types or columns: {', '.join(sorted(kinds))}"
                    raise BadInput(f"{of}: {path.name}", text)
                if any(str(file.schema_arrow.field(one).type) != "int64" for one in KEYS[kind]):
                    raise BadInput(f"{of}: {path.name}", f"{KEYS[kind]} are no whole numbers")
                found.append(file.read())
        except arrow_arrays.READ_ERRORS as error:
            line = str(error).partition("\n")[0]
            raise BadInput(f"{of}: {path.name}", f"cannot be read as parquet ({line})") from None
    try:
        return pa.concat_tables(found)
    except (ValueError, pa.ArrowException):
        raise BadInput(of, f"the parts of {paths[0].parent.name if paths else POINTS} "
                       "are missing or have different columns") from None  # fmt: skip


def _compare(
    packed: pa.Table, here: pa.Table, tolerance: Tolerance, kind: str, count: ComparisonCount
) -> None:
    """Row by row: one holds when all of its numbers do."""
    keys = KEYS[kind]
    theirs, ours = _rows(packed, keys), _rows(here, keys)
    if len(theirs) < packed.num_rows:
        count.add(ComparedValue(kind, "rows that stand twice", packed.num_rows, len(theirs), False))
    for key in sorted(set(theirs) ^ set(ours)):
        said = ("there", "not there") if key in theirs else ("not there", "there")
        count.add(ComparedValue(kind, _called(keys, key), *said, False))
    both = [key for key in ours if key in theirs]
    bad: dict[int, ComparedValue] = {}
    rows = [theirs[key] for key in both], [ours[key] for key in both]
    stated = {split_column(name)[0] for name in packed.column_names if OF in name}
    names = [
        name
        for name in here.column_names
        if OF not in name or not is_added_here(split_column(name)[0], stated)
    ]
    for name in dict.fromkeys((*packed.column_names, *names)):
        for at in _differing(packed, here, name, rows, tolerance):
            pair = _value(packed, name, rows[0][at]), _value(here, name, rows[1][at])
            text = f"{name}, {_called(keys, both[at])}"
            bad.setdefault(at, ComparedValue(kind, text, *pair, False))
    for at in sorted(bad):
        count.add(bad[at])
    count.many(kind, True, len(both) - len(bad))


def _rows(table: pa.Table, keys: tuple[str, ...]) -> dict[tuple[Any, ...], int]:
    columns = [table.column(key).to_pylist() for key in keys]
    found: dict[tuple[Any, ...], int] = {}
    for at, key in enumerate(zip(*columns, strict=True)):
        found.setdefault(tuple(-1 if one is None else one for one in key), at)
    return found


def _called(keys: tuple[str, ...], key: tuple[Any, ...]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(keys, key, strict=True))


def _differing(
    packed: pa.Table,
    here: pa.Table,
    name: str,
    rows: tuple[list[int], list[int]],
    tolerance: Tolerance,
) -> Iterator[int]:
    if (name in packed.column_names) != (name in here.column_names):
        yield from range(len(rows[0]))
        return
    theirs, ours = packed.column(name).take(rows[0]), here.column(name).take(rows[1])
    if theirs.type != ours.type or str(ours.type) == "string":
        pairs = zip(theirs.to_pylist(), ours.to_pylist(), strict=True)
        yield from (at for at, (one, other) in enumerate(pairs) if one != other)
        return
    one, other = (c.to_numpy(zero_copy_only=False).astype(float) for c in (theirs, ours))
    if tolerance.share:
        alike = np.abs(one - other) <= tolerance.share * np.maximum(np.abs(one), np.abs(other))
    else:
        alike = one == other
    yield from np.flatnonzero(~(alike | (np.isnan(one) & np.isnan(other)))).tolist()


def _value(table: pa.Table, name: str, row: int) -> Any:
    return table.column(name)[row].as_py() if name in table.column_names else None
