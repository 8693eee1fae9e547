"""A world as compiled functions see it: one pointer to the table of its arrays.

Handing over thirty arrays by value costs more than most node functions do; through the table an
access is one load. An index into an array of a world is never negative: it does not count from the
end, and nothing is spent on asking. Uncompiled, a world is simply the Python object.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import (
    getitem_array_tuple,
    getitem_arraynd_intp,
    make_array,
    populate_array,
    setitem_array,
)

from orchestrator.engine.node.world import FIELDS, World

WORD = ir.IntType(64)
TABLE_COLUMNS = 4


class WorldType(types.Type):
    """The numba type of `World`."""

    def __init__(self) -> None:
        super().__init__(name="World")


class WorldArray(types.Array):
    """An array of a world, indexed from 0."""


register_model(WorldArray)(models.ArrayModel)
WORLD = WorldType()
ARRAYS = {
    name: (row, WorldArray(numba.from_dtype(dtype), dimensions, "C"))
    for row, (name, (dtype, dimensions)) in enumerate(FIELDS.items())
}


@typeof_impl.register(World)
def _typeof(value: World, context: Any) -> WorldType:
    return WORLD


@register_model(WorldType)
class _Model(models.OpaqueModel):
    """A bare pointer to the table."""


@unbox(WorldType)
def _unbox(kind: WorldType, value: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    pointer = c.builder.inttoptr(address, c.context.get_value_type(kind))
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_getattr
class _Attributes(AttributeTemplate):
    key = WorldType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return ARRAYS[name][1] if name in ARRAYS else None


@lower_getattr_generic(WorldType)
def _load(context: Any, builder: Any, kind: WorldType, value: Any, name: str) -> Any:
    row, array_type = ARRAYS[name]
    table = builder.bitcast(value, WORD.as_pointer())

    def word(column: int) -> Any:
        place = builder.gep(table, [ir.Constant(WORD, row * TABLE_COLUMNS + column)])
        loaded = builder.load(place)
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    array = make_array(array_type)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    shape = [word(1 + axis) for axis in range(array_type.ndim)]
    strides = [ir.Constant(WORD, size)]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    populate_array(
        array,
        data=builder.inttoptr(word(0), array.data.type),
        shape=shape,
        strides=strides,
        itemsize=ir.Constant(WORD, size),
        meminfo=None,
    )
    return array._getvalue()


def _unsigned(index: types.Type) -> types.Type:
    """The type of an index for which numba does not look whether it is negative."""
    if isinstance(index, types.Integer):
        return types.uintp
    if isinstance(index, types.BaseTuple):
        return types.Tuple([_unsigned(each) for each in index])  # type: ignore[attr-defined]
    return index


@lower_builtin(operator.getitem, WorldArray, types.Integer)
def _get_row(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array, index = signature.args
    asked = signature.replace(args=(array, _unsigned(index)))
    return getitem_arraynd_intp(context, builder, asked, arguments)


@lower_builtin(operator.getitem, WorldArray, types.BaseTuple)
def _get_element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array, index = signature.args
    asked = signature.replace(args=(array, _unsigned(index)))
    return getitem_array_tuple(context, builder, asked, arguments)


@lower_builtin(operator.setitem, WorldArray, types.Any, types.Any)
def _set_element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array, index, value = signature.args
    asked = signature.replace(args=(array, _unsigned(index), value))
    return setitem_array(context, builder, asked, arguments)
