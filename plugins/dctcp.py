"""DCTCP: a window cut by the share of marked octets (Alizadeh et al., SIGCOMM 2010; RFC 8257).

Once per window of octets the share F of those that came with ECN 11 enters alpha, alpha = (1 - g)
alpha + g F (equation 1). The first mark that arrives in a window cuts it by alpha / 2 (equation
2), once per window. In between it grows as TCP's does: by what is acknowledged up to the first cut,
by a segment per round trip after it (RFC 5681); neither where it is not used. A loss halves it,
once for all that was sent before the cut (RFC 8257, 3.5); one that only the transport's timer finds
leaves one segment. The switch marks what finds more than
K octets in its queue: `red` with `low` and `high` together at K and `most` 1.

Decided where the paper is silent: alpha begins at 1 (RFC 8257), so that the first mark halves; the
window never falls below two segments but after a timeout. Windows count octets of whole frames.
Divisions round down; alpha has 20 bits behind the point.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import Field

from tailback.plugin import (
    ACK,
    NOTHING,
    Algorithm,
    EcnParams,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    reaction_point,
    record,
)

ALPHA_BITS = 20
ALPHA_UNIT = 1 << ALPHA_BITS
ENDLESS = 1 << 40
"""Octets: no window is larger, nor is more counted of one."""


class Dctcp(EcnParams):
    """Parameters of the sender."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"dctcp": {}}
    former: ClassVar[dict[str, str]] = {"least_window": "min_window"}

    g: Annotated[Ratio, RatioLimit(1_000_000)] = Field(
        Fraction(1, 16), gt=0, le=1, description="weight of one window in alpha"
    )
    segment: Size = Field(1_500, ge=64, le=9_216, description="a full frame, growth per round trip")
    initial_window: int = Field(10, ge=1, le=10_000, description="segments (RFC 6928)")
    min_window: int = Field(2, ge=1, le=1_000, description="segments; no mark goes below")


STATE = record(
    "alpha",
    "threshold",  # octets: below it the window grows by all that is acknowledged
    "end",  # of the window that is observed, as `limiter.acked_total` will be
    "seen",  # octets acknowledged in it
    "marks",  # of these marked
    "cut_until",  # likewise: what is marked before it was cut for
    "owed",  # octets acknowledged that have not made the window a segment larger yet
    "lost_at",  # ps: what is lost of that made before is known
)


def on_start(state, params, limiter, frame, now, message):
    """A flow begins."""
    limiter.active = 1
    limiter.rate = limiter.link_rate
    limiter.window = params.initial_window * params.segment
    state.alpha = ALPHA_UNIT
    state.threshold = ENDLESS
    state.end = 0
    state.seen = 0
    state.marks = 0
    state.cut_until = 0
    state.owed = 0
    state.lost_at = 0
    return NOTHING


@compiled
def _observe(state, params, limiter):
    """Count; at the end of a window its share of marks enters alpha."""
    state.seen = min(state.seen + limiter.acked, ENDLESS)
    state.marks = min(state.marks + limiter.marked, ENDLESS)
    if limiter.acked_total < state.end or state.seen == 0:
        return
    share = min((state.marks << ALPHA_BITS) // state.seen, ALPHA_UNIT)
    state.alpha += (share - state.alpha) * params.g_num // params.g_den
    state.end = limiter.acked_total + limiter.flight
    state.seen = 0
    state.marks = 0


@compiled
def _cut(state, params, limiter, window):
    """Cut the window; no further cut until the octets in flight now are acknowledged."""
    limiter.window = max(window, params.min_window * params.segment)
    state.threshold = limiter.window
    state.cut_until = limiter.acked_total + limiter.flight
    state.owed = 0


@compiled
def _grow(state, params, limiter):
    """Slow start, or a segment for every window of octets."""
    if limiter.window < state.threshold:
        limiter.window = min(limiter.window + limiter.acked, ENDLESS)
        return
    state.owed += limiter.acked
    if state.owed >= limiter.window:
        state.owed = min(state.owed - limiter.window, limiter.window)
        limiter.window = min(limiter.window + params.segment, ENDLESS)


def on_acked(state, params, limiter, frame, now, message):
    """An acknowledgement is back."""
    used = limiter.flight + limiter.acked + params.segment > limiter.window
    _observe(state, params, limiter)
    if limiter.marked > 0:
        if limiter.acked_total > state.cut_until:
            cut = limiter.window * state.alpha >> (ALPHA_BITS + 1)
            _cut(state, params, limiter, limiter.window - cut)
    elif used:
        _grow(state, params, limiter)
    return NOTHING


def on_lost(state, params, limiter, frame, now, message):
    """The transport found a loss."""
    if limiter.lost_made >= state.lost_at:
        _cut(state, params, limiter, limiter.window // 2)
        state.lost_at = now
    if frame.kind != ACK:
        limiter.window = params.segment
    return NOTHING


DCTCP: Algorithm = reaction_point(
    "dctcp",
    "DCTCP: a window that is cut by the share of marked octets",
    Dctcp,
    STATE,
    start=on_start,
    acked=on_acked,
    lost=on_lost,
)
