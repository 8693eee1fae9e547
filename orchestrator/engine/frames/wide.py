"""Fields of octets that lie anywhere, loaded as one word.

`engine.frames.octets` reads octet by octet, and numba checks every index for being negative.
Where millions of frames are dissected that is most of the time; here one unaligned load does it.
Nothing is checked: the caller knows that the octets are there.
"""

from __future__ import annotations

import sys
from typing import Any

from orchestrator.engine.jit import DISABLED
from orchestrator.engine.later import Later

_NATIVE_IS_LITTLE = sys.byteorder == "little"


def _loader(bits: int, swapped: bool, signed: bool = False) -> Any:
    """A function (octets uint8[n] contiguous, at int64) -> int64."""

    def plain(octets, at):  # type: ignore[no-untyped-def]
        field = octets[at : at + bits // 8].tobytes()
        if swapped == _NATIVE_IS_LITTLE:
            return int.from_bytes(field, "big", signed=signed)
        return int.from_bytes(field, "little", signed=signed)

    name = f"{'swapped' if swapped else 'load'}{bits}"
    return plain if DISABLED else Later(f"orchestrator.engine.lowered.wide:{name}")


octet = _loader(8, False)
big16 = _loader(16, _NATIVE_IS_LITTLE)
big32 = _loader(32, _NATIVE_IS_LITTLE)
big64 = _loader(64, _NATIVE_IS_LITTLE, signed=True)
"""Two's complement."""
little16 = _loader(16, not _NATIVE_IS_LITTLE)
little32 = _loader(32, not _NATIVE_IS_LITTLE)
