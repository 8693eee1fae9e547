"""Swift: a window that holds the round trip at a target (Kumar et al., SIGCOMM 2020, algorithm 1).

Below its target delay a flow's window grows by `ai` segments per round trip, and by `ai` for every
segment acknowledged where it is below one. Above it the window falls, at most once per round trip,
by beta (delay - target) / delay, and never by more than `max_mdf`. A window below one segment is
paced, which the limiter does. The target is `base_target`, `per_hop` for every
router passed, and a share that falls with the window, so that many flows get a longer one:
alpha / sqrt(window) + b within [0, `flow_scaling_range`], alpha = range / (1 / sqrt(`fs_min_cwnd`)
- 1 / sqrt(`fs_max_cwnd`)), b = -alpha / sqrt(`fs_max_cwnd`).

What this leaves out: delays of end hosts are not apart from those of the fabric, so there is one
window, for what lies between a segment's departure and its acknowledgement. The hops are those of
the acknowledgement on its way back. A loss halves by `max_mdf`, once per round trip.
The paper keeps a window below a largest one and has no number for it: `max_window` is that of the
simulator htsim. Windows count octets of whole frames; square roots are of 2^20 times a number of
segments.
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
    Ratio,
    RatioLimit,
    Size,
    compiled,
    mul_div,
    reaction_point,
    record,
    square_root,
)

US = 10**6
NS = 10**3
BIT_PS = 8 * 10**12
BITS = 20
FixedRatio = Annotated[Ratio, RatioLimit(1_000_000)]
LONGEST = 3 * 10**13
"""A round trip beyond, 30 s, counts as this: it is above every target."""
ENDLESS = 1 << 40
"""Octets: no window is larger."""


class Swift(Params):
    """Parameters of the sender."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"swift": {}}
    former: ClassVar[dict[str, str]] = {
        "base": "base_target",
        "range": "flow_scaling_range",
        "low": "fs_min_cwnd",
        "high": "fs_max_cwnd",
        "least_window": "min_window",
        "most_window": "max_window",
    }

    base_target: Duration = Field(
        25 * US, ge=US, le=10**12, description="target delay without a hop"
    )
    per_hop: Duration = Field(US, ge=0, le=10**11, description="added per router")
    flow_scaling_range: Duration = Field(
        50 * US, ge=0, le=10**12, description="added for small windows"
    )
    fs_min_cwnd: FixedRatio = Field(
        Fraction(1, 10), gt=0, le=100, description="segments: all of `flow_scaling_range`"
    )
    fs_max_cwnd: FixedRatio = Field(
        Fraction(100), gt=0, le=10_000, description="segments: nothing of it"
    )
    ai: Annotated[Ratio, RatioLimit(10_000)] = Field(
        Fraction(1), gt=0, le=100, description="segments of growth per round trip"
    )
    beta: Annotated[Ratio, RatioLimit(100_000)] = Field(
        Fraction(4, 5), gt=0, le=1, description="multiplicative decrease"
    )
    max_mdf: FixedRatio = Field(
        Fraction(1, 2), gt=0, le=1, description="largest share of one decrease"
    )
    segment: Size = Field(1_500, ge=64, le=9_216, description="a full frame")
    initial_window: int = Field(10, ge=1, le=10_000, description="segments")
    min_window: FixedRatio = Field(Fraction(1, 1000), gt=0, le=1, description="segments")
    max_window: int = Field(
        1_000, ge=1, le=10**8, description="segments; the paper has no number, htsim's is this one"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Swift:
        if self.fs_min_cwnd >= self.fs_max_cwnd:
            raise ValueError("fs_min_cwnd must be below fs_max_cwnd")
        return self

    def operating_queue(self, rate: int) -> int:
        """Upper bound: octets served in the target delay, which includes propagation."""
        return self.base_target * rate // BIT_PS

    def delay_margin(self, rate: int) -> int:
        """A window of a round trip is cut by beta of what that took too long, and grows by `ai`."""
        return int(self.ai * self.segment * BIT_PS / (rate * self.beta))


STATE = record("cut_at", "owed")


@compiled
def _inverse_root(num, den):
    """1 / sqrt(num / den), with 20 bits behind the point."""
    return square_root((den << (2 * BITS)) // num)


@compiled
def _target(params, limiter, hops):
    """The delay that a flow of this window is to have."""
    few = _inverse_root(params.fs_min_cwnd_num, params.fs_min_cwnd_den)
    many = _inverse_root(params.fs_max_cwnd_num, params.fs_max_cwnd_den)
    mine = min(max(_inverse_root(max(limiter.window, 1), params.segment), many), few)
    part = mul_div(params.flow_scaling_range, max(mine - many, 0), max(few - many, 1))
    return params.base_target + hops * params.per_hop + part


@compiled
def _decrease(state, params, limiter, num, den, now):
    """Cut by `num / den`, at most by `max_mdf`, at most once per round trip."""
    if now - state.cut_at < limiter.rtt:
        return
    least = params.segment * params.min_window_num // params.min_window_den
    most = limiter.window * params.max_mdf_num // params.max_mdf_den
    part = min(mul_div(limiter.window, num, den), most)
    limiter.window = max(limiter.window - part, least, 1)
    state.cut_at = now
    state.owed = 0


def on_start(state, params, limiter, frame, now, message):
    """A flow begins."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = min(params.initial_window, params.max_window) * params.segment
    state.cut_at = now
    state.owed = 0
    return NOTHING


def on_acked(state, params, limiter, frame, now, message):
    """An acknowledgement is back."""
    target = _target(params, limiter, frame.hops)
    trip = min(limiter.rtt, LONGEST)
    if trip < target:
        whole = max(limiter.window, params.segment)
        state.owed += limiter.acked * params.segment * params.ai_num // params.ai_den
        most = min(params.max_window * params.segment, ENDLESS)
        limiter.window = min(limiter.window + state.owed // whole, most)
        state.owed %= whole
    else:
        over = (trip - target) * params.beta_num // params.beta_den
        _decrease(state, params, limiter, over // NS, max(trip // NS, 1), now)
    return NOTHING


def on_lost(state, params, limiter, frame, now, message):
    """The transport found a loss."""
    _decrease(state, params, limiter, params.max_mdf_num, params.max_mdf_den, now)
    return NOTHING


SWIFT: Algorithm = reaction_point(
    "swift",
    "Swift: a window that holds the round trip at a target",
    Swift,
    STATE,
    start=on_start,
    acked=on_acked,
    lost=on_lost,
)
