"""The random source of kernels and gateware: a 32-bit linear feedback shift register.

Galois form, polynomial x^32 + x^22 + x^2 + x + 1 (mask 0x80200003), shifted right. A draw advances
it by 32 steps, so that successive draws share no bits; in gateware that is one XOR matrix.
"""

from __future__ import annotations

import zlib

from orchestrator.engine.jit import compiled

MASK = 0x80200003
JITTER_PERCENT = 30
"""Full width of the jitter: uniform within +-15 % (docs/settled/algorithms.md#jitter)."""


def seed_for(seed: int, name: str) -> int:
    """The starting value of an instance: the plan's seed and the instance's name decide it."""
    value = zlib.crc32(f"{seed}/{name}".encode())
    return value or 1


@compiled
def lfsr_next(value: int) -> int:
    """The register 32 steps after `value` (1 .. 2^32 - 1)."""
    for _ in range(32):
        low = value & 1
        value = (value >> 1) ^ (MASK * low)
    return value


@compiled
def jittered(base: int, random: int) -> int:
    """`base` spread uniformly over [base - 15 %, base + 15 %), by the upper 16 bits of `random`.

    width = floor(base * 30 / 100); result = base - floor(width / 2) + floor(width * r / 2^16).
    Exact up to base = 2^58: the product is taken in two parts, since an int64 does not hold it.
    """
    width = base * JITTER_PERCENT // 100
    draw = random >> 16
    spread = (width >> 16) * draw + (((width & 0xFFFF) * draw) >> 16)
    return base - width // 2 + spread
