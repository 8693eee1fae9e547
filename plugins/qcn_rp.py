"""QCN reaction point (IEEE 802.1Qau; QCN 2.2, L1-L145).

Feedback cuts the current rate; expiries of a byte counter and of a timer raise it again, by fast
recovery, active increase and hyper-active increase. Rates are integers in bit/s: the cut, the
division of the target by 8 and the mean of target and current are rounded down.

Departures from the pseudo code (docs/settled/algorithms.md#qcn-reaction-point):
- any feedback above 0 activates a limiter, whatever the sign of the offset (L19);
- only the limiter that is activated gets a new byte count (L25 resets every limiter's);
- release clears the timer's stage as well (L101-L108 forgets it);
- a limiter is released at whatever event brings it to the link's rate with nothing waiting, not
  only when a frame leaves (L97-L109): after its source stopped none would;
- on a link below `min_rate` the least rate is the link's (L58-L60 would raise the rate above C);
- target is capped at C together with current; `cap_target = false` is the pseudo code's way.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    AS_VERILOG_TOO,
    NEVER,
    NOTHING,
    SEND,
    Algorithm,
    Duration,
    Observed,
    Params,
    Rate,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    jittered,
    lfsr_next,
    reaction_point,
    record,
)

MS = 1_000_000_000
TARGET_LIMIT = 1 << 60
"""An uncapped target grows with the square of the stages; it must not run over an int64."""
MOST_STAGES = 8_000_000
"""So many increases at once are beyond any link's rate, and within an int64."""
MAX_FRACTION = 900_000
"""Of a ratio that a rate of up to 10 Tb/s is multiplied by: an int64 holds the product."""


class QcnReactionPoint(Params):
    """Parameters of the reaction point, named after IEEE8021-CN-MIB."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "ieee": {},
        "netfpga": {
            "time_reset": "25ms",
            "ai_rate": "0.5Mb/s",
            "hai_rate": "5Mb/s",
            "min_rate": "0.5Mb/s",
        },
        "pseudocode": {"min_rate": "10Mb/s", "cap_target": False},
        "ibm-10g": {"time_reset": "10ms"},
        "ibm-100g": {"time_reset": "2ms", "ai_rate": "15Mb/s", "hai_rate": "250Mb/s"},
    }

    time_reset: Duration = Field(15 * MS, ge=1_000_000, le=3600 * 1000 * MS, description="timer")
    byte_reset: Size = Field(150_000, ge=64, le=10**12, description="octets of the byte counter")
    threshold: int = Field(5, ge=1, le=1000, description="expiries that end fast recovery")
    ai_rate: Rate = Field(5_000_000, ge=0, le=10**12, description="active increase")
    hai_rate: Rate = Field(50_000_000, ge=0, le=10**12, description="hyper-active increase")
    gd: Annotated[Ratio, RatioLimit(MAX_FRACTION)] = Field(
        Fraction(1, 128), ge=0, le=1, description="cut per unit of feedback"
    )
    min_decrease_factor: Annotated[Ratio, RatioLimit(MAX_FRACTION)] = Field(
        Fraction(1, 2), ge=0, le=1, description="least share of the rate after one message"
    )
    min_rate: Rate = Field(5_000_000, ge=1, le=10**12, description="the rate never falls below")
    extra_fast_recovery: bool = Field(
        True, description="of messages in a row the first alone takes target and byte counter back"
    )
    cap_target: bool = Field(True, description="cap the target rate at the link rate")
    jitter: bool = Field(True, description="spread the intervals by +-15 %")


STATE = record("countdown", "lfsr", "byte_stage", "timer_stage")
STAGES = (
    Observed(
        "byte_stage", "1", "cycles of its byte counter since the last message", measured=False
    ),
    Observed("timer_stage", "1", "cycles of its timer since the last message", measured=False),
)


@compiled
def _reload(state, params, interval, stage):
    """The interval after an expiry: half of it from the threshold on, spread by the jitter."""
    if stage >= params.threshold:
        interval //= 2
    if params.jitter != 0:
        state.lfsr = lfsr_next(state.lfsr)
        interval = jittered(interval, state.lfsr)
    return interval


@compiled
def _increase(state, params, limiter):
    """Raise the rate after an expiry (L62-L95)."""
    least = min(state.byte_stage, state.timer_stage)
    most = max(state.byte_stage, state.timer_stage)
    step = 0
    if least > params.threshold:
        step = params.hai_rate * min(least - params.threshold, MOST_STAGES)
    elif most > params.threshold:
        step = params.ai_rate
    first = state.byte_stage == 1 or state.timer_stage == 1
    if first and limiter.target > 10 * limiter.rate:
        limiter.target //= 8
    else:
        limiter.target += step
    limiter.rate = min((limiter.target + limiter.rate) // 2, limiter.link_rate)
    cap = limiter.link_rate if params.cap_target != 0 else TARGET_LIMIT
    limiter.target = min(limiter.target, cap)


@compiled
def _release_if_over(state, params, limiter):
    """At the link's rate with nothing waiting, free the limiter (L101-L108); 1 when it was."""
    if limiter.rate != limiter.link_rate or limiter.backlog != 0:
        return NOTHING
    limiter.active = 0
    limiter.target = limiter.link_rate
    state.byte_stage = 0
    state.timer_stage = 0
    limiter.timer = NEVER
    state.countdown = params.byte_reset
    return SEND


def on_feedback(state, params, limiter, frame, now, message):
    """A message arrived (L13-L61): activate the limiter if need be, then cut its rate."""
    feedback = frame.feedback
    if feedback <= 0:
        return NOTHING
    if limiter.active == 0:
        limiter.active = 1
        limiter.rate = limiter.link_rate
        limiter.target = limiter.link_rate
        state.byte_stage = 0
        state.timer_stage = 0
        state.countdown = params.byte_reset
    if state.byte_stage != 0 or params.extra_fast_recovery == 0:
        limiter.target = limiter.rate
        state.countdown = params.byte_reset
    state.byte_stage = 0
    state.timer_stage = 0
    cut = limiter.rate * max(params.gd_den - params.gd_num * feedback, 0) // params.gd_den
    least = limiter.rate * params.min_decrease_factor_num // params.min_decrease_factor_den
    limiter.rate = max(cut, least, min(params.min_rate, limiter.link_rate))
    limiter.timer = now + params.time_reset
    _release_if_over(state, params, limiter)
    return NOTHING


def on_sent(state, params, limiter, frame, now, message):
    """A frame left (L97-L127): release the limiter, or count the octets down."""
    # never true (`limiter.active == 0`): node logic calls active limiters alone
    if limiter.active == 0 or _release_if_over(state, params, limiter) == 1:
        return NOTHING
    state.countdown -= frame.length
    if state.countdown < 0:
        state.byte_stage += 1
        state.countdown = _reload(state, params, params.byte_reset, state.byte_stage)
        _increase(state, params, limiter)
        _release_if_over(state, params, limiter)
    return NOTHING


def on_timer(state, params, limiter, frame, now, message):
    """The timer expired (L129-L145)."""
    # never true: node logic calls active limiters alone
    if limiter.active == 0:
        return NOTHING
    state.timer_stage += 1
    limiter.timer = now + _reload(state, params, params.time_reset, state.timer_stage)
    _increase(state, params, limiter)
    _release_if_over(state, params, limiter)
    return NOTHING


QCN_RP: Algorithm = reaction_point(
    "qcn-rp",
    "QCN reaction point of IEEE 802.1Qau",
    QcnReactionPoint,
    STATE,
    forms=AS_VERILOG_TOO,
    columns=STAGES,
    feedback=on_feedback,
    sent=on_sent,
    timer=on_timer,
)
