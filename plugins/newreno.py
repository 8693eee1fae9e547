"""NewReno: additive increase and multiplicative decrease of a window (RFC 5681, 6582).

Up to `threshold` the window grows by what is acknowledged, by two segments at the most (RFC 3465),
then by a segment per window. A loss, or an ECN mark (RFC 3168), sets it to half of what was under
way, once for all that was sent before the cut (RFC 9002, 7.3.2, says so by times what RFC 6582 says
by sequence numbers): the transport says when lost data was made, an acknowledgement echoes when its
segment left. Until what left after the cut is acknowledged the window does not grow, nor does one
that is not used. Slow start may go on until the window is twice what is under way, where a link or
the transport limits that: a loss then leaves a quarter of the window. A loss that only the
transport's timer finds leaves one segment. After `idle` without anything under way the window is
the initial one at most (RFC 5681, 4.1).

What is sent again, and when, is the transport's (`selective`, `go-back-n`). Windows count octets of
whole frames.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    ACK,
    NEVER,
    NOTHING,
    Algorithm,
    Duration,
    Params,
    Size,
    compiled,
    reaction_point,
    record,
)

ENDLESS = 1 << 40
"""Octets: no window is larger, nor does slow start end before where nothing was cut."""
LEAST = 2
"""Segments below which no threshold goes (RFC 5681, equation 4)."""
IDLE = 0
"""The timer's place."""


class NewReno(Params):
    """Parameters of the sender."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"rfc5681": {}}

    segment: Size = Field(1_500, ge=64, le=9_216, description="a full frame, growth per round trip")
    initial_window: int = Field(10, ge=1, le=10_000, description="segments (RFC 6928)")
    ecn: bool = Field(False, description="frames are ECN-capable, a mark counts as a loss")
    idle: Duration = Field(
        200 * 10**9, ge=10**6, le=10**15, description="idle time, nothing in flight"
    )

    def sends_ect(self) -> bool:
        """True if its frames are ECN-capable, so that switches mark them."""
        return self.ecn


STATE = record(
    "threshold",  # octets
    "owed",  # octets acknowledged that have not made the window a segment larger yet
    "cut_at",  # ps
)


def on_start(state, params, limiter, frame, now, message):
    """A flow begins."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = params.initial_window * params.segment
    state.threshold = ENDLESS
    return NOTHING


@compiled
def _cut(state, params, limiter, under_way, now):
    """Half of what was under way."""
    half = min(limiter.window, under_way) // 2
    state.threshold = max(half, LEAST * params.segment)
    limiter.window = state.threshold
    state.owed = 0
    state.cut_at = now


@compiled
def flight_size(params, limiter):
    """Octets under way when a loss is found, what is lost included (RFC 5681, FlightSize)."""
    return max(limiter.flight_before, limiter.flight + limiter.lost * params.segment)


@compiled
def grow_to_threshold(state, params, limiter, under_way):
    """Slow start of a window that is used: by what was acknowledged, two segments at the most."""
    if 2 * under_way > limiter.window:
        grown = limiter.window + min(limiter.acked, 2 * params.segment)
        limiter.window = min(grown, state.threshold)


def on_acked(state, params, limiter, frame, now, message):
    """An acknowledgement is back."""
    if limiter.flight == 0:
        limiter.timers[IDLE] = now + params.idle
    if frame.created < state.cut_at:
        return NOTHING
    under_way = limiter.flight + limiter.acked
    if params.ecn != 0 and limiter.marked > 0:
        _cut(state, params, limiter, under_way, now)
    elif limiter.window < state.threshold:
        grow_to_threshold(state, params, limiter, under_way)
    elif under_way + params.segment > limiter.window:
        state.owed += limiter.acked
        if state.owed >= limiter.window:
            state.owed = min(state.owed - limiter.window, limiter.window)
            limiter.window = min(limiter.window + params.segment, ENDLESS)
    return NOTHING


def on_lost(state, params, limiter, frame, now, message):
    """The transport found losses: those of what was made before the last cut are known."""
    if limiter.lost_made >= state.cut_at:
        _cut(state, params, limiter, flight_size(params, limiter), now)
    if frame.kind != ACK:
        limiter.window = params.segment
    return NOTHING


def on_sent(state, params, limiter, frame, now, message):
    """A frame leaves."""
    limiter.timers[IDLE] = NEVER
    return NOTHING


def on_idle(state, params, limiter, frame, now, message):
    """Reset the window after an idle period (RFC 5681, section 4.1)."""
    limiter.window = min(limiter.window, params.initial_window * params.segment)
    return NOTHING


NEWRENO: Algorithm = reaction_point(
    "newreno",
    "NewReno: a window that a loss halves",
    NewReno,
    STATE,
    timers={"idle": on_idle},
    start=on_start,
    acked=on_acked,
    lost=on_lost,
    sent=on_sent,
)
