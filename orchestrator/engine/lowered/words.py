"""LLVM intrinsics for descriptor words addressed by field number."""

from __future__ import annotations

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

WORD = ir.IntType(64)


@intrinsic
def read(typing_context, frame, word):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        words = builder.bitcast(arguments[0], WORD.as_pointer())
        return builder.load(builder.gep(words, [arguments[1]]))

    return types.int64(frame, types.int64), generate


@intrinsic
def write(typing_context, frame, word, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        words = builder.bitcast(arguments[0], WORD.as_pointer())
        builder.store(arguments[2], builder.gep(words, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(frame, types.int64, types.int64), generate
