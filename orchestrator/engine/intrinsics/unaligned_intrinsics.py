"""LLVM intrinsics for unaligned loads."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.cgutils import create_struct_proxy, get_or_insert_function
from numba.extending import intrinsic

from orchestrator.engine.compile_options import LINE_WORDS


def _loader(bits: int, swapped: bool) -> Any:
    """A function (octets uint8[n] contiguous, at int64) -> int64."""

    @intrinsic
    def load(typing_context: Any, octets: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = create_struct_proxy(signature.args[0])(context, builder, arguments[0])
            place = builder.gep(array.data, [arguments[1]])
            value = builder.load(builder.bitcast(place, ir.IntType(bits).as_pointer()), align=1)
            if swapped:
                value = builder.bswap(value)
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return types.int64(octets, types.int64), generate

    return load


load8, load16, load32, load64 = (_loader(bits, False) for bits in (8, 16, 32, 64))
swapped16, swapped32, swapped64 = (_loader(bits, True) for bits in (16, 32, 64))
"""With the octets in the order of the machine, and in the other one."""


@intrinsic
def compare(
    typing_context: Any, octets: Any, at: Any, words: Any, place: Any, masks: Any, which: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
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
