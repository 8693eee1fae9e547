"""HPCC: a window from in-band telemetry of every hop (Li et al., SIGCOMM 2019, algorithm 1).

Every acknowledgement echoes the stamps that the ports on the way put on its segment. Between two of
them a port of rate B has sent txRate; the octets in flight through it are, as a share of B T,
txRate / B + min(queue, queue before) / (B T). The largest over the hops enters U, weighted with the
time between the stamps over T, the round trip of the empty network. At `eta` or above, or after
`max_stage` rounds of growth, the window is Wc eta / U + `w_ai`, else Wc + `w_ai`; Wc, what the
window is reckoned from, follows once per round trip. Frames are paced at W / T.

`mode`: "window" is the paper's. "rate" is that of the code published with it: a rate of at least
`min_rate`, with a window of the rate times T which the last frame may overdraw. Many flows at the
least rate keep a queue that smaller windows would not. Where the paper is silent both do as the
code does: the first acknowledgement is only remembered, as is one from another way; W is at most
B_NIC T. Decided here: one is only remembered as well after a silence so long that a stamp's words,
which count modulo 2^32, may have gone round, as stamps then tell neither time nor octets: 2.1 s, or
half of 2^32 octets at the rate of the port. U has 20 bits behind the point.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from tailback.plugin import (
    KBIT_NS,
    MOST_STAMPS,
    NOTHING,
    STAMP_PORT,
    STAMP_QUEUED,
    STAMP_RATE,
    STAMP_SENT,
    STAMP_TIME,
    STAMP_WORDS,
    Algorithm,
    Capability,
    Duration,
    Observed,
    Params,
    Rate,
    Ratio,
    RatioLimit,
    Size,
    compiled,
    octets_in,
    reaction_point,
    stamp_growth,
    stamp_of,
    stamps_of,
)

US = 10**6
BITS = 20
UNIT = 1 << BITS
LONGEST_NS = 1 << 31
"""Between two stamps: half of what they count time modulo, so that a difference is plain whatever
round trips differ by; 2 s of the largest rate that a stamp holds fit an int64."""
MOST_SENT = 1 << 31
"""Octets that a port can have sent between two stamps, likewise."""


class Hpcc(Params):
    """Parameters of the sender."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {},
        "published-code": {"mode": "rate", "max_stage": 0, "min_rate": "1Gb/s"},
    }
    former: ClassVar[dict[str, str]] = {"least_rate": "min_rate", "form": "mode"}

    mode: Literal["window", "rate"] = Field("window", description="window or rate control")
    base_rtt: Duration = Field(13 * US, ge=US, le=10**10, description="of the empty network, T")
    eta: Annotated[Ratio, RatioLimit(100_000)] = Field(
        Fraction(19, 20), gt=0, le=2, description="target utilisation"
    )
    max_stage: int = Field(5, ge=0, le=1_000, description="rounds of growth before it measures")
    w_ai: Size = Field(80, ge=0, le=10**6, description="added to the window, W_AI")
    min_rate: Rate = Field(100_000_000, ge=1, le=10**12, description='of mode "rate" alone')
    segment: Size = Field(1_500, ge=64, le=9_216, description="a full frame")
    hops: int = Field(5, ge=1, le=MOST_STAMPS, description="stamps that fit a frame")

    def stamped_hops(self) -> int:
        """The parameter `hops`."""
        return self.hops


STATE = np.dtype(
    [(name, np.int64) for name in ("u", "reckoned", "stage", "until", "known", "came", "measured")]
    + [("before", np.int64, (MOST_STAMPS, STAMP_WORDS))]
)
"""U; Wc; rounds of growth; `acked_total` that ends this one; stamps remembered: how many, when they
came (ps); 1 when U was measured; they."""


@compiled
def _apply(params, limiter, window):
    """The window, and the rate that goes with it."""
    rate = max(window * KBIT_NS // (params.base_rtt // 1000), 1) * 1000
    limiter.rate = min(rate, limiter.link_rate)
    limiter.window = window + (params.segment - 1 if params.mode == 1 else 0)


@compiled
def _measure(state, params, limiter, now):
    """MeasureInflight: the fullest hop enters U. False, and nothing, for another way and after a
    silence in which words of the stamps may have gone round."""
    base = params.base_rtt // 1000
    silence = min(max(now - state.came, 0) // 1000, LONGEST_NS)
    if silence >= LONGEST_NS:
        return False
    most, tau = 0, 0
    for hop in range(state.known):
        if stamp_of(limiter, hop, STAMP_PORT) != state.before[hop, STAMP_PORT]:
            return False
        rate = stamp_of(limiter, hop, STAMP_RATE)
        if rate // 1000 * silence // KBIT_NS >= MOST_SENT:
            return False
        gap = stamp_growth(limiter, hop, STAMP_TIME, state.before[hop, STAMP_TIME])
        gap = min(gap, LONGEST_NS)
        sent = stamp_growth(limiter, hop, STAMP_SENT, state.before[hop, STAMP_SENT])
        queue = min(
            stamp_of(limiter, hop, STAMP_QUEUED),
            state.before[hop, STAMP_QUEUED],
        )
        could = max(rate // 1000 * gap // (KBIT_NS >> 4), 1)  # in 16th of an octet
        fits = max(octets_in(rate, params.base_rtt), 1)
        u = (sent << (BITS + 4)) // could + (queue << BITS) // fits
        if u > most:
            most, tau = min(u, UNIT << 10), min(gap, base)
    state.measured = 1
    state.u = min((max(base - tau, 0) * state.u + tau * most) // base, UNIT << 10)
    return True


@compiled
def _compute(state, params, limiter, update):
    """ComputeWind: what U makes of the window that it is reckoned from."""
    stage, window = state.stage + 1, state.reckoned
    if state.u * params.eta_den >= params.eta_num << BITS or state.stage >= params.max_stage:
        stage = 0
        window = (window << BITS) // max(state.u, UNIT >> 10) * params.eta_num // params.eta_den
    least = max(octets_in(params.min_rate, params.base_rtt), 1) if params.mode == 1 else 1
    most = max(octets_in(limiter.link_rate, params.base_rtt), 1)
    window = min(max(window + params.w_ai, least), most)
    if update:
        state.stage, state.reckoned = stage, window
    _apply(params, limiter, window)


def on_start(state, params, limiter, frame, now, message):
    """A flow begins, at the rate of its link."""
    limiter.active = 1
    state.u = UNIT
    state.reckoned = max(octets_in(limiter.link_rate, params.base_rtt), 1)
    state.stage, state.until, state.known = 0, 0, 0
    state.came, state.measured = 0, 0
    _apply(params, limiter, state.reckoned)
    return NOTHING


def on_acked(state, params, limiter, frame, now, message):
    """An acknowledgement is back."""
    hops = stamps_of(limiter)
    update = limiter.acked_total > state.until
    if hops > 0 and hops == state.known and _measure(state, params, limiter, now):
        _compute(state, params, limiter, update)
    if update:
        state.until = limiter.acked_total + limiter.flight
    state.known, state.came = hops, now
    for hop in range(hops):
        for word in range(STAMP_WORDS):
            state.before[hop, word] = stamp_of(limiter, hop, word)
    return NOTHING


HPCC: Algorithm = reaction_point(
    "hpcc",
    "HPCC: a window from the stamps of all hops, at 95 % of the fullest one",
    Hpcc,
    STATE,
    needs=frozenset({Capability.ACKNOWLEDGEMENTS, Capability.STAMPS}),
    columns=(
        Observed(
            "u",
            f"2^-{BITS}",
            "octets in flight at the fullest hop, of its own B T",
            known="measured",
        ),
    ),
    start=on_start,
    acked=on_acked,
)
