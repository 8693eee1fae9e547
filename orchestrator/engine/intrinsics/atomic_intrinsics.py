"""LLVM intrinsics for atomic loads and stores."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

INDEX_OCTETS = 4


@intrinsic
def acquire(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
        found = builder.load_atomic(place, "acquire", INDEX_OCTETS)
        return builder.zext(found, ir.IntType(64))

    return types.int64(types.int64), generate


@intrinsic
def release(typing_context: Any, address: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
        word = builder.trunc(arguments[1], ir.IntType(32))
        builder.store_atomic(word, place, "release", INDEX_OCTETS)
        return arguments[1]

    return types.int64(types.int64, types.int64), generate


@intrinsic
def load(typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), generate


@intrinsic
def store(typing_context: Any, address: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store(arguments[1], place)
        return arguments[1]

    return types.int64(types.int64, types.int64), generate
