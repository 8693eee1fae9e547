"""Numba type of `World`: one pointer to the table of its arrays.

Handing over thirty arrays by value costs more than most node functions do; through the table an
access is one load. An index into an array of a world is never negative: it does not count from the
end, and nothing is spent on asking. An array of a world is a pointer to its row of the table, for
numba's own arrays take some fifty instructions per access, all of which but the load LLVM has to
find superfluous: half of what compiling the engine would take. Uncompiled, a world is simply the
Python object.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr,
    lower_getattr_generic,
    models,
    register_model,
    unbox,
)
from numba.np.arrayobj import make_array, populate_array

from orchestrator.engine.node.world_arrays import COLUMNS, FIELDS
from orchestrator.engine.numba_backend.llvm_attributes import attach_field_metadata

WORD = ir.IntType(64)
TABLE_COLUMNS = 4


class WorldType(types.Type):
    """The numba type of `World`."""

    def __init__(self) -> None:
        super().__init__(name="World")


class Rows(types.Type):
    """An array of a world: where its row of the table lies."""

    def __init__(self, dtype: types.Type, ndim: int, inner: int = 0) -> None:
        """`inner`: the extent of the last axis, where every world has the same; 0."""
        self.dtype, self.ndim, self.inner = dtype, ndim, inner
        super().__init__(name=f"Rows({dtype}, {ndim}, {inner})")

    def indexed_type(self, indices: int) -> types.Type:
        """Type that so many indices select: an element, or an array of the remaining axes."""
        if indices == self.ndim:
            return self.dtype
        return types.Array(self.dtype, self.ndim - indices, "C")


WORLD = WorldType()
ARRAYS = {
    name: (row, Rows(numba.from_dtype(dtype), dimensions, COLUMNS.get(name, 0)))
    for row, (name, (dtype, dimensions)) in enumerate(FIELDS.items())
}


@register_model(WorldType)
@register_model(Rows)
class _Model(models.OpaqueModel):
    """A bare pointer: to the table, to a row of it."""


@unbox(WorldType)
def _unbox(kind: WorldType, value: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    pointer = c.builder.inttoptr(address, c.context.get_value_type(kind))
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_getattr
class _Arrays(AttributeTemplate):
    key = WorldType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return ARRAYS[name][1] if name in ARRAYS else None


@infer_getattr
class _Extents(AttributeTemplate):
    key = Rows

    def resolve_size(self, kind: Rows) -> types.Type:
        return types.intp

    def resolve_shape(self, kind: Rows) -> types.Type:
        return types.UniTuple(types.intp, kind.ndim)


def _indices(index: Any) -> list[types.Type]:
    """The types of the integers that make up an index; of anything else none."""
    found = list(index.types) if isinstance(index, types.BaseTuple) else [index]  # type: ignore[attr-defined]
    return found if all(isinstance(each, types.Integer) for each in found) else []


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        rows, index = args
        if isinstance(rows, Rows) and 0 < len(_indices(index)) <= rows.ndim:
            return signature(rows.indexed_type(len(_indices(index))), rows, index)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        rows, index, _ = args
        if isinstance(rows, Rows) and len(_indices(index)) == rows.ndim:
            return signature(types.none, rows, index, rows.dtype)
        return None


def _word(builder: Any, row: Any, column: int) -> Any:
    """A number of a row of the table, which never changes."""
    place = builder.gep(builder.bitcast(row, WORD.as_pointer()), [ir.Constant(WORD, column)])
    loaded = builder.load(place)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _extent(builder: Any, kind: Rows, row: Any, axis: int) -> Any:
    """Extent of an axis: a constant if it is fixed."""
    if kind.inner and axis == kind.ndim - 1:
        return ir.Constant(WORD, kind.inner)
    return _word(builder, row, 1 + axis)


@lower_getattr_generic(WorldType)
def _array(context: Any, builder: Any, kind: WorldType, world: Any, name: str) -> Any:
    octets = ARRAYS[name][0] * TABLE_COLUMNS * WORD.width // 8
    return builder.gep(world, [ir.Constant(WORD, octets)])


@lower_getattr(Rows, "shape")
def _shape(context: Any, builder: Any, kind: Rows, row: Any) -> Any:
    return cgutils.pack_array(
        builder, [_extent(builder, kind, row, axis) for axis in range(kind.ndim)]
    )


@lower_getattr(Rows, "size")
def _size(context: Any, builder: Any, kind: Rows, row: Any) -> Any:
    size = _word(builder, row, 1)
    for axis in range(1, kind.ndim):
        size = builder.mul(size, _extent(builder, kind, row, axis))
    return size


def _element_address(
    context: Any, builder: Any, kind: Rows, row: Any, index: Any, value: Any
) -> Any:
    """Address of the element that an index selects, or of the first of several."""
    each = cgutils.unpack_tuple(builder, value) if isinstance(index, types.BaseTuple) else [value]
    whole = None
    for axis in range(kind.ndim):
        if whole is not None:
            whole = builder.mul(whole, _extent(builder, kind, row, axis))
        if axis < len(each):
            one = context.cast(builder, each[axis], _indices(index)[axis], types.intp)
            whole = one if whole is None else builder.add(whole, one)
    data = context.get_data_type(kind.dtype).as_pointer()
    return builder.gep(builder.inttoptr(_word(builder, row, 0), data), [whole])


@lower_builtin(operator.getitem, Rows, types.Any)
def _get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index = signature.args
    place = _element_address(context, builder, kind, arguments[0], index, arguments[1])
    result = signature.return_type
    if not isinstance(result, types.Array):
        value = context.unpack_value(builder, kind.dtype, place)
        _attach_field_metadata(builder, kind, value)
        return value
    array = make_array(result)(context, builder)
    size = ir.Constant(WORD, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    shape = [_extent(builder, kind, arguments[0], axis) for axis in range(kind.ndim)]
    shape = shape[-result.ndim :]
    strides = [size]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    populate_array(
        array, data=place, shape=shape, strides=strides, itemsize=size, meminfo=None, parent=None
    )
    return array._getvalue()


@lower_builtin(operator.setitem, Rows, types.Any, types.Any)
def _set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind, index, _ = signature.args
    place = _element_address(context, builder, kind, arguments[0], index, arguments[1])
    context.pack_value(builder, kind.dtype, arguments[2], place)
    _attach_field_metadata(builder, kind, builder.block.instructions[-1])
    return context.get_dummy_value()


def _attach_field_metadata(builder: Any, kind: Rows, access: Any) -> None:
    """No field of a record lies in a table of numbers; in a list there may be some: the memory."""
    if kind.ndim > 1 and isinstance(access, ir.LoadInstr | ir.StoreInstr):
        attach_field_metadata(builder.module, access, f"{kind.dtype} by {kind.ndim}")
