"""`samples.parquet`: one row per sample, one series after another.

Columns: time_ps (int64), node, entity, quantity, unit (dictionary-encoded text), value (int64:
everything that is sampled is a whole number of its unit). The same recording gives the same
bytes. The file's metadata (key `tailback`) lists the series in order, with what the rows cannot
tell: whether a series is a gauge or a counter.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import fields
from inspect import signature
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.errors import BadInput
from orchestrator.plan.input_problems import near
from orchestrator.recording import Column, Recording
from traces import arrow_arrays

MOST = 2**29
"""Values of a file that are read: 8 GB. A few octets of parquet can say that there are more."""
FORMAT = 1
METADATA_KEY = b"tailback"
TEXTS = ("node", "entity", "quantity", "unit")
NARROWED_BY = ("time_ps", "node", "entity", "value")
"""Columns of which a row group says what lies in it: readers of some entities skip the others."""
BATCH_ROWS = 1 << 20
"""Rows of one row group, at most, when a series is not longer than that."""
BATCH_VALUES = 1 << 16
"""Values encoded at once: with pyarrow's 1024 the same file takes a third longer."""
PAGES = (
    {"max_rows_per_page": BATCH_VALUES}
    if "max_rows_per_page" in signature(pq.ParquetWriter).parameters
    else {}
)
"""Where pages end after 20 000 rows if nothing else is said: larger by a tenth, and a fifth slower.
Versions of pyarrow without that option end pages by their size alone."""


def write_samples(path: str | os.PathLike[str], recording: Recording) -> None:
    """Write all samples of a recording."""
    rows, columns = len(recording.times_ps), recording.columns
    header = {
        "format": FORMAT,
        "rows": rows,
        "columns": [_described(c) for c in columns],
    }
    schema = pa.schema(
        [
            pa.field("time_ps", pa.int64(), nullable=False),
            *(_text(name) for name in TEXTS[:3]),
            pa.field("value", pa.int64(), nullable=False),
            _text("unit"),
        ],
        metadata={METADATA_KEY: json.dumps(header, separators=(",", ":"))},
    )
    codes = {name: _encoded([getattr(c, name) for c in columns]) for name in TEXTS}
    per_batch = max(BATCH_ROWS // max(rows, 1), 1)
    # filled for each batch anew: what a writer was handed it has encoded
    room = {name: np.empty((min(per_batch, len(columns)), rows), np.int32) for name in TEXTS}
    room |= {name: np.empty(room["node"].shape, np.int64) for name in ("time_ps", "value")}
    room["time_ps"][:] = recording.times_ps
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=list(TEXTS),
        write_statistics=[*NARROWED_BY],
        write_batch_size=BATCH_VALUES,
        **PAGES,
        column_encoding={"time_ps": "DELTA_BINARY_PACKED", "value": "DELTA_BINARY_PACKED"},
    ) as writer:
        for first in range(0, len(columns), per_batch):
            some = slice(first, min(first + per_batch, len(columns)))
            batch = {name: array[: some.stop - first] for name, array in room.items()}
            batch["value"][:] = recording.values[:, some].T
            for name, (index, _) in codes.items():
                batch[name][:] = index[some, None]
            arrays: dict[str, Any] = {
                n: arrow_arrays.numbers(a.reshape(-1)) for n, a in batch.items()
            }
            for name, (_, texts) in codes.items():
                arrays[name] = pa.DictionaryArray.from_arrays(arrays[name], texts)
            writer.write_table(pa.table([arrays[name] for name in schema.names], schema=schema))


def _text(name: str) -> pa.Field:
    """A column of few texts; that none is missing spares a mark beside each value."""
    return pa.field(name, pa.dictionary(pa.int32(), pa.string()), nullable=False)


def _described(column: Column) -> list[str]:
    """Its fields, without those at the end that are empty: its metrics, what it is known by."""
    said = [column.node, column.entity, column.quantity, column.unit, column.kind]
    more = [column.metric, column.known]
    return [*said, *more[: 2 if column.known else 1 if column.metric else 0]]


def _encoded(texts: Sequence[str]) -> tuple[np.ndarray, pa.Array]:
    """int32 index of each text among the distinct ones, and these in order of appearance."""
    known: dict[str, int] = {}
    index = [known.setdefault(text, len(known)) for text in texts]
    return np.array(index, np.int32), arrow_arrays.texts(known)


def read_samples(path: str | os.PathLike[str]) -> tuple[np.ndarray, list[Column], np.ndarray]:
    """(times_ps int64[n], columns, values int64[n, m]) of a file that `write_samples` wrote."""
    name = os.fspath(path)
    try:
        with pq.ParquetFile(path) as file:
            header = json.loads((file.schema_arrow.metadata or {})[METADATA_KEY])
            columns = [Column(*texts) for texts in header["columns"]]
            rows = int(header["rows"])
            _check(name, file, columns, rows)
            table = file.read(["time_ps", "value"])
    except FileNotFoundError as error:
        raise BadInput(name, "there is no such file") from error
    except (OSError, pa.ArrowException) as error:
        raise BadInput(name, f"cannot be read as parquet ({_line(error)})") from error
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadInput(name, "is parquet, but not samples that tailback wrote") from error
    if header.get("format") != FORMAT:
        said = repr(header.get("format"))[:60]
        raise BadInput(name, f"has format {said}; this version reads {FORMAT}")
    shape = (len(columns), rows)
    if table.num_rows != rows * len(columns) or any(column.null_count for column in table.columns):
        raise BadInput(name, f"has {table.num_rows} rows, not {len(columns)} series of {rows}")
    times = arrow_arrays.to_numpy(table["time_ps"]).reshape(shape)
    if (times != times[:1]).any():
        raise BadInput(name, "its series were not sampled at the same times")
    return (
        times[0].copy() if columns else np.zeros(rows, np.int64),
        columns,
        arrow_arrays.to_numpy(table["value"]).reshape(shape).T,
    )


def read_some(
    path: str | os.PathLike[str],
    entity: Sequence[str] | None = None,
    quantity: Sequence[str] | None = None,
) -> pa.Table:
    """The rows of some entities and quantities (None: of all), as an Arrow table.

    Raises BadInput for a file that is none, and for names that nothing was sampled under.
    """
    name = os.fspath(path)
    try:
        header = json.loads((pq.read_schema(path).metadata or {})[METADATA_KEY])
        columns = [Column(*texts) for texts in header["columns"]]
        wanted = {"entity": entity, "quantity": quantity}
        for field, given in wanted.items():
            known = sorted({getattr(column, field) for column in columns})
            for one in given or ():
                if one not in known:
                    raise BadInput(field, f"{one!r} was not sampled; {near(one, known)}")
        chosen = [
            (field, "in", list(given)) for field, given in wanted.items() if given is not None
        ]
        return pq.read_table(path, filters=chosen or None).replace_schema_metadata(None)
    except FileNotFoundError as error:
        raise BadInput(name, "there is no such file") from error
    except (OSError, pa.ArrowException) as error:
        raise BadInput(name, f"cannot be read as parquet ({_line(error)})") from error
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(name, "is parquet, but not samples that tailback wrote") from error


def _check(name: str, file: pq.ParquetFile, columns: list[Column], rows: int) -> None:
    """Raises BadInput before anything is read that is too large, or not what it says it is."""
    there = file.metadata.num_rows
    if rows < 0 or there != rows * len(columns):
        raise BadInput(name, f"has {there} rows, not {len(columns)} series of {rows}")
    if max(there, rows) > MOST:
        raise BadInput(name, f"says it has {there} values; {MOST} at most are read")
    kinds = {str(file.schema_arrow.field(one).type) for one in ("time_ps", "value")}
    names = [field.name for field in fields(Column)]
    texts = (getattr(column, name) for column in columns for name in names)
    if kinds != {"int64"} or not all(isinstance(text, str) for text in texts):
        raise TypeError("its columns are of another type")


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
