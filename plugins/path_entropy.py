"""Path entropy: per-frame value from which switches choose a path (packet spraying).

The values of a flow take turns, in an order of its own in each round; one on whose path a segment
met congestion is left out for a while (the bitmap of Ultra Ethernet's simulator, htsim). For
reaction points over a transport whose acknowledgements say which segment they answer.
"""

from __future__ import annotations

import numpy as np

from tailback.plugin import compiled, lfsr_next

SEGMENTS, MOST_BITS = 2_048, 8
"""Segments whose entropies are remembered; bits of those in use at the most."""
MARKED, TRIMMED, WORST = 1, 4, 15
"""Rounds in which a value is skipped after the event of a segment; upper bound."""
FIELDS = [
    ("lfsr", np.int64),
    ("turn", np.int64),  # of this round
    ("order", np.int64),  # what turns a round into values
    ("chosen", np.int64, (SEGMENTS,)),  # of the last segments
    ("skip", np.int64, (1 << MOST_BITS,)),  # how often each value is left out
]
"""Of the state of a reaction point that calls the functions below."""


@compiled
def choose_entropy(state, bits, frame):
    """Give a segment the next value of so many bits that is not to be left out; without bits none.

    Returns 0, as `sent` does that asks for no probe.
    """
    if bits == 0:
        return 0
    count = 1 << bits
    value = state.chosen[frame.sequence % SEGMENTS]
    for tried in range(count):
        value = (state.turn ^ state.order) & (count - 1)
        state.turn += 1
        if state.turn >= count:
            state.turn = 0
            state.lfsr = lfsr_next(state.lfsr)
            state.order = state.lfsr
        if state.skip[value] == 0:
            break
        if tried == 0:
            state.skip[value] = max(state.skip[value] - 1, 0)
    frame.inner = value
    state.chosen[frame.sequence % SEGMENTS] = value
    return 0


def set_entropy(state, params, limiter, frame, now, message):
    """A segment leaves, of a reaction point with a parameter `entropy_bits`."""
    return choose_entropy(state, params.entropy_bits, frame)


@compiled
def penalize_entropy(state, segment, penalty):
    """Penalise the entropy value of a segment that met congestion."""
    value = state.chosen[segment % SEGMENTS]
    state.skip[value] = min(state.skip[value] + penalty, WORST)
    return 0
