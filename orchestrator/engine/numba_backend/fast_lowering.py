"""Fast lowering: skips the numba 0.68 passes that cannot affect this engine's functions.

Much of the time in which numba compiles a small function goes to passes that leave it as it is, to
asking some forty templates again and again what the sum of two int64 is, to sizes of types that
only a debugger wants to know, and to looking for circular garbage among what is still in use.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import gc
from collections.abc import Iterator
from typing import Any

from llvmlite import ir as llvm_ir  # type: ignore[import-untyped]
from numba.core import cgutils, typed_passes, types, untyped_passes
from numba.core import ir as numba_ir
from numba.core.lowering import Lower
from numba.core.types.functions import BaseFunction

from orchestrator.engine.numba_backend.llvm_attributes import (
    attach_field_metadata,
    last_instruction,
)

SKIPPED_PASSES = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.DumpParforDiagnostics,
}
"""Passes that leave a plain function as it is."""

OTHERS = {"MAKE_FUNCTION", "BEFORE_WITH", "RAISE_VARARGS", "BUILD_LIST", "SETUP_FINALLY"}
"""Operations of Python that such a pass is for: closures, `with`, exceptions, lists ..."""
BY_NAME = {"literally", "literal_unroll"}
"""... and what is called by these names."""


@functools.cache
def _is_plain(code: Any) -> bool:
    operations = {one.opname for one in dis.get_instructions(code)}
    return not (operations & OTHERS or BY_NAME & set(code.co_names) or code.co_exceptiontable)


def needed(passes: list[tuple[Any, str]], code: Any) -> list[tuple[Any, str]]:
    """Those of numba's passes, each with its reason, that can do something to a function's code."""
    if not _is_plain(code):
        return passes
    return [(one, why) for one, why in passes if one not in SKIPPED_PASSES]


class PlainLower(Lower):
    """Lowers a function without debug information."""

    def lower_function_body(self) -> Any:
        self.context.get_abi_sizeof = functools.cache(self.context.get_abi_sizeof)
        return super().lower_function_body()

    def lower_inst(self, inst: Any) -> None:
        block, before = self.builder.block, len(self.builder.block.instructions)
        super().lower_inst(inst)
        if isinstance(inst, numba_ir.SetAttr) and self._is_number(inst.target, inst.attr):
            self._name_access(llvm_ir.StoreInstr, block, before, inst.attr)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        block, before = self.builder.block, len(self.builder.block.instructions)
        value = super().lower_expr(resty, expr)
        if expr.op == "getattr" and self._is_number(expr.value, expr.attr):
            self._name_access(llvm_ir.LoadInstr, block, before, expr.attr)
        return value

    def _is_number(self, variable: Any, attribute: str) -> bool:
        """True if an attribute is a field of a record, and one number."""
        kind = self.typeof(variable.name)
        return isinstance(kind, types.Record) and isinstance(kind.typeof(attribute), types.Integer)

    def _name_access(self, kind: type, block: Any, before: int, name: str) -> None:
        access = last_instruction(kind, block.instructions[before:])
        if access is not None:
            attach_field_metadata(self.builder.module, access, name)

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)


@contextlib.contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Within this block Python does not look for circular garbage: next to all is still in use."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


_resolve_call = BaseFunction.get_call_type


def _resolve_call_cached(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of an operator or built-in function for these types of arguments.

    It is kept where a template of numba's own gave it: those of overloads depend on more. A
    function that is given more templates is another object, which knows nothing yet.
    """
    if kws:
        return _resolve_call(self, context, args, kws)
    known, types = self.__dict__.setdefault("_known_signatures", {}), (id(context), *args)
    if types not in known:
        signature: Any = _resolve_call(self, context, args, kws)
        if self._impl_keys[signature.args] is not self.typing_key:
            return signature
        known[types] = signature
    return known[types]


BaseFunction.get_call_type = _resolve_call_cached  # type: ignore[method-assign]
