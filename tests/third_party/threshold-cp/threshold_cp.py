"""A congestion point for tailback: feedback in proportion to the queue above a threshold.

congestion_point = { plugin = "threshold-cp", preset = "shallow" }
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    FORWARD,
    NOTIFY_ARRIVING,
    Params,
    Size,
    congestion_point,
    hookimpl,
    jittered,
    lfsr_next,
    record,
)

LARGEST = 63
"""Feedback has six bits."""


class ThresholdParams(Params):
    """Parameters of the threshold congestion point."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"shallow": {"threshold": "8KB", "span": "16KB"}}

    threshold: Size = Field(30_000, ge=0, le=10**9, description="no feedback up to this queue")
    span: Size = Field(60_000, ge=1, le=10**9, description="so far above it feedback is largest")
    interval: Size = Field(15_000, ge=64, le=10**9, description="octets between samples, +-15 %")


STATE = record("countdown", "lfsr")


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives; at a sample its source is told when the queue is above the threshold."""
    state.countdown -= frame.length
    if state.countdown > 0:
        return FORWARD
    state.lfsr = lfsr_next(state.lfsr)
    state.countdown = jittered(params.interval, state.lfsr)
    above = queue.bytes - params.threshold
    if above <= 0:
        return FORWARD
    message.feedback = min(above * LARGEST // params.span + 1, LARGEST)
    message.offset = above
    message.delta = 0
    return NOTIFY_ARRIVING


THRESHOLD_CP = congestion_point(
    "threshold-cp",
    "feedback in proportion to the queue above a threshold",
    ThresholdParams,
    STATE,
    arrival=on_arrival,
)


@hookimpl
def tailback_algorithms():
    """The threshold congestion point."""
    return [THRESHOLD_CP]
