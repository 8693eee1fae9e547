"""LLVM attributes and metadata (internal linkage, TBAA) that numba does not emit.

Only a linked function calls the parts in it: so they need no external calling convention, and one
that is called once can be inlined. The result of a call is written before it is read: numba sets it
to 0 before each call, for callers that read it after an error; no caller here does so.
And fields of records with different names never lie at the same place: so after one was written the
others need not be read again. What is at an address, an element of an array, an octet may be any
field of any record, and kernels, which are called by address, may have written all of them.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir

FIELDS = "fields of records"
"""The root of LLVM's tree of types (TBAA): a branch for each name, and none has branches."""


def attach_field_metadata(module: Any, access: Any, name: str) -> None:
    """Say which field a load or store is of."""
    word = ir.IntType(64)(0)
    kind = module.add_metadata([name, module.add_metadata([FIELDS]), word])
    access.set_metadata("tbaa", module.add_metadata([kind, kind, word]))


def last_instruction(kind: type, instructions: list[Any]) -> Any | None:
    """The last instruction of a kind; None."""
    return next((one for one in reversed(instructions) if isinstance(one, kind)), None)


def drop_return_initialisation(module: Any) -> None:
    """Take out what sets the places at which calls return something before they do."""
    for function in module.functions:
        places = {
            id(place)
            for block in function.blocks
            for one in block.instructions
            if _is_numba_call(one)
            for place in one.args[:2]
        }
        for block in function.blocks:
            block.instructions[:] = [
                one for one in block.instructions if not _sets_to_zero(one, places)
            ]


def _is_numba_call(one: Any) -> bool:
    """True if it is a call by numba's convention: where to return a value, where an exception."""
    if not isinstance(one, ir.CallInstr) or len(one.args) < 2:
        return False
    value, raised = one.args[:2]
    places = isinstance(value, ir.AllocaInstr) and isinstance(raised, ir.AllocaInstr)
    return places and raised.name.startswith("excinfo")


def _sets_to_zero(one: Any, places: set[int]) -> bool:
    if not isinstance(one, ir.StoreInstr):
        return False
    value, place = one.operands
    return id(place) in places and isinstance(value, ir.Constant) and value.constant in (None, 0)


def allow_inlining(module: Any) -> None:
    """Allow inlining of the callees of a wrapper, which numba forbids."""
    for function in module.functions:
        for block in function.blocks:
            for one in block.instructions:
                if isinstance(one, ir.CallInstr):
                    one.attributes.discard("noinline")


def internalize(module: Any, only: str = "") -> None:
    """Give the functions that were linked into a module internal linkage.

    With `only` its own are not either, but for those whose names begin so.
    """
    for function in module.functions:
        own = function.linkage == llvm.Linkage.external
        called = own and not (only and not function.name.startswith(only))
        if not function.is_declaration and not called:
            function.linkage = "internal"
