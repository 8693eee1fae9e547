"""Fields of octets that lie anywhere, loaded as one word.

`engine.frames.octets` reads octet by octet, and numba checks every index for being negative.
Where millions of frames are dissected that is most of the time; here one unaligned load does it.
Nothing is checked: the caller knows that the octets are there.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.cgutils import create_struct_proxy, get_or_insert_function
from numba.extending import intrinsic

from orchestrator.engine.jit import DISABLED

_NATIVE_IS_LITTLE = sys.byteorder == "little"


def _loader(bits: int, swapped: bool, signed: bool = False) -> Any:
    """A function (octets uint8[n] contiguous, at int64) -> int64."""

    @intrinsic
    def load(typing_context, octets, at):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            array = create_struct_proxy(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            value = builder.load(builder.bitcast(place, ir.IntType(bits).as_pointer()), align=1)
            if swapped:
                value = builder.bswap(value)
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return types.int64(octets, types.int64), generate

    def plain(octets, at):  # type: ignore[no-untyped-def]
        field = octets[at : at + bits // 8].tobytes()
        if swapped == _NATIVE_IS_LITTLE:
            return int.from_bytes(field, "big", signed=signed)
        return int.from_bytes(field, "little", signed=signed)

    return plain if DISABLED else load


def _comparison() -> Any:
    """The function `unlike`, on vectors: a processor compares a register of them at a time."""

    @intrinsic
    def compare(typing_context, octets, at, words, place, masks, which):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            word = ir.IntType(64)
            line = ir.VectorType(word, LINE_WORDS)
            lines = []
            for n in (0, 2, 4):
                row = create_struct_proxy(signature.args[n])(context, builder, arguments[n]).data
                place = builder.bitcast(builder.gep(row, [arguments[n + 1]]), line.as_pointer())
                lines.append(builder.load(place, align=8 if n else 1))
            seen, wanted, counts = lines
            differs = builder.and_(builder.xor(seen, wanted), counts)
            shape = ir.FunctionType(word, [line])
            name = f"llvm.vector.reduce.or.v{LINE_WORDS}i64"
            either = get_or_insert_function(builder.module, shape, name)
            return builder.call(either, [differs])

        arguments = (octets, types.int64, words, types.int64, masks, types.int64)
        return types.int64(*arguments), generate

    def plain(octets, at, words, place, masks, which):  # type: ignore[no-untyped-def]
        seen = octets[at : at + 8 * LINE_WORDS].view(np.int64)
        wanted, counts = words[place:][:LINE_WORDS], masks[which:][:LINE_WORDS]
        return int(np.bitwise_or.reduce((seen ^ wanted) & counts))

    return plain if DISABLED else compare


LINE_WORDS = 8
"""Of a line, which `unlike` compares."""

octet = _loader(8, False)
native16 = _loader(16, False)
native64 = _loader(64, False, signed=True)
"""As the machine has it: what only has to be equal, and where the order does not matter."""
big16 = _loader(16, _NATIVE_IS_LITTLE)
big32 = _loader(32, _NATIVE_IS_LITTLE)
big64 = _loader(64, _NATIVE_IS_LITTLE, signed=True)
"""Two's complement."""
little16 = _loader(16, not _NATIVE_IS_LITTLE)
little32 = _loader(32, not _NATIVE_IS_LITTLE)

unlike = _comparison()
"""Whether the LINE_WORDS * 8 octets at `at` of `octets` differ from a value in the bits of a mask;
0 where they do not. The value is LINE_WORDS of `words` int64[n] from `place` on, the mask those of
`masks` int64[m] from `which` on."""
