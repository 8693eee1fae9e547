"""Arithmetic of sources in whole numbers: kernels agree to the bit wherever they run.

Logarithm and power of two are fixed-point with 30 bits behind the point. Intervals and shares are
exact on average: what a division leaves over is carried on, or is below a part in 2^32.
"""

from __future__ import annotations

from orchestrator.engine.jit import compiled
from orchestrator.engine.node.link import BIT_PS

BITS = 30
ONE = 1 << BITS
ROOTS = tuple(round(2 ** (2.0**-place) * ONE) for place in range(1, BITS + 1))
"""2^(1/2), 2^(1/4), ...: the factor that each bit of an exponent's fraction stands for."""
LARGEST = 1 << 61
DIGIT = 20
"""Bits of the digits that long products are made of."""


@compiled
def part_of(whole, share, of):  # type: ignore[no-untyped-def]
    """whole * share / of, rounded down, for a whole of 0 .. 2^60 and 0 <= share <= of < 2^41.

    The product need not fit an int64: digits of 20 bits of the whole are multiplied one by one.
    """
    found = 0
    rest = 0
    for place in range(2, -1, -1):
        digit = (whole >> (DIGIT * place)) & ((1 << DIGIT) - 1)
        rest = (rest << DIGIT) + digit * share
        found = (found << DIGIT) + rest // of
        rest %= of
    return found


@compiled
def slot(state, octets, rate):  # type: ignore[no-untyped-def]
    """ps that a frame takes at a rate (bit/s), on average exactly: what the division leaves over
    is in `state.carry`, in ps times bit/s."""
    state.carry = state.carry % rate + octets * BIT_PS % rate
    whole = octets * BIT_PS // rate
    if state.carry >= rate:
        state.carry -= rate
        return whole + 1
    return whole


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
    """base * 2^exponent for base (ps) of 0 .. 2^50, to 1 in 10^6 and 2 ps, at most 2^61."""
    factor = ONE
    for place in range(BITS):
        if exponent >> (BITS - 1 - place) & 1:
            factor = factor * ROOTS[place] >> BITS
    value = ((base >> DIGIT) * factor >> (BITS - DIGIT)) + (
        (base & ((1 << DIGIT) - 1)) * factor >> BITS
    )
    doublings = exponent >> BITS
    # never true (`doublings > 50`): a shape above 1 makes 32 of them at most
    if doublings > 50 or value > LARGEST >> doublings:
        return LARGEST
    return value << doublings
