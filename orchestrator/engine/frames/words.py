"""A descriptor's words by number, for code that has a field's number and not its name."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from orchestrator.engine.jit import DISABLED
from orchestrator.engine.records import FRAME

WORD = ir.IntType(64)
NAMES = FRAME.names or ()


@intrinsic
def _read(typing_context, frame, word):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        words = builder.bitcast(arguments[0], WORD.as_pointer())
        return builder.load(builder.gep(words, [arguments[1]]))

    return types.int64(frame, types.int64), generate


@intrinsic
def _write(typing_context, frame, word, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        words = builder.bitcast(arguments[0], WORD.as_pointer())
        builder.store(arguments[2], builder.gep(words, [arguments[1]]))
        return context.get_dummy_value()

    return types.void(frame, types.int64, types.int64), generate


def _read_plain(frame: Any, word: int) -> Any:
    return frame[NAMES[word]]


def _write_plain(frame: Any, word: int, value: int) -> None:
    frame[NAMES[word]] = value


read_word: Any = _read_plain if DISABLED else _read
"""(FRAME record, number of a field) -> its value."""
write_word: Any = _write_plain if DISABLED else _write
"""(FRAME record, number of a field, value): set it."""
