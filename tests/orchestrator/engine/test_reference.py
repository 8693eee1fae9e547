"""Arrays of a world are the same seen from compiled code: every element, row and extent of each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.engine.jit import compiled
from orchestrator.engine.node.world_arrays import COLUMNS, FIELDS, World

EXTENTS = 3, 4, 5
"""Of axes: unlike each other, so that an exchanged one shows."""


@pytest.fixture
def world() -> World:
    """Every element has a value of its own, as far as it has room for that."""
    arrays = {}
    for name, (dtype, dimensions) in FIELDS.items():
        extents = EXTENTS[:dimensions]
        if name in COLUMNS:
            extents = (*extents[:-1], COLUMNS[name])
        array = np.zeros(extents, dtype)
        words = array.view(np.uint8 if dtype == np.uint8 else np.int64).reshape(-1)
        words[:] = np.arange(words.size) + 1
        arrays[name] = array.view(np.recarray) if dtype.fields else array
    return World(**arrays)


def values(array: np.ndarray) -> list[bytes]:
    """Of all elements; what fills the last line of a record up has none."""
    fields = array.dtype.names
    return [array[name].tobytes() for name in fields] if fields else [array.tobytes()]


@compiled
def of_one_axis(w):
    """An element, a field of a record, extents."""
    return w.lane_of[2], w.frames[1].next, w.queues[2].frames, w.free.size, w.voqs.shape[0]


@compiled
def of_several_axes(w):
    """Elements, a row and a plane of fewer indices, extents."""
    row, plane = w.octets[2], w.latency_marks[1]
    extents = w.tree.size, w.tree.shape, w.latency_marks.shape, row.shape, plane.shape
    return (
        w.tree[2, 1],
        w.rows[2, 3],
        w.latency_marks[2, 1, 4],
        w.octets[1, 2],
        row[3],
        plane[3, 2],
        extents,
    )


@compiled
def write(w, small):
    """Scalars of another width, fields, whole records, through a row."""
    w.octets[1, 2] = small
    w.latency_marks[2, 3, 1] = small
    w.ports[1].rate = 7
    w.frames[2] = w.frames[0]
    row = w.stamps[1]
    row[3] = -1


def test_elements_rows_and_extents(world: World) -> None:
    for look in (of_one_axis, of_several_axes):
        assert look(world) == look.py_func(world)


def test_an_array_with_other_columns_than_compiled_functions_count_on_is_refused(
    world: World,
) -> None:
    wrong = replace(world, tree=np.zeros((8, 3), np.int64))
    with pytest.raises(AssertionError, match="tree"):
        _ = wrong.table


def test_what_is_written_is_there_and_nothing_else(world: World) -> None:
    before = {name: np.array(getattr(world, name)) for name in FIELDS}
    write(world, 200)
    after = {name: np.array(getattr(world, name)) for name in FIELDS}
    for name, array in before.items():
        getattr(world, name)[...] = array
    write.py_func(world, 200)
    for name, array in after.items():
        assert values(array) == values(getattr(world, name)), name
    changed = {name for name in FIELDS if values(before[name]) != values(after[name])}
    assert changed == {"octets", "latency_marks", "ports", "frames", "stamps"}
