"""Fixed-point logarithm and power of two: bit-exact on every target.

Numbers are fixed-point with 30 bits behind the point.
"""

from __future__ import annotations

from orchestrator.engine.jit import compiled

BITS = 30
ONE = 1 << BITS
ROOTS = tuple(round(2 ** (2.0**-place) * ONE) for place in range(1, BITS + 1))
"""2^(1/2), 2^(1/4), ...: the factor that each bit of an exponent's fraction stands for."""
LARGEST = 1 << 61


@compiled
def negative_log2(random):  # type: ignore[no-untyped-def]
    """-log2(random / 2^32) for 1 <= random < 2^32, 30 bits behind the point, rounded up."""
    whole = 0
    while random >> (whole + 1) != 0:
        whole += 1
    x = random << (BITS - whole) if whole <= BITS else random >> (whole - BITS)
    fraction = 0
    for _ in range(BITS):
        x = x * x >> BITS
        fraction <<= 1
        if x >= 2 * ONE:
            x >>= 1
            fraction += 1
    return (32 << BITS) - (whole << BITS) - fraction


@compiled
def times_power(base, exponent):  # type: ignore[no-untyped-def]
    """base * 2^exponent for base (ps) of 0 .. 2^50, to 1 in 10^6, at most 2^61."""
    factor = ONE
    for place in range(BITS):
        if exponent >> (BITS - 1 - place) & 1:
            factor = factor * ROOTS[place] >> BITS
    value = ((base >> 10) * (factor >> 10) >> 20) << 10
    doublings = exponent >> BITS
    # never true (`doublings > 50`): a shape above 1 makes 32 of them at most
    if doublings > 50 or value > LARGEST >> doublings:
        return LARGEST
    return value << doublings
