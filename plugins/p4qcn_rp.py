"""P4QCN reaction point (P4QCN, section 3.1.2, equations 2 to 4): QCN's without a timer.

A returned header keeps the rate as target and takes beta/2 of it; then five cycles of the byte
counter recover half of what is missing each, and every later one adds `ai_rate` to the target
first. Rates are integers in bit/s, rounded down.

Decided where the paper is silent:
- the rate that the first message cuts is `initial_rate`; the paper's source cuts the rate it was
  sending at (4 Mb/s in P4QCN, figure 12), not its link's. 0 stands for the link's;
- the byte counter has QCN's 150 KB, no jitter and no shorter interval after fast recovery, since
  the paper mentions neither;
- target and rate are capped at the link's rate; a limiter at that rate with nothing waiting is
  released, also by the cycle that takes it there. A source that stops below it keeps its limiter:
  nothing but octets raises the rate;
- any message cuts again, also in fast recovery: P4QCN, figure 6 has that transition from
  each state.
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
    Params,
    Rate,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    reaction_point,
    record,
)


class P4qcnReactionPoint(Params):
    """Parameters of the reaction point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {},
        "paper-x100": {"ai_rate": "500Mb/s", "min_rate": "1Mb/s"},
    }

    beta: Annotated[Ratio, RatioLimit(900_000)] = Field(
        Fraction(1), gt=0, le=1, description="rate reduction; 1 halves the rate"
    )
    cycles: int = Field(5, ge=1, le=1000, description="cycles of fast recovery, N")
    byte_reset: Size = Field(150_000, ge=64, le=10**12, description="octets of a cycle")
    ai_rate: Rate = Field(5_000_000, ge=0, le=10**12, description="active increase, R_AI")
    min_rate: Rate = Field(10_000, ge=1, le=10**12, description="the rate never falls below")
    initial_rate: Rate = Field(
        0, ge=0, le=10**12, description="rate that the first message cuts; 0: the link's"
    )


STATE = record("countdown", "byte_stage")


def on_feedback(state, params, limiter, frame, now, message):
    """A message arrived, of whatever kind: keep the rate as target, then cut it (equation 2)."""
    if limiter.active == 0:
        limiter.active = 1
        limiter.rate = limiter.link_rate
        if params.initial_rate > 0:
            limiter.rate = min(params.initial_rate, limiter.link_rate)
    limiter.target = limiter.rate
    lost = limiter.rate * params.beta_num // (2 * params.beta_den)
    limiter.rate = min(max(limiter.rate - lost, params.min_rate), limiter.link_rate)
    state.byte_stage = 0
    state.countdown = params.byte_reset
    return NOTHING


@compiled
def _release_if_over(state, limiter):
    """At the link's rate with nothing waiting, free the limiter; 1 when it was."""
    if limiter.rate != limiter.link_rate or limiter.backlog != 0:
        return NOTHING
    limiter.active = 0
    limiter.target = limiter.link_rate
    state.byte_stage = 0
    limiter.timer = NEVER
    return SEND


def on_sent(state, params, limiter, frame, now, message):
    """A frame left: release the limiter, or count its octets; a cycle raises the rate."""
    # never true (`limiter.active == 0`): node logic calls active limiters alone
    if limiter.active == 0 or _release_if_over(state, limiter) == 1:
        return NOTHING
    state.countdown -= frame.length
    if state.countdown > 0:
        return NOTHING
    state.countdown += params.byte_reset
    state.byte_stage += 1
    if state.byte_stage > params.cycles:
        limiter.target += params.ai_rate
    limiter.rate = min((limiter.target + limiter.rate) // 2, limiter.link_rate)
    limiter.target = min(limiter.target, limiter.link_rate)
    _release_if_over(state, limiter)
    return NOTHING


P4QCN_RP: Algorithm = reaction_point(
    "p4qcn-rp",
    "P4QCN: halves the rate, recovers by octets sent",
    P4qcnReactionPoint,
    STATE,
    columns=STAGES[:1],
    feedback=on_feedback,
    sent=on_sent,
)
