"""DCQCN reaction point (docs/settled/algorithms.md#dcqcn): a CNP cuts the rate by alpha/2.

alpha estimates how congested the path is: a CNP moves it towards 1 by g, `alpha_time` without one
towards 0. A cut keeps the rate as target; then a timer and a byte counter count stages, as QCN's
do: both below `threshold` fast recovery, both above it hyper-active, else active increase of the
target, and the rate moves half way to it each time. Flows are sent as ECN-capable.

alpha is an integer in units of 2^-20, rates are in bit/s, all rounded down.

Decided where sources differ: alpha begins at 1; hyper-active increase adds `hai_rate` once per
stage and not times the stage; the timer has 60 us (some use 55 or 300); both counters restart with
a CNP; the target is capped at the link's rate, and a limiter at that rate with nothing waiting is
released, by a frame that leaves as by a timer.

Preset `dcqcn-paper` has the constants of the paper's experiments. Preset `connectx` does what
NVIDIA documents of its NICs, with their defaults, and the names of their parameters are accepted in
their units (`plugins.connectx_parameters`): alpha is updated once per `alpha_time` by whether a CNP
came in it (`alpha_update`); CNPs less than `cut_interval` after a cut make one more cut when that
has passed; a cut leaves `least_share` of the rate; the target follows the rate at a cut only where
the rate has risen since the last one (`clamp_target`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from plugins.connectx_parameters import translated
from plugins.qcn_rp import STAGES
from tailback.plugin import (
    NEVER,
    NOTHING,
    SEND,
    Algorithm,
    Duration,
    EcnParams,
    Observed,
    Rate,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    reaction_point,
    record,
)

US = 10**6
ALPHA_BITS = 20
PER_CNP, PER_PERIOD = range(2)
"""`alpha_update`."""
NO_RISE, BY_TIMER, BY_OCTETS = range(3)
"""The last increase since the last cut: none, of the timer, of the byte counter."""


class DcqcnReactionPoint(EcnParams):
    """Parameters of the reaction point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "dcqcn": {},
        "dcqcn-paper": {"increase_time": "55us"},
        "connectx": {
            "g": "5/1024",
            "alpha_time": "1us",
            "alpha_update": "period",
            "initial_alpha": "1023/1024",
            "increase_time": "300us",
            "byte_reset": "32767B",
            "threshold": 1,
            "ai_rate": "5Mb/s",
            "hai_rate": "50Mb/s",
            "min_rate": "1Mb/s",
            "least_share": "1/2",
            "cut_interval": "4us",
            "clamp_target": False,
        },
    }

    g: Annotated[Ratio, RatioLimit(1_000_000)] = Field(
        Fraction(1, 256), gt=0, le=1, description="weight of one CNP in alpha"
    )
    alpha_time: Duration = Field(
        55 * US, ge=1_000_000, le=10**13, description="without a CNP, alpha falls"
    )
    increase_time: Duration = Field(
        60 * US, ge=1_000_000, le=10**13, description="timer of the increase"
    )
    byte_reset: Size = Field(10_000_000, ge=64, le=10**12, description="octets of its counter")
    threshold: int = Field(5, ge=1, le=1000, description="stages that end fast recovery, F")
    ai_rate: Rate = Field(40_000_000, ge=0, le=10**12, description="active increase, R_AI")
    hai_rate: Rate = Field(200_000_000, ge=0, le=10**12, description="hyper-active, R_HAI")
    min_rate: Rate = Field(10_000_000, ge=1, le=10**12, description="the rate never falls below")
    initial_alpha: Annotated[Ratio, RatioLimit(1_000_000)] = Field(
        Fraction(1), ge=0, le=1, description="alpha at a flow's first CNP"
    )
    alpha_update: Literal["cnp", "period"] = Field(
        "cnp",
        description="cnp: alpha rises with each CNP, and falls after an alpha_time without one; "
        "period: once per alpha_time, by whether a CNP came in it",
    )
    cut_shift: int = Field(
        1, ge=0, le=10, description="a cut takes alpha / 2^cut_shift of the rate"
    )
    least_share: Annotated[Ratio, RatioLimit(1000)] = Field(
        Fraction(0), ge=0, le=1, description="share of the rate that one cut leaves at the least"
    )
    cut_interval: Duration = Field(
        0, ge=0, le=10**13, description="least time between cuts; 0: each CNP cuts"
    )
    clamp_target: bool = Field(
        True, description="each cut makes the rate before it the target; else only after a rise"
    )
    clamp_target_after_timer: bool = Field(
        True, description="without clamp_target: a rise of the timer counts, not of octets alone"
    )

    @classmethod
    def from_table(cls, table: dict[str, Any], where: str = "", *, bare: bool = False) -> Self:
        """As for every algorithm; parameters may have NVIDIA's names, and then its units."""
        return super().from_table(translated(table, where), where, bare=bare)


STATE = record(
    "countdown",
    "alpha",
    "alpha_at",
    "increase_at",
    "byte_stage",
    "timer_stage",
    "cnp_seen",  # 1: a CNP came since alpha was updated last
    "cut_until",  # ps: until then a further cut waits
    "cut_waits",  # 1: one does
    "rise",  # see NO_RISE
)
ALPHA = Observed("alpha", f"2^-{ALPHA_BITS}", "how congested it takes its path to be")


@compiled
def _raise(state, params, limiter):
    """A stage of the timer or the byte counter is over."""
    least = min(state.byte_stage, state.timer_stage)
    most = max(state.byte_stage, state.timer_stage)
    if least > params.threshold:
        limiter.target += params.hai_rate
    elif most >= params.threshold:
        limiter.target += params.ai_rate
    limiter.rate = min((limiter.target + limiter.rate) // 2, limiter.link_rate)
    limiter.target = min(limiter.target, limiter.link_rate)


@compiled
def _release_if_over(state, limiter):
    """At the link's rate with nothing waiting, free the limiter; 1 when it was."""
    if limiter.rate != limiter.link_rate or limiter.backlog != 0:
        return NOTHING
    limiter.active = 0
    limiter.target = limiter.link_rate
    state.byte_stage = 0
    state.timer_stage = 0
    limiter.timer = NEVER
    return SEND


@compiled
def _set_timer(state, limiter):
    """Wake for alpha, for the increase, or for a cut that waits."""
    limiter.timer = min(state.alpha_at, state.increase_at)
    if state.cut_waits != 0:
        limiter.timer = min(limiter.timer, state.cut_until)


@compiled
def _cut(state, params, limiter, now):
    """Cut the rate by alpha / 2^cut_shift of it, and restart the stages."""
    timer_counts = state.rise == BY_TIMER and params.clamp_target_after_timer != 0
    if params.clamp_target != 0 or state.rise == BY_OCTETS or timer_counts:
        limiter.target = limiter.rate
    bits = ALPHA_BITS + params.cut_shift
    above = limiter.rate >> bits
    below = limiter.rate & ((1 << bits) - 1)  # an int64 holds both products
    cut = above * state.alpha + (below * state.alpha >> bits)
    floor = limiter.rate * params.least_share_num // params.least_share_den
    limiter.rate = min(max(limiter.rate - cut, floor, params.min_rate), limiter.link_rate)
    state.byte_stage = 0
    state.timer_stage = 0
    state.rise = NO_RISE
    state.countdown = params.byte_reset
    state.increase_at = now + params.increase_time
    state.cut_until = now + params.cut_interval
    state.cut_waits = 0


def on_feedback(state, params, limiter, frame, now, message):
    """A CNP arrived."""
    if limiter.active == 0:
        limiter.active = 1
        limiter.rate = limiter.link_rate
        limiter.target = limiter.link_rate
        state.alpha = (1 << ALPHA_BITS) * params.initial_alpha_num // params.initial_alpha_den
        state.alpha_at = now + params.alpha_time
        state.cut_until = now
        state.cut_waits = 0
        state.rise = NO_RISE
    state.cnp_seen = 1
    if now < state.cut_until:
        state.cut_waits = 1
    else:
        _cut(state, params, limiter, now)
    if params.alpha_update == PER_CNP:
        missing = (1 << ALPHA_BITS) - state.alpha
        state.alpha += missing * params.g_num // params.g_den
        state.alpha_at = now + params.alpha_time
    _set_timer(state, limiter)
    return NOTHING


def on_sent(state, params, limiter, frame, now, message):
    """A frame left: release the limiter, or count its octets."""
    # never true (`limiter.active == 0`): node logic calls active limiters alone
    if limiter.active == 0 or _release_if_over(state, limiter) == 1:
        return NOTHING
    state.countdown -= frame.length
    if state.countdown <= 0:
        state.countdown += params.byte_reset
        state.byte_stage += 1
        state.rise = BY_OCTETS
        _raise(state, params, limiter)
        _release_if_over(state, limiter)
    return NOTHING


@compiled
def _update_alpha(state, params, now):
    """An `alpha_time` is over: alpha rises where a CNP counts as one of it, and falls otherwise."""
    if params.alpha_update == PER_PERIOD and state.cnp_seen != 0:
        missing = (1 << ALPHA_BITS) - state.alpha
        state.alpha += missing * params.g_num // params.g_den
    else:
        state.alpha -= state.alpha * params.g_num // params.g_den
    state.cnp_seen = 0
    state.alpha_at = now + params.alpha_time


def on_timer(state, params, limiter, frame, now, message):
    """A cut that waited, the timer of alpha or that of the increase is due."""
    # never true: node logic calls active limiters alone
    if limiter.active == 0:
        return NOTHING
    if state.cut_waits != 0 and state.cut_until <= now:
        _cut(state, params, limiter, now)
    if state.alpha_at <= now:
        _update_alpha(state, params, now)
    if state.increase_at <= now:
        state.increase_at = now + params.increase_time
        state.timer_stage += 1
        state.rise = BY_TIMER
        _raise(state, params, limiter)
    _set_timer(state, limiter)
    _release_if_over(state, limiter)
    return NOTHING


DCQCN_RP: Algorithm = reaction_point(
    "dcqcn-rp",
    "DCQCN: cuts by alpha/2 with a CNP, recovers by time and octets",
    DcqcnReactionPoint,
    STATE,
    columns=(*STAGES, ALPHA),
    bounds={"alpha": (0, 1 << ALPHA_BITS)},
    feedback=on_feedback,
    sent=on_sent,
    timer=on_timer,
)
