"""Memory offsets: the position of each field of each row in the memory of a world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

WORD = 8
"""Octets of an int64; a field of a state may be an array of them."""

FieldAddress = tuple[str, int, str]
"""(array, index, field)"""


class _Array(NamedTuple):
    first: int
    size: int
    rows: int
    fields: dict[str, int]


class Offsets(Mapping[FieldAddress, int]):
    """Place -> words from the beginning of the memory; what is asked for is worked out."""

    def __init__(self) -> None:
        self._arrays: dict[str, _Array] = {}
        self._fields: dict[np.dtype, dict[str, int]] = {}

    def add(self, name: str, dtype: np.dtype, first: int, rows: int) -> None:
        """An array of so many rows, the first of them at `first`."""
        if dtype not in self._fields:
            fields: Mapping[str, tuple[Any, ...]] = dtype.fields or {}
            self._fields[dtype] = {field: of[1] // WORD for field, of in fields.items()}
        self._arrays[name] = _Array(first, dtype.itemsize // WORD, rows, self._fields[dtype])

    def call(self, name: str, other: str) -> None:
        """An array goes by another name as well."""
        self._arrays[other] = self._arrays[name]

    def step(self, name: str) -> int:
        """Words from a row of an array to the next."""
        return self._arrays[name].size

    def __getitem__(self, place: FieldAddress) -> int:
        name, index, field = place
        array = self._arrays[name]
        if not 0 <= index < array.rows:
            raise KeyError(place)
        return array.first + index * array.size + array.fields[field]

    def __iter__(self) -> Iterator[FieldAddress]:
        for name, array in self._arrays.items():
            for index in range(array.rows):
                for field in array.fields:
                    yield name, index, field

    def __len__(self) -> int:
        return sum(array.rows * len(array.fields) for array in self._arrays.values())
