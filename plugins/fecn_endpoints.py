"""FECN endpoints (FECN, section III.A): sources that probe, sinks that reflect the probes.

A source is limited from its start, at `initial_rate`. Every `interval` it sends a probe that asks
for its link's rate; the rate in the echo is its rate from then on. Probes of sources that start
together are spread over the interval at random.

Decided where the paper is silent: what a source sends at before its first echo (`initial_rate`; 0
is the link's rate) and how often it asks (as often as switches measure).
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    ECHO,
    NOTHING,
    REFLECT,
    SEND,
    Algorithm,
    Duration,
    Params,
    Rate,
    lfsr_next,
    notification_point,
    reaction_point,
    record,
)

MS = 10**9


class FecnReactionPoint(Params):
    """Parameters of the source."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {}}
    former: ClassVar[dict[str, str]] = {"spread": "random_start"}

    interval: Duration = Field(MS, ge=1_000_000, le=10**13, description="between probes")
    initial_rate: Rate = Field(0, ge=0, le=10**12, description="until the first echo; 0: link")
    min_rate: Rate = Field(1_000_000, ge=1, le=10**12, description="the rate never falls below")
    random_start: bool = Field(
        True, description="the first probe comes at random within an interval"
    )


class FecnReflector(Params):
    """The reflector has no parameters."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"paper": {}}


STATE = record("lfsr")
NO_STATE = record("unused")


def on_start(state, params, limiter, frame, now, message):
    """The flow begins."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    if params.initial_rate > 0:
        limiter.rate = min(params.initial_rate, limiter.link_rate)
    limiter.target = limiter.rate
    limiter.timer = now
    if params.random_start != 0:
        state.lfsr = lfsr_next(state.lfsr)
        limiter.timer = now + ((params.interval >> 16) * (state.lfsr >> 16))
    return NOTHING


def on_timer(state, params, limiter, frame, now, message):
    """Send a probe that requests the link's rate."""
    limiter.timer = now + params.interval
    message.feedback = limiter.link_rate
    return SEND


def on_feedback(state, params, limiter, frame, now, message):
    """An echo brings the rate that every switch of the path grants."""
    if frame.kind == ECHO:
        limiter.active = 1
        limiter.rate = min(max(frame.feedback, params.min_rate), limiter.link_rate)
        limiter.target = limiter.rate
    return NOTHING


def on_probe(state, params, node, frame, now, message):
    """A probe has arrived: back with it."""
    return REFLECT


FECN_RP: Algorithm = reaction_point(
    "fecn-rp",
    "FECN: requests a rate by probes, sends at the granted rate",
    FecnReactionPoint,
    STATE,
    start=on_start,
    timer=on_timer,
    feedback=on_feedback,
)
FECN_REFLECTOR: Algorithm = notification_point(
    "fecn-reflector",
    "FECN: turns probes round at their destination",
    FecnReflector,
    NO_STATE,
    probe=on_probe,
)
