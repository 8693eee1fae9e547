"""NSCC of the Ultra Ethernet transport: a window from ECN and delay, with packet spraying.

Each answer says whether its segment was marked, and how much longer than `base_rtt` it took. Below
`target` and unmarked the window grows by what is missing to it (fast after a window of next to no
delay), above and unmarked by the fair share; marked above it, it shrinks by how far the smoothed
delay is beyond, once per round trip, by half at the most; marked below it another path is taken.
Quick adapt: who got through less than an eighth of its largest window in a round trip, with a loss
or a delay beyond four targets, has that for its window, and is deaf to what was under way.
Constants are htsim's (class UecSrc; docs/schemes.md), the transport is `selective`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from plugins.path_entropy import FIELDS, MARKED, MOST_BITS, TRIMMED, penalize_entropy, set_entropy
from tailback.plugin import (
    MOST_PRODUCT,
    NOTHING,
    Algorithm,
    Capability,
    Duration,
    EcnParams,
    Observed,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    mul_div,
    mul_div_capped,
    octets_in,
    reaction_point,
)
from traffic.go_back_n import NEGATIVE

US, NS = 10**6, 10**3
REFERENCE, REFERENCE_NS = 150_000, 12_000  # octets of 100 Gb/s in 12 us: the constants are for that

FixedRatio = Annotated[Ratio, RatioLimit(100_000)]
COUNTED = 1 << 41  # octets: more is not counted, as no window is as large
LONGEST = 10**14  # a delay beyond, 100 s, counts as this


class Nscc(EcnParams):
    """Parameters of the sender."""

    former: ClassVar[dict[str, str]] = {"fair": "fair_increase", "quick": "quick_adapt"}

    base_rtt: Duration = Field(12 * US, ge=US, le=10**10, description="of the empty network")
    target: Duration = Field(9 * US, ge=US, le=10**10, description="queueing delay aimed at")
    segment: Size = Field(1_500, ge=64, le=9_216, description="a full frame")
    fair_increase: FixedRatio = Field(
        Fraction(5), ge=0, le=100, description="growth above the target, unmarked"
    )
    gamma: FixedRatio = Field(Fraction(4, 5), ge=0, le=1, description="multiplicative decrease")
    quick_adapt: bool = Field(True, description="adapts quickly")
    entropy_bits: int = Field(6, ge=0, le=MOST_BITS, description="of values in use; 0: one path")


OWN = "bdp unit grown received adjusted cut calm fast delay achieved until deaf since alarm"
STATE = np.dtype([*((name, np.int64) for name in OWN.split()), *FIELDS])


@compiled
def _bound(state, params, limiter):
    """Keep the window between a segment and 3/2 of what fits in a round trip."""
    limiter.window = max(min(limiter.window, state.bdp * 3 // 2), params.segment)


@compiled
def _quick_adapt(state, params, limiter, marked, delay, now):
    """True where the window is what got through, or what is answered is of before that."""
    done = marked and state.since < state.deaf
    if not done and now > state.until:
        bad = state.alarm != 0 or delay > 4 * params.target
        if state.until != 0 and bad and state.achieved < state.bdp * 3 // 16:
            limiter.window = state.achieved
            state.deaf, state.since, state.alarm = limiter.flight, 0, 0
            done = True
        state.achieved, state.until = 0, now + params.base_rtt + params.target
    if done:
        state.grown, state.received = 0, 0
    return done


@compiled
def _apply_ack(state, params, limiter, marked, delay, now):
    """Apply an acknowledgement: four quadrants of mark and delay; grown octets times the window."""
    if marked and delay >= params.target:
        state.fast, state.calm = 0, 0
        over = (state.delay - params.target) // NS
        if state.delay > params.target and now - state.cut > params.base_rtt:
            most = limiter.window * params.gamma_num // params.gamma_den
            part = mul_div(most, over, max(state.delay // NS, 1))
            limiter.window -= min(part, limiter.window // 2)
            state.cut = now
    elif not marked and delay >= params.target:
        more = mul_div_capped(
            limiter.acked * state.unit, params.fair_increase_num, params.fair_increase_den
        )
        state.grown = min(state.grown + more, MOST_PRODUCT)
    elif not marked:
        state.calm = min(state.calm + limiter.acked, COUNTED) if delay < US else 0
        state.fast = 1 if delay < US and (state.fast != 0 or state.calm > limiter.window) else 0
        if state.fast != 0:
            limiter.window += mul_div_capped(limiter.acked, state.bdp, 4 * REFERENCE)
        else:
            missing = 4 * ((params.target - delay) // NS)
            more = mul_div_capped(limiter.acked * state.unit, missing, REFERENCE_NS)
            state.grown = min(state.grown + more, MOST_PRODUCT)
    _bound(state, params, limiter)  # growth is over the window, which a cut leaves a segment
    period = now - state.adjusted >= params.base_rtt
    if period or state.received > 8 * params.segment:
        always = state.unit * 3 // 20 if period else 0
        limiter.window += state.grown // max(limiter.window, 1) + always
        state.grown, state.received = 0, 0
        state.adjusted = now if period else state.adjusted


def on_start(state, params, limiter, frame, now, message):
    """A flow begins."""
    limiter.active, limiter.rate = 1, limiter.link_rate
    state.bdp = octets_in(limiter.link_rate, params.base_rtt)
    state.unit = params.segment * state.bdp // REFERENCE
    limiter.window = max(state.bdp * 3 // 2, params.segment)
    return NOTHING


def on_acked(state, params, limiter, frame, now, message):
    """An answer is back: of a segment, or of its header, of which `lost` is notified as well."""
    if frame.feedback == NEGATIVE:
        return penalize_entropy(state, frame.offset, TRIMMED)
    marked = limiter.marked > 0
    penalize_entropy(state, frame.offset, MARKED if marked else 0)
    state.achieved = min(state.achieved + limiter.acked, COUNTED)
    state.received = min(state.received + limiter.acked, COUNTED)
    state.since = min(state.since + limiter.acked, COUNTED)
    delay = min(max(limiter.rtt - params.base_rtt, 0), LONGEST)
    sample = params.base_rtt // 4 if not marked and delay > params.target else delay
    state.delay += (sample - state.delay) // 80
    if params.quick_adapt == 0 or not _quick_adapt(state, params, limiter, marked, delay, now):
        _apply_ack(state, params, limiter, marked, delay, now)
    _bound(state, params, limiter)
    return NOTHING


def on_lost(state, params, limiter, frame, now, message):
    """The transport found losses, by headers or otherwise."""
    state.since = min(state.since + limiter.lost * params.segment, COUNTED)
    state.delay += (params.base_rtt - state.delay) // 80
    state.alarm = 1
    if params.quick_adapt == 0 or not _quick_adapt(state, params, limiter, True, 0, now):
        limiter.window -= limiter.lost * params.segment
    _bound(state, params, limiter)
    return NOTHING


NSCC: Algorithm = reaction_point(
    "nscc",
    "NSCC: a window from ECN and delay, and a path for every segment",
    Nscc,
    STATE,
    needs=frozenset({Capability.ACKNOWLEDGEMENTS, Capability.ENTROPY}),
    columns=(Observed("delay", "ps", "smoothed queueing delay of its round trips"),),
    start=on_start,
    sent=set_entropy,
    acked=on_acked,
    lost=on_lost,
)
