"""Conversion between numpy arrays or texts and Arrow arrays, without copies; Parquet reading.

`pyarrow.array` and its `to_numpy` import pandas, where it is installed, to see whether any of that
is concerned, and so does `pyarrow.parquet.read_table`, by way of its datasets of many files: half a
second, of which a run's files have no use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KINDS = {np.dtype(np.int64): pa.int64(), np.dtype(np.int32): pa.int32()}


READ_ERRORS = (OSError, pa.ArrowException, ValueError)
"""What reading a damaged Parquet file raises: its names and texts are decoded by Python, which
raises UnicodeDecodeError."""


def read_parquet(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> pa.Table:
    """One Parquet file; of all its columns or of these. Raises `READ_ERRORS`."""
    with pq.ParquetFile(path) as file:
        return file.read(None if columns is None else list(columns))


def numbers(values: np.ndarray, missing: np.ndarray | None = None) -> pa.Array:
    """An array of int64 or int32; null where `missing`, bool[n], says so."""
    values = np.ascontiguousarray(values)
    there = None
    if missing is not None and missing.any():
        there = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(KINDS[values.dtype], len(values), [there, pa.py_buffer(values)])


def to_numpy(column: pa.ChunkedArray) -> np.ndarray:
    """The numbers of a column that has no nulls; of int64 as they lie there, not to be written to.

    Raises ArrowException for a column that is no numbers.
    """
    if column.type != pa.int64() or column.null_count:
        found: np.ndarray = column.to_numpy()
        return found
    parts = [
        np.frombuffer(chunk.buffers()[1], np.int64, len(chunk), chunk.offset * 8)
        for chunk in column.chunks
        if len(chunk)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])


def texts(values: Iterable[str]) -> pa.Array:
    """An array of texts, none of them null."""
    octets = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, octets)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(octets))]
    return pa.Array.from_buffers(pa.string(), len(octets), buffers)


def dictionary_texts(values: Sequence[str]) -> pa.Array:
    """An array of repeated texts: a dictionary in order of first appearance, and int32.

    What `dictionary_encode` returns, without the module of a thousand functions that it imports.
    """
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter((places[value] for value in values), np.int32, len(values))
    return pa.DictionaryArray.from_arrays(numbers(codes), texts(places))
