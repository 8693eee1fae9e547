"""Pareto on/off source: bursts at the peak rate and silences of Pareto distributed lengths.

A burst lasts `burst` on average; the mean silence is what makes the average rate `rate`. Lengths
are x_m / U^(1/shape) with x_m = mean (shape - 1) / shape (FECN, section IV: bursts of 10 ms,
shape 1.5). A small shape has a heavy tail: averages over a run stay far from the mean for long.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Self

from pydantic import Field, model_validator

from tailback.plugin import (
    BIT_PS,
    NEVER,
    Algorithm,
    Duration,
    Params,
    Rate,
    Ratio,
    RatioLimit,
    Sender,
    compiled,
    lfsr_next,
    record,
    traffic,
)

# Arithmetic of sources in whole numbers: kernels agree to the bit wherever they run.
#
# Logarithm and power of two are fixed-point with 30 bits behind the point. Intervals and shares are
# exact on average: what a division leaves over is carried on, or is below a part in 2^32.

BITS = 30
UNIT = 1 << BITS
ROOTS = tuple(round(2 ** (2.0**-place) * UNIT) for place in range(1, BITS + 1))
"""2^(1/2), 2^(1/4), ...: the factor that each bit of an exponent's fraction stands for."""
LARGEST = 1 << 61
DIGIT = 20
"""Bits of the digits that long products are made of."""


@compiled
def scale_down(whole, share, of):
    """whole * share / of, rounded down, for a whole of 0 .. 2^60 and 0 <= share <= of < 2^41.

    The product need not fit an int64: digits of 20 bits of the whole are multiplied one by one.
    A share above `of` counts as `of`.
    """
    share = min(share, of)
    found = 0
    rest = 0
    for place in range(2, -1, -1):
        digit = (whole >> (DIGIT * place)) & ((1 << DIGIT) - 1)
        rest = (rest << DIGIT) + digit * share
        found = (found << DIGIT) + rest // of
        rest %= of
    return found


@compiled
def slot(state, octets, rate):
    """ps that a frame takes at a rate (bit/s), on average exactly: what the division leaves over
    is in `state.carry`, in ps times bit/s."""
    state.carry = state.carry % rate + octets * BIT_PS % rate
    whole = octets * BIT_PS // rate
    if state.carry >= rate:
        state.carry -= rate
        return whole + 1
    return whole


@compiled
def negative_log2(random):
    """-log2(random / 2^32) for 1 <= random < 2^32, 30 bits behind the point, rounded up."""
    whole = 0
    while random >> (whole + 1) != 0:
        whole += 1
    x = random << (BITS - whole) if whole <= BITS else random >> (whole - BITS)
    fraction = 0
    for _ in range(BITS):
        x = x * x >> BITS
        fraction <<= 1
        if x >= 2 * UNIT:
            x >>= 1
            fraction += 1
    return (32 << BITS) - (whole << BITS) - fraction


@compiled
def times_power(base, exponent):
    """base * 2^exponent for base (ps) of 0 .. 2^50, to 1 in 10^6 and 2 ps, at most 2^61."""
    factor = UNIT
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


MOST_PEAK = 1000
MOST_DRAWS = 1000
"""Bursts that are drawn for one frame; beyond, mean ones are taken."""


class ParetoOnOff(Params):
    """Parameters of a Pareto on/off source."""

    rate: Rate = Field(1_000_000_000, ge=1, le=10**12, description="rate of the source, on average")
    peak: Rate = Field(10_000_000_000, ge=1, le=10**12, description="rate within a burst")
    burst: Duration = Field(10 * 10**9, ge=10**6, le=10**12, description="mean length of a burst")
    shape: Annotated[Ratio, RatioLimit(10_000)] = Field(
        Fraction(3, 2), gt=1, le=100, description="of both distributions; small: heavy tail"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.rate <= self.peak <= self.rate * MOST_PEAK:
            raise ValueError(f"'peak' has to be 1 to {MOST_PEAK} times 'rate'")
        return self

    def frames_offered(self, sender: Sender) -> int | None:
        """At `rate`, each flow."""
        return sender.flows * sender.frames_at(self.rate)


STATE = record("lfsr", "begun", "left", "carry")
"""`left` (ps): of the burst under way, whose frames go on while a whole slot fits; what does not
fit lengthens the next burst, so that none of the rate is lost to whole frames. `begun`: 1 once the
first burst is drawn. `carry`: of the slots, see `traffic.pareto_on_off.slot`."""


@compiled
def draw_length(state, params, mean):
    """A length (ps) of the Pareto distribution with this mean."""
    state.lfsr = lfsr_next(state.lfsr)
    least = scale_down(mean, max(params.shape_num - params.shape_den, 0), params.shape_num)
    exponent = negative_log2(state.lfsr) * params.shape_den // params.shape_num
    return times_power(least, exponent)


def interval(state, params, flow, frame, now, message):
    """ps from this frame to the next: of the burst under way, or of the next one."""
    gap = slot(state, flow.length, params.peak)
    beyond = max(params.peak - params.rate, 0)
    if state.begun == 0:  # begin within a burst or before one, as likely as at any other time
        state.begun = 1
        state.lfsr = lfsr_next(state.lfsr)
        if (state.lfsr >> 12) * params.peak < params.rate << 20:
            state.left = draw_length(state, params, params.burst)
    if beyond == 0:
        return gap
    state.left -= gap
    full = gap
    off = params.burst * min(beyond // params.rate, MOST_PEAK)
    off += scale_down(params.burst, beyond % params.rate, params.rate)
    draws = 0
    while state.left < full and draws < MOST_DRAWS:
        draws += 1
        gap = min(gap + draw_length(state, params, off), NEVER)
        state.left += draw_length(state, params, params.burst)
    if state.left < full:  # a frame of so many bursts that their mean is known
        bursts = (full - state.left + params.burst - 1) // params.burst
        gap = min(gap + min(bursts, NEVER // 2 // max(off, 1)) * off, NEVER)
        state.left = full + (state.left - full) % params.burst
    return gap


PARETO: Algorithm = traffic(
    "pareto-onoff",
    "bursts and silence of Pareto lengths",
    ParetoOnOff,
    STATE,
    next=interval,
    bounds={"left": (0, 1 << 62)},
)
