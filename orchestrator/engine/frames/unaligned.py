"""Unaligned loads: fields of octets at any offset, loaded as one word.

`engine.frames.octets` reads octet by octet, and numba checks every index for being negative.
Where millions of frames are dissected that is most of the time; here one unaligned load does it.
Nothing is checked: the caller knows that the octets are there.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from orchestrator.engine.compile_options import LINE_WORDS
from orchestrator.engine.jit import DISABLED
from orchestrator.engine.lazy_imports import LazyIntrinsic

_NATIVE_IS_LITTLE = sys.byteorder == "little"


def _loader(bits: int, swapped: bool, signed: bool = False) -> Any:
    """A function (octets uint8[n] contiguous, at int64) -> int64."""

    def plain(octets: np.ndarray, at: int) -> int:
        field = octets[at : at + bits // 8].tobytes()
        if swapped == _NATIVE_IS_LITTLE:
            return int.from_bytes(field, "big", signed=signed)
        return int.from_bytes(field, "little", signed=signed)

    name = f"{'swapped' if swapped else 'load'}{bits}"
    return (
        plain
        if DISABLED
        else LazyIntrinsic(f"orchestrator.engine.intrinsics.unaligned_intrinsics:{name}")
    )


def _unlike(
    octets: np.ndarray, at: int, words: np.ndarray, place: int, masks: np.ndarray, which: int
) -> int:
    seen = octets[at : at + 8 * LINE_WORDS].view(np.int64)
    wanted, counts = words[place:][:LINE_WORDS], masks[which:][:LINE_WORDS]
    return int(np.bitwise_or.reduce((seen ^ wanted) & counts))


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

unlike: Any = (
    _unlike
    if DISABLED
    else LazyIntrinsic("orchestrator.engine.intrinsics.unaligned_intrinsics:compare")
)
"""True if the LINE_WORDS * 8 octets at `at` of `octets` differ from a value in the bits of a mask;
0 where they do not. The value is LINE_WORDS of `words` int64[n] from `place` on, the mask those of
`masks` int64[m] from `which` on."""
