"""Multiply and divide integers where the product alone does not fit an int64."""

from __future__ import annotations

from orchestrator.engine.jit import compiled


@compiled
def square_root(value: int) -> int:
    """The whole part of the square root of a number below 2^62, bit by bit from the top."""
    root = 0
    for bit in range(30, -1, -1):
        more = root + (1 << bit)
        root = more if more * more <= value else root
    return root


BITS = 20
MOST_MULTIPLIED = 1 << 41
MOST_DEN = 3600 * 10**9
"""An hour in ns: a product of it and of the upper half of `whole` fits."""
MOST_PRODUCT = 1 << 60
"""Largest product that `mul_div_capped` forms."""
KBIT_NS = 8 * 10**6
"""kbit/s times ns, divided by this, are octets."""


@compiled
def mul_div(whole: int, num: int, den: int) -> int:
    """whole * num // den, rounded down: `whole` from 0 to 2^41, num and den to 3.6 * 10^12.

    A share is no more than the whole: num above den counts as den. `den` is above 0. The product is
    divided in two parts, of 21 and 20 bits of `whole`.
    """
    num = min(num, den)
    upper = (whole >> BITS) * num
    lower = (upper % den << BITS) + (whole & ((1 << BITS) - 1)) * num
    return (upper // den << BITS) + lower // den


@compiled
def rest_of(whole: int, num: int, den: int) -> int:
    """Remainder of the division of `mul_div`: whole * num modulo den, of the same ranges.

    Whoever adds shares one after the other carries it, so that the sum is not rounded with each.
    """
    num = min(num, den)
    lower = ((whole >> BITS) * num % den << BITS) + (whole & ((1 << BITS) - 1)) * num
    return lower % den


@compiled
def mul_div_capped(whole: int, num: int, den: int) -> int:
    """whole * num // den, exact up to MOST_PRODUCT and `num` times den."""
    part = min(whole // den, MOST_PRODUCT // max(num, 1)) * num
    return part + whole % den * num // den


@compiled
def octets_in(rate: int, time: int) -> int:
    """Octets that a rate (bit/s) carries in a time (ps), of whole kbit/s and ns."""
    return rate // 1000 * (time // 1000) // KBIT_NS
