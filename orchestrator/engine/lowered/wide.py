"""Fields of octets that lie anywhere, as LLVM loads them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.cgutils import create_struct_proxy
from numba.extending import intrinsic


def _loader(bits: int, swapped: bool) -> Any:
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

    return load


load8, load16, load32, load64 = (_loader(bits, False) for bits in (8, 16, 32, 64))
swapped16, swapped32, swapped64 = (_loader(bits, True) for bits in (16, 32, 64))
"""With the octets in the order of the machine, and in the other one."""
