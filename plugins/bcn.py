"""BCN (also called ECM) congestion and reaction points, as FECN, sections I to III, describes them.

What its text says: two points; a message goes from the switch to a source as long as the queue is
above a predefined level, and holds the queue's status; sources raise their rates additively and
cut them multiplicatively. What it does not say, and is a parameter or decided here:
- a message is sent for the arriving frame once every `sample_base` octets that arrive;
- the status is how far the queue is above its level and by how much it grew since the last message,
  in the offset and the delta of a CNM; its six bits of feedback are 63 (q - level) / level, at
  least 1 and at most 63;
- a message of feedback F leaves 1 - gd F of the rate, at least half of it;
- a timer adds `ai_rate` to the rate every `time_reset`; the scheme's own positive messages are not
  described.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    FORWARD,
    NEVER,
    NOTHING,
    NOTIFY_ARRIVING,
    Algorithm,
    Duration,
    Params,
    Rate,
    Ratio,
    RatioLimit,
    Size,
    congestion_point,
    reaction_point,
    record,
)

HIGHEST = 63
MS = 10**9
MAX_FRACTION = 900_000
"""Of a ratio that a rate of up to 10 Tb/s is multiplied by: an int64 holds the product."""


class BcnCongestionPoint(Params):
    """Parameters of the congestion point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    former: ClassVar[dict[str, str]] = {"level": "threshold"}

    threshold: Size = Field(
        24_000, ge=64, le=10**9, description="messages are sent above this queue"
    )
    sample_base: Size = Field(
        150_000, ge=64, le=10**9, description="octets that arrive from message to message"
    )

    def sends_cnm(self) -> bool:
        """Always."""
        return True


class BcnReactionPoint(Params):
    """Parameters of the reaction point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {}

    gd: Annotated[Ratio, RatioLimit(MAX_FRACTION)] = Field(
        Fraction(1, 128), gt=0, le=1, description="cut per unit of feedback"
    )
    ai_rate: Rate = Field(5_000_000, ge=1, le=10**12, description="additive increase")
    time_reset: Duration = Field(1 * MS, ge=1_000_000, le=10**13, description="between increases")
    min_rate: Rate = Field(5_000_000, ge=1, le=10**12, description="the rate never falls below")


CP_STATE = record("countdown", "old")
RP_STATE = record("unused")


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives; `queue.bytes` does not hold it yet."""
    state.countdown -= frame.length
    above = queue.bytes - params.threshold
    if state.countdown > 0 or above <= 0:
        return FORWARD
    state.countdown = params.sample_base
    message.feedback = min(max(HIGHEST * above // params.threshold, 1), HIGHEST)
    message.offset = above
    message.delta = queue.bytes - state.old
    state.old = queue.bytes
    return NOTIFY_ARRIVING


def on_feedback(state, params, limiter, frame, now, message):
    """A message arrived: cut the rate."""
    if frame.feedback <= 0:
        return NOTHING
    if limiter.active == 0:
        limiter.active = 1
        limiter.rate = limiter.link_rate
        limiter.timer = now + params.time_reset
    cut = limiter.rate * max(params.gd_den - params.gd_num * frame.feedback, 0) // params.gd_den
    limiter.rate = min(max(cut, limiter.rate // 2, params.min_rate), limiter.link_rate)
    limiter.target = limiter.rate
    return NOTHING


def on_timer(state, params, limiter, frame, now, message):
    """Time to raise the rate; at the link's the limiter is released."""
    limiter.rate = min(limiter.rate + params.ai_rate, limiter.link_rate)
    limiter.target = limiter.rate
    if limiter.rate == limiter.link_rate and limiter.backlog == 0:
        limiter.active = 0
        limiter.timer = NEVER
    else:
        limiter.timer = now + params.time_reset
    return NOTHING


BCN_CP: Algorithm = congestion_point(
    "bcn-cp",
    "BCN: notifies sources of the queue's status above a level",
    BcnCongestionPoint,
    CP_STATE,
    arrival=on_arrival,
)
BCN_RP: Algorithm = reaction_point(
    "bcn-rp",
    "BCN: additive increase, multiplicative decrease",
    BcnReactionPoint,
    RP_STATE,
    feedback=on_feedback,
    timer=on_timer,
)
