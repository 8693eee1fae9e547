"""Delay line that corrupts frames by their length: bit errors, each independent of the others.

On a binary symmetric channel (Shannon, section 15) each bit is wrong with the probability p, and a
frame of n bits has an error with 1 - (1 - p)^n. The bits of the FCS count, those of preamble and
gap do not.

`fcs` decides whether the frame's FCS shows the error. "wrong": the FCS check at the other end drops
the frame (IEEE 802.3, clause 4.2.4.1.2). "right": the octets were damaged where the FCS was written
anew, as in the memory of a switch, and the node at the other end gets them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from tailback.plugin import (
    FCS_RIGHT,
    FCS_WRONG,
    Algorithm,
    Params,
    Ratio,
    RatioLimit,
    compiled,
    delay_line,
    lfsr_next,
    record,
)

FCS_OCTETS = 4
ONE = 1 << 60
"""A probability of 1."""
HALF_BITS, DIGIT_BITS = 30, 20
DIGITS = 3
"""60 bits of a probability are divided out in so many digits, that products fit an int64."""
DRAW_SHIFT = 28
LENGTH_BITS = 24
"""Bits of the number of bits of a frame."""
WRONG = 0
"""Place of "wrong" among the values of `fcs`."""


class BitErrors(Params):
    """Parameters of the bit errors."""

    bit_error_rate: Annotated[Ratio, RatioLimit(10**12)] = Field(
        Fraction(1, 10**9), ge=0, le=1, description="probability that a bit is wrong (p)"
    )
    fcs: Literal["wrong", "right"] = Field(
        "wrong",
        description="the FCS of a corrupted frame: wrong drops it at the link's end, right does "
        "not",
    )

    def most_added(self) -> int:
        """Nothing."""
        return 0


STATE = record("lfsr")


@compiled
def in_sixtieths(num, den):
    """floor(2^60 num / den), for num and den up to 10^12 and num <= den."""
    found, rest = min(num // den, 1) * ONE, num % den
    for digit in range(DIGITS):
        rest <<= DIGIT_BITS
        found += rest // den << (DIGITS - 1 - digit) * DIGIT_BITS
        rest %= den
    return min(found, ONE)


@compiled
def either(one, other):
    """Probability (of 2^60) that one of two independent events happens, or both."""
    both = (one >> HALF_BITS) * (other >> HALF_BITS)
    return min(max(one + other - both, 0), ONE)


@compiled
def frame_error(bit_error, bits):
    """1 - (1 - p)^bits, of 2^60: squares of the probability that no bit is wrong."""
    found, power = 0, bit_error
    for place in range(LENGTH_BITS):
        if (bits >> place) & 1 == 1:
            found = either(found, power)
        power = either(power, power)
    return found


def delay(state, params, port, frame, now, message):
    """The link's delay; whether the frame is corrupted, by two draws."""
    bit_error = in_sixtieths(params.bit_error_rate_num, params.bit_error_rate_den)
    state.lfsr = lfsr_next(state.lfsr)
    high = state.lfsr
    state.lfsr = lfsr_next(state.lfsr)
    draw = (high << DRAW_SHIFT) + (state.lfsr >> 32 - DRAW_SHIFT)
    if draw < frame_error(bit_error, 8 * (frame.length + FCS_OCTETS)):
        message.mark = FCS_WRONG if params.fcs == WRONG else FCS_RIGHT
    return port.delay


BIT_ERRORS: Algorithm = delay_line(
    "bit-errors",
    "the link's delay; frames are corrupted by their length",
    BitErrors,
    STATE,
    delay=delay,
    alters_frames=True,
)
