"""Fields of octets that lie anywhere, loaded as one word.

`engine.frames.octets` reads octet by octet, and numba checks every index for being negative.
Where millions of frames are dissected that is most of the time; here one unaligned load does it.
Nothing is checked: the caller knows that the octets are there.
"""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core.cgutils import create_struct_proxy
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


octet = _loader(8, False)
big16 = _loader(16, _NATIVE_IS_LITTLE)
big32 = _loader(32, _NATIVE_IS_LITTLE)
big64 = _loader(64, _NATIVE_IS_LITTLE, signed=True)
"""Two's complement."""
little16 = _loader(16, not _NATIVE_IS_LITTLE)
little32 = _loader(32, not _NATIVE_IS_LITTLE)
