"""LLVM intrinsics for addresses and bits."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from orchestrator.engine.compile_options import LINE_OCTETS

WORD = ir.IntType(64)


@intrinsic
def read(typing_context: Any, frame: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = builder.bitcast(arguments[0], WORD.as_pointer())
        return builder.load(builder.gep(words, [arguments[1]]))

    return types.int64(frame, types.int64), generate


@intrinsic
def write(typing_context: Any, frame: Any, word: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = builder.bitcast(arguments[0], WORD.as_pointer())
        builder.store(arguments[2], builder.gep(words, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(frame, types.int64, types.int64), generate


@intrinsic
def call_by_address(
    typing_context: Any,
    kernel: Any,
    state: Any,
    params: Any,
    entity: Any,
    frame: Any,
    now: Any,
    message: Any,
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        shape = ir.FunctionType(word, [pointer] * 4 + [word, pointer])
        function = builder.inttoptr(arguments[0], shape.as_pointer())
        return builder.call(
            function,
            [
                builder.inttoptr(arguments[1], pointer),
                builder.inttoptr(arguments[2], pointer),
                builder.bitcast(arguments[3], pointer),
                builder.bitcast(arguments[4], pointer),
                arguments[5],
                builder.bitcast(arguments[6], pointer),
            ],
        )

    return types.int64(kernel, state, params, entity, frame, now, message), generate


@intrinsic
def word_at(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), generate


@intrinsic
def put_word(typing_context: Any, address: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store(arguments[1], place)
        return arguments[1]

    return types.int64(types.int64, types.int64), generate


@intrinsic
def prefetch(typing_context: Any, record: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = builder.bitcast(arguments[0], ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [start.type, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
        how = [ir.Constant(number, word) for word in (0, 2, 1)]  # to be read, soon, as data
        for octet in range(0, signature.args[0].size, LINE_OCTETS):
            builder.call(fetch, [builder.gep(start, [ir.Constant(number, octet)]), *how])
        return context.get_dummy_value()

    return types.void(record), generate


@intrinsic
def record_at_offset(typing_context: Any, record: Any, places: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        size = ir.Constant(ir.IntType(64), signature.args[0].size)
        start = builder.bitcast(arguments[0], ir.IntType(8).as_pointer())
        moved = builder.gep(start, [builder.mul(arguments[1], size)])
        return builder.bitcast(moved, arguments[0].type)

    return record(record, types.int64), generate


@intrinsic
def binary_digits(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 64), zeros)

    return types.int64(types.int64), generate


@intrinsic
def prevent_inlining(typing_context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate
