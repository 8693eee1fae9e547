"""The numba type of a pointer to a named tuple (`engine.datapath.by_reference`)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
)


class Reference(types.Type):
    """The numba type of a pointer to a named tuple."""

    def __init__(self, tuple_type: Any) -> None:
        self.of = tuple_type
        super().__init__(name=f"Reference({tuple_type})")

    def field(self, name: str) -> tuple[int, types.Type]:
        """Position of a field in the tuple, and its type."""
        place = self.of.fields.index(name)
        kind = self.of.types[place]
        return place, Reference(kind) if isinstance(kind, types.NamedTuple) else kind


@register_model(Reference)
class _Model(models.OpaqueModel):
    """A bare pointer."""


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return kind.field(name)[1] if name in kind.of.fields else None


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Any, pointer: Any, name: str) -> Any:
    place, found = kind.field(name)
    whole = context.get_value_type(kind.of).as_pointer()
    zero, row = ir.Constant(ir.IntType(32), 0), ir.Constant(ir.IntType(32), place)
    address = builder.gep(builder.bitcast(pointer, whole), [zero, row])
    if isinstance(found, Reference):
        return builder.bitcast(address, context.get_value_type(found))
    return builder.load(address)


@intrinsic
def by_reference(typing_context: Any, value: Any) -> Any:
    if isinstance(value, Reference):
        return value(value), lambda context, builder, signature, arguments: arguments[0]
    kind = Reference(value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = cgutils.alloca_once_value(builder, arguments[0])
        return builder.bitcast(place, context.get_value_type(kind))

    return kind(value), generate
