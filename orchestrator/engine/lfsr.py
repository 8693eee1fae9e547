"""The random source of kernels and gateware: a 32-bit linear feedback shift register.

Galois form, polynomial x^32 + x^22 + x^2 + x + 1 (mask 0x80200003), shifted right. A draw advances
it by 32 steps, so that successive draws share no bits; in gateware that is one XOR matrix.
"""

from __future__ import annotations

import hashlib
import zlib

from orchestrator.engine.jit import compiled

MASK = 0x80200003
JITTER_PERCENT = 30
"""Full width of the jitter: uniform within +-15 % (docs/settled/algorithms.md#jitter)."""


def seed_for(seed: int, name: str) -> int:
    """The starting value of an instance: the plan's seed and the instance's name decide it."""
    value = zlib.crc32(f"{seed}/{name}".encode())
    return value or 1


def drawn_below(seed: int, name: str, below: int) -> int:
    """A number from 0 up to `below` (1 to 2^62, exclusive) that the plan's seed and a name decide.

    Of one entity it says nothing about another one. Values of `seed_for` do: CRC-32 is linear, so
    what two names differ by is the same for every seed.
    """
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=16).digest()
    return int.from_bytes(digest, "little") % below


@compiled
def lfsr_next(value: int) -> int:
    """The register 32 steps after `value` (1 .. 2^32 - 1)."""
    for _ in range(32):
        low = value & 1
        value = (value >> 1) ^ (MASK * low)
    return value


MIX = 0x45D9F3B
"""An odd factor of 27 bits: a product with 32 bits is within an int64."""


@compiled
def mixed(key: int, one: int, other: int) -> int:
    """A number of 32 bits that a key of 32 bits and two numbers (0 to 2^62) decide, each bit of
    which depends on all of theirs: multiplied and shifted, twice for each of the two."""
    value = key
    for number in (one, other):
        value ^= (number ^ (number >> 32)) & 0xFFFFFFFF
        for _ in range(2):
            value = ((value ^ (value >> 16)) * MIX) & 0xFFFFFFFF
        value ^= value >> 16
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
