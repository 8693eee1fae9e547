"""A scheme for tailback that asks no switch: rates by round-trip times, in the manner of TIMELY.

A source remembers when it sent a frame out of `every`; the destination answers that frame, and the
answer gives a round-trip time. Below `low` the rate rises by `step`, above `high` it is cut by how
far; in between it follows the gradient of the averaged time, five times faster after five rises.

reaction_point = { plugin = "delay-rp" }           # of every NIC
notification_point = { plugin = "delay-echo" }     # of every destination
"""

from __future__ import annotations

from fractions import Fraction

from pydantic import Field

from tailback.plugin import (
    NOTHING,
    SEND,
    Duration,
    Params,
    Rate,
    Ratio,
    compiled,
    hookimpl,
    notification_point,
    reaction_point,
    record,
)

US = 10**6
ONE = 1 << 20
"""A gradient of 1: the time grows by the shortest one from answer to answer."""


class Source(Params):
    """Parameters of the source."""

    every: int = Field(16, ge=1, le=10**6, description="frames from one measured to the next")
    low: Duration = Field(50 * US, ge=1, le=10**12, description="below it the rate rises")
    high: Duration = Field(500 * US, ge=1, le=10**12, description="above it the rate is cut")
    shortest: Duration = Field(20 * US, ge=1, le=10**12, description="time of an empty path")
    step: Rate = Field(10_000_000, ge=1, le=10**11, description="additive increase")
    beta: Ratio = Field(Fraction(4, 5), gt=0, le=1, description="multiplicative decrease")
    weight: Ratio = Field(Fraction(1, 4), gt=0, le=1, description="of the newest difference")
    initial_rate: Rate = Field(0, ge=0, le=10**12, description="0: the link's")
    min_rate: Rate = Field(1_000_000, ge=1, le=10**12, description="the rate never falls below")
    patience: Duration = Field(10_000 * US, ge=1, le=10**13, description="an answer is lost then")


class Echo(Params):
    """Parameters of the destination."""

    every: int = Field(16, ge=1, le=10**6, description="frames from one answered to the next")


SOURCE_STATE = record("sequence", "sent_at", "waiting", "last", "difference", "rises")
ECHO_STATE = record("unused")


def on_start(state, params, limiter, frame, now, message):
    """The flow begins."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    if params.initial_rate > 0:
        limiter.rate = min(params.initial_rate, limiter.link_rate)
    limiter.target = limiter.rate
    return NOTHING


def on_sent(state, params, limiter, frame, now, message):
    """A frame leaves: measure it when it is one that will be answered."""
    lost = now - state.sent_at > params.patience
    if frame.sequence % params.every == 0 and (state.waiting == 0 or lost):
        state.waiting = 1
        state.sequence = frame.sequence
        state.sent_at = now
    return NOTHING


@compiled
def _follow_gradient(state, params, limiter):
    """Between the two bounds."""
    gradient = state.difference * ONE // params.shortest
    if gradient <= 0:
        state.rises += 1
        limiter.rate += params.step * (5 if state.rises >= 5 else 1)
    else:
        state.rises = 0
        part = min(gradient, ONE) * params.beta_num // params.beta_den
        limiter.rate -= (limiter.rate >> 10) * part >> 10


def on_feedback(state, params, limiter, frame, now, message):
    """An answer: a new round-trip time."""
    if state.waiting == 0 or frame.sequence != state.sequence:
        return NOTHING
    state.waiting = 0
    time = now - state.sent_at
    if state.last > 0:
        newest = time - state.last - state.difference
        state.difference += newest * params.weight_num // params.weight_den
    state.last = time
    if time < params.low:
        limiter.rate += params.step
    elif time > params.high:
        state.rises = 0
        part = (ONE - params.high * ONE // time) * params.beta_num // params.beta_den
        limiter.rate -= (limiter.rate >> 10) * part >> 10
    else:
        _follow_gradient(state, params, limiter)
    limiter.rate = min(max(limiter.rate, params.min_rate), limiter.link_rate)
    limiter.target = limiter.rate
    return NOTHING


def on_arrival(state, params, node, frame, now, message):
    """A data frame arrived: answer one out of `every`."""
    return SEND if frame.sequence % params.every == 0 else NOTHING


SOURCE = reaction_point(
    "delay-rp",
    "rates by round-trip times",
    Source,
    SOURCE_STATE,
    start=on_start,
    sent=on_sent,
    feedback=on_feedback,
)
ECHO = notification_point("delay-echo", "answers frames", Echo, ECHO_STATE, arrival=on_arrival)


@hookimpl
def tailback_algorithms():
    """Both ends of the scheme."""
    return [SOURCE, ECHO]
