"""The random source of jittered intervals, written a second time from its definition.

Galois register of 32 bits, polynomial x^32 + x^22 + x^2 + x + 1, shifted right; a draw is 32
steps. A draw spreads an interval over +-15 % by its upper 16 bits; divisions round down.
"""

from __future__ import annotations

TAPS = (32, 22, 2, 1)
"""Exponents of the polynomial: bit e - 1 is flipped when a one falls out."""


class Jitter:
    """random_number_between(0.85, 1.15) * interval of the pseudo code, from a seeded register."""

    def __init__(self, seed: int) -> None:
        self.bits = [bool(seed >> index & 1) for index in range(32)]

    def __call__(self, interval: int) -> int:
        for _ in range(32):
            fell_out = self.bits.pop(0)
            self.bits.append(False)
            for tap in TAPS:
                self.bits[tap - 1] ^= fell_out
        upper = sum(bit << index for index, bit in enumerate(self.bits[16:]))
        width = interval * 30 // 100
        return interval - width // 2 + width * upper // 2**16
