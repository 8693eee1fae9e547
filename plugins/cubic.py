"""CUBIC reaction point: a window cubic in the time since the last reduction (RFC 9438).

W(t) = C (t - K)^3 + W_max segments with C = 0.4 per s^3: after a cut to 0.7 it takes K = cbrt(W_max
0.3 / C) to come back to W_max, slowly there, faster beyond. Where Reno with the same cut would have
more it is that (4.3), and with `fast_convergence` a flow whose windows fall leaves room (4.7). Slow
start, what a mark, a timeout and an idle flow do, and that one cut stands for all that was sent
before it, are as in `newreno`; after a timeout K is 0 and W_max is where slow start ended (4.8).

A cut leaves 0.7 of what was under way (4.6: flight_size), if that is less than the window. Slow
start ends at twice of what a link or the transport lets under way, so that a loss then leaves 0.35
of the window, and W_max is the window. Linux cuts the window itself.

Windows count octets of whole frames, times ms. What a division by the window leaves of one
acknowledgement's growth is carried to the next one's. Not in it: HyStart++.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from plugins.newreno import (
    ENDLESS,
    IDLE,
    LEAST,
    NewReno,
    flight_size,
    grow_to_threshold,
    on_idle,
    on_sent,
    on_start,
)
from tailback.plugin import (
    ACK,
    NOTHING,
    Algorithm,
    compiled,
    mul_div,
    reaction_point,
    record,
    rest_of,
)
from traffic.cubic_window import LONGEST_MS, MOST_MISSING, MS_PS, cube_root


class Cubic(NewReno):
    """Parameters of the sender."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"rfc9438": {}}

    fast_convergence: bool = Field(True, description="release bandwidth (RFC 9438, 4.7)")


STATE = record(
    "threshold",  # octets
    "most",  # octets: W_max
    "epoch",  # ps: since then the window follows the curve; 0: it does not yet
    "reach",  # ms from the epoch until the window is `most` again: K
    "friendly",  # octets: what Reno's window would be by now
    "prior",  # octets: the window before the last cut
    "cut_at",  # ps
    "curve_owed",  # of an octet that the curve grows by, in parts of the window
    "friendly_owed",  # of an octet that `friendly` grows by, in 17ths of these
)


@compiled
def _cut(state, params, limiter, under_way, now):
    """Cut the window to 0.7 of what was in flight; restart the curve."""
    state.prior = limiter.window
    if params.fast_convergence != 0 and limiter.window < state.most:
        state.most = limiter.window * 17 // 20
    else:
        state.most = limiter.window
    limiter.window = max(min(limiter.window, under_way) * 7 // 10, LEAST * params.segment)
    state.threshold = limiter.window
    state.epoch = 0
    state.cut_at = now


@compiled
def _begin(state, params, limiter, now):
    """Congestion avoidance begins: K from what was cut, in ms^3 the segments over C."""
    state.epoch = now
    state.friendly = limiter.window
    state.curve_owed = 0
    state.friendly_owed = 0
    if limiter.window >= state.most:
        state.most = limiter.window
    missing = min((state.most - limiter.window) * 1000 // params.segment, MOST_MISSING)
    state.reach = cube_root(missing * 5 // 2 * 10**6)


@compiled
def _follow_reno(state, params, limiter, window):
    """W_est: alpha segments per `window` acknowledged (equation 4), alpha 3 (1 - 0.7) / (1 + 0.7),
    and 1 from the window before the cut on."""
    alpha = 9 if state.friendly < state.prior else 17
    state.friendly_owed += limiter.acked * params.segment * alpha
    grown = state.friendly_owed // (window * 17)
    state.friendly_owed %= window * 17
    state.friendly = min(state.friendly + grown, ENDLESS)


@compiled
def _grow_along_curve(state, params, limiter, now):
    """Grow by the acknowledged share of the distance to the curve one round trip from now."""
    if state.epoch == 0:
        _begin(state, params, limiter, now)
    elapsed = (now - state.epoch + limiter.rtt) // MS_PS
    ms = min(max(elapsed - state.reach, -LONGEST_MS), LONGEST_MS)
    curve = state.most + ms * ms * ms // 10**6 * params.segment * 2 // 5 // 1000
    window = max(limiter.window, 1)
    away = min(max(curve, window), window * 3 // 2) - window
    state.curve_owed += rest_of(away, limiter.acked, window)
    limiter.window += mul_div(away, limiter.acked, window) + state.curve_owed // window
    state.curve_owed %= window
    _follow_reno(state, params, limiter, window)
    limiter.window = min(max(limiter.window, state.friendly), ENDLESS)


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
        _grow_along_curve(state, params, limiter, now)
    return NOTHING


def on_lost(state, params, limiter, frame, now, message):
    """The transport found losses: those of what was made before the last cut are known."""
    if limiter.lost_made >= state.cut_at:
        _cut(state, params, limiter, flight_size(params, limiter), now)
    if frame.kind != ACK:
        limiter.window = params.segment
        state.epoch = 0
        state.most = 0
    return NOTHING


CUBIC: Algorithm = reaction_point(
    "cubic",
    "CUBIC: a window that is a cubic function of the time since it was cut",
    Cubic,
    STATE,
    timers={"idle": on_idle},
    start=on_start,
    acked=on_acked,
    lost=on_lost,
    sent=on_sent,
)
