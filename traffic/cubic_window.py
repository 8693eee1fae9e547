"""CUBIC window arithmetic (RFC 9438), in thousandths of a segment and milliseconds.

W(t) = C (t - K)^3 + W_max with C = 0.4 segments per s^3; after a loss the window is 0.7 of what it
was, and K is the time it takes to come back. While what Reno would have is more, it is that. What a
division by the window leaves of one acknowledgement's growth is carried to the next one's.
"""

from __future__ import annotations

from tailback.plugin import compiled

MS_PS = 10**9
SEGMENT = 1000
LONGEST_MS = 200_000
"""Beyond this the cube would not fit; the window is far beyond any bound by then."""
MOST_MISSING = 10**12
"""Thousandths of a segment that a window is below its largest: with more no cube fits either."""
MOST_FRIENDLY = 1 << 40
"""Thousandths of a segment, far beyond any window: what Reno would have need not grow further."""


@compiled
def cube_root(value):
    """The largest whole number whose cube is not above `value` (0 .. 2^62)."""
    root = 0
    for place in range(20, -1, -1):
        larger = root | (1 << place)
        if larger * larger * larger <= value:
            root = larger
    return root


@compiled
def cubic_begin(state):
    """A reduction: remember the window; or less, if it had not come back."""
    state.prior = state.window
    if state.window < state.most:
        state.most = state.window * 17 // 20
    else:
        state.most = state.window
    state.epoch = 0


@compiled
def cubic_acked(state, acked, now):
    """`acked` segments were acknowledged in congestion avoidance."""
    if state.epoch == 0:
        state.epoch = now
        state.friendly = state.window
        state.grown = 0
        state.friendly_grown = 0
        # K^3 = (W_max - window) / C, in ms^3: thousandths of a segment / 0.4 * 10^6
        missing = min(max(state.most - state.window, 0), MOST_MISSING)
        state.reach = cube_root(missing * 5 // 2 * 10**6)
        if state.window >= state.most:
            state.most = state.window
    elapsed = (now - state.epoch + state.srtt) // MS_PS
    away = min(max(elapsed - state.reach, -LONGEST_MS), LONGEST_MS)
    target = state.most + away * away * away * 2 // 5 // 10**6
    window = max(state.window, 1)
    target = min(max(target, window), window * 3 // 2)
    state.grown += (target - window) * acked * SEGMENT
    state.window += state.grown // window
    state.grown %= window
    # Reno with the same reduction (equation 4): 3 (1 - 0.7) / (1 + 0.7) = 9/17 of a segment per
    # window, and a whole one from the window before the reduction on
    alpha = 9 if state.friendly < state.prior else 17
    state.friendly_grown += acked * SEGMENT * SEGMENT * alpha
    more = state.friendly_grown // (window * 17)
    state.friendly_grown %= window * 17
    state.friendly = min(state.friendly + more, MOST_FRIENDLY)
    state.window = max(state.window, state.friendly)
