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
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import Field

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
HALVED = (1 << (ALPHA_BITS + 1)) - 1


class DcqcnReactionPoint(EcnParams):
    """Parameters of the reaction point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"dcqcn": {}}

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


STATE = record("countdown", "alpha", "alpha_at", "increase_at", "byte_stage", "timer_stage")
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


def on_feedback(state, params, limiter, frame, now, message):
    """A CNP arrived."""
    if limiter.active == 0:
        limiter.active = 1
        limiter.rate = limiter.link_rate
        state.alpha = 1 << ALPHA_BITS
    limiter.target = limiter.rate
    above, below = limiter.rate >> (ALPHA_BITS + 1), limiter.rate & HALVED  # an int64 holds both
    cut = above * state.alpha + (below * state.alpha >> (ALPHA_BITS + 1))
    limiter.rate = max(limiter.rate - cut, params.min_rate)
    missing = (1 << ALPHA_BITS) - state.alpha
    state.alpha += missing * params.g_num // params.g_den
    state.byte_stage = 0
    state.timer_stage = 0
    state.countdown = params.byte_reset
    state.alpha_at = now + params.alpha_time
    state.increase_at = now + params.increase_time
    limiter.timer = min(state.alpha_at, state.increase_at)
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
        _raise(state, params, limiter)
        _release_if_over(state, limiter)
    return NOTHING


def on_timer(state, params, limiter, frame, now, message):
    """The timer of alpha or that of the increase is due."""
    # never true: node logic calls active limiters alone
    if limiter.active == 0:
        return NOTHING
    if state.alpha_at <= now:
        state.alpha -= state.alpha * params.g_num // params.g_den
        state.alpha_at = now + params.alpha_time
    if state.increase_at <= now:
        state.increase_at = now + params.increase_time
        state.timer_stage += 1
        _raise(state, params, limiter)
    limiter.timer = min(state.alpha_at, state.increase_at)
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
