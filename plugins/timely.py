"""TIMELY: rates from the gradient of round trips (Mittal et al., SIGCOMM 2015, algorithm 1).

Every acknowledgement brings a round trip. Below T_low the rate rises by delta; above T_high it
falls by beta (1 - T_high / RTT), whatever the gradient is; in between by the gradient, which is the
smoothed difference of two round trips over the least one: at or below 0 the rate rises by N delta
(N = 5 when it was below 0 five times in a row, hyper-active increase, else 1), above 0 it falls by
beta times the gradient. The constants are the paper's, for 10 Gb/s.

Where that is silent the authors' published code decides: `weight`, for which the paper has no
number, is 0.02, and no round trip takes more of the rate than `max_decrease`, half of it: both keep
one late frame from being a congestion. The preset `ecn-or-delay` has neither; its weight is that of
Zhu et al. (ECN or Delay, CoNEXT 2016), by which a round trip that is 29 us longer than the one
before takes the whole rate. Decided here: a round trip counts once per `segment` octets
acknowledged, as the paper's segments of 16 KB to 64 KB do, from the segment's departure; a flow
starts at its link's rate over `initial_divisor`. A gradient has 16 bits behind the point; divisions
round down.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from tailback.plugin import (
    NOTHING,
    Algorithm,
    Duration,
    Params,
    Rate,
    Ratio,
    RatioLimit,
    Size,
    reaction_point,
    record,
)

US = 10**6
BIT_PS = 8 * 10**12
BITS = 16
HYPER, STEPS = 5, 5
LONGEST = 10**13
"""A round trip beyond, 10 s, counts as this: no threshold lies there, and a gradient fits."""
MOST_COUNTED = 1 << 40


class Timely(Params):
    """Parameters of the sender."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "timely": {},
        "ecn-or-delay": {"weight": "7/8", "max_decrease": 1},
    }
    former: ClassVar[dict[str, str]] = {
        "low": "t_low",
        "high": "t_high",
        "least": "min_rtt",
        "most": "max_decrease",
        "every": "segment",
        "start_share": "initial_divisor",
    }

    t_low: Duration = Field(50 * US, ge=US, le=10**12, description="T_low: below, always faster")
    t_high: Duration = Field(500 * US, ge=US, le=10**12, description="T_high: above, always slower")
    min_rtt: Duration = Field(
        20 * US, ge=US, le=10**12, description="round trip of an empty network"
    )
    weight: Annotated[Ratio, RatioLimit(10_000)] = Field(
        Fraction(1, 50), gt=0, le=1, description="weight of a new difference, alpha"
    )
    beta: Annotated[Ratio, RatioLimit(900_000)] = Field(
        Fraction(4, 5), gt=0, le=1, description="multiplicative decrease"
    )
    max_decrease: Annotated[Ratio, RatioLimit(900_000)] = Field(
        Fraction(1, 2), gt=0, le=1, description="largest share of one decrease"
    )
    delta: Rate = Field(10_000_000, ge=1, le=10**11, description="additive increase")
    segment: Size = Field(
        16_000, ge=64, le=10**7, description="octets between two round trip samples"
    )
    initial_divisor: int = Field(
        2, ge=1, le=1_000, description="the first rate is the link's over this"
    )
    min_rate: Rate = Field(10_000_000, ge=1, le=10**12, description="the rate never falls below")

    @model_validator(mode="after")
    def _in_order(self) -> Timely:
        if self.t_low >= self.t_high:
            raise ValueError("t_low must be below t_high")
        return self

    def operating_queue(self, rate: int) -> int:
        """Queue that lengthens the shortest round trip to T_low."""
        return max(self.t_low - self.min_rtt, 0) * rate // BIT_PS

    def delay_margin(self, rate: int) -> int:
        """A difference of round trips is cut for by alpha beta over the least one."""
        grown = self.delta * self.min_rtt * self.weight.denominator * self.beta.denominator
        return grown // (rate * self.weight.numerator * self.beta.numerator)


STATE = record("before", "difference", "falls", "counted")


def on_start(state, params, limiter, frame, now, message):
    """A flow begins."""
    limiter.active = 1
    first = max(limiter.link_rate // params.initial_divisor, params.min_rate)
    limiter.rate = min(first, limiter.link_rate)
    limiter.target = limiter.rate
    state.before = 0
    state.difference = 0
    state.falls = 0
    state.counted = 0
    return NOTHING


def on_acked(state, params, limiter, frame, now, message):
    """An acknowledgement is back."""
    state.counted = min(state.counted + limiter.acked, MOST_COUNTED)
    if state.counted < params.segment:
        return NOTHING
    state.counted -= params.segment
    trip = min(limiter.rtt, LONGEST)
    if state.before == 0:
        state.before = trip
    change = trip - state.before
    state.before = trip
    state.difference += (change - state.difference) * params.weight_num // params.weight_den
    gradient = (state.difference << BITS) // params.min_rtt
    state.falls = state.falls + 1 if gradient < 0 else 0
    rate = limiter.rate
    if trip < params.t_low:
        rate += params.delta
    elif trip <= params.t_high and gradient <= 0:
        rate += params.delta * (STEPS if state.falls >= HYPER else 1)
    else:
        over = min(((trip - params.t_high) << BITS) // trip, 1 << BITS)
        beyond = over if trip > params.t_high else gradient
        cut = beyond * params.beta_num // params.beta_den
        rate -= (
            rate * min(cut, (params.max_decrease_num << BITS) // params.max_decrease_den) >> BITS
        )
    limiter.rate = min(max(rate, params.min_rate), limiter.link_rate)
    limiter.target = limiter.rate
    return NOTHING


TIMELY: Algorithm = reaction_point(
    "timely",
    "TIMELY: rates from the gradient of round trips",
    Timely,
    STATE,
    start=on_start,
    acked=on_acked,
)
