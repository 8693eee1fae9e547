"""Types of a world's arrays in compiled code: the indices and extents that they take."""

from __future__ import annotations

from typing import Any

import pytest
from numba import types

from orchestrator.engine.node.world_arrays import COLUMNS, FIELDS
from orchestrator.engine.node.world_numba_type import (
    ARRAYS,
    Rows,
    _Extents,
    _GetItem,
    _indices,
    _SetItem,
)

PAIR = types.UniTuple(types.intp, 2)
TRIPLE = types.UniTuple(types.intp, 3)
INDICES = [
    (types.intp, 1),
    (types.int32, 1),
    (types.uint8, 1),
    (PAIR, 2),
    (types.Tuple([types.intp, types.int32]), 2),
    (types.float64, 0),
    (types.Tuple([types.intp, types.float64]), 0),
    (types.slice2_type, 0),
    (types.none, 0),
]


@pytest.mark.parametrize(("index", "count"), INDICES)
def test_indices_are_whole_numbers_alone(index: types.Type, count: int) -> None:
    assert len(_indices(index)) == count


def found(template: Any, *arguments: Any) -> Any:
    """The signature that a template has for these types; None: it has none."""
    return template.generic(template.__new__(template), arguments, {})


def test_fewer_indices_than_axes_select_an_array_of_the_rest() -> None:
    flat, deep = Rows(types.int64, 1), Rows(types.int64, 3)
    assert found(_GetItem, flat, types.intp).return_type == types.int64
    assert found(_GetItem, deep, TRIPLE).return_type == types.int64
    assert found(_GetItem, deep, PAIR).return_type == types.Array(types.int64, 1, "C")
    assert found(_GetItem, deep, types.intp).return_type == types.Array(types.int64, 2, "C")
    for rows, index in ((flat, PAIR), (flat, types.float64), (types.intp, types.intp)):
        assert found(_GetItem, rows, index) is None


def test_an_element_is_set_by_all_its_indices() -> None:
    flat, deep = Rows(types.uint8, 1), Rows(types.int64, 2)
    made = found(_SetItem, flat, types.intp, types.int64)
    assert (made.return_type, made.args) == (types.none, (flat, types.intp, types.uint8))
    assert found(_SetItem, deep, PAIR, types.int64) is not None
    for rows, index in (
        (deep, types.intp),
        (flat, PAIR),
        (deep, types.float64),
        (types.intp, PAIR),
    ):
        assert found(_SetItem, rows, index, types.int64) is None


def test_extents_are_whole_numbers_one_for_each_axis() -> None:
    template: Any = _Extents.__new__(_Extents)
    deep = Rows(types.int64, 3)
    assert template.resolve_size(deep) == types.intp
    assert template.resolve_shape(deep) == TRIPLE


def test_every_field_of_a_world_has_its_row_of_the_table() -> None:
    assert list(ARRAYS) == list(FIELDS)
    assert [row for row, _ in ARRAYS.values()] == list(range(len(FIELDS)))
    for name, (_, rows) in ARRAYS.items():
        assert rows.ndim == FIELDS[name][1]
        assert rows.inner == COLUMNS.get(name, 0)
    names = {str(rows) for _, rows in ARRAYS.values()}
    assert all(f", {rows.ndim}, {rows.inner})" in str(rows) for _, rows in ARRAYS.values())
    assert len(names) > 10
