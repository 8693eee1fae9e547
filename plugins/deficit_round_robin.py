"""Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995, section 3.2): shares by octets.

Lanes take turns. At its turn a lane gets its quantum on top of what is left of the last one (its
deficit counter), and sends frames as long as they fit into that. A lane that has nothing left to
send loses the rest. Over any time in which they all have frames, lanes share the port as their
quanta do, whatever the lengths of their frames: the error is below a quantum and a longest frame.

The paper asks for a quantum of at least the longest frame, which makes each choice O(1). Here a
smaller one is accepted, down to 64 octets: a lane then waits for as many rounds as its frame needs.
A lane that PAUSE, PFC or credit holds keeps its deficit, and gets no quantum meanwhile.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from tailback.plugin import NOTHING, Algorithm, Params, Size, compiled, scheduler

MOST_QUANTUM, MOST_DEFICIT = 1_000_000, 2_000_000
"""Octets; a deficit is below a quantum and a longest frame, so that the second is not reached."""


def _quantum(priority: int) -> Size:
    text = f"octets that priority (or flow class) {priority} may send at its turn"
    return Field(1_500, ge=64, le=MOST_QUANTUM, description=text)


class DeficitRoundRobin(Params):
    """Quantum of each priority."""

    quantum_0: Size = _quantum(0)
    quantum_1: Size = _quantum(1)
    quantum_2: Size = _quantum(2)
    quantum_3: Size = _quantum(3)
    quantum_4: Size = _quantum(4)
    quantum_5: Size = _quantum(5)
    quantum_6: Size = _quantum(6)
    quantum_7: Size = _quantum(7)


STATE = np.dtype(
    [
        ("turn", np.int64),
        ("served", np.int64),
        ("deficit", np.int64, (8,)),
        ("quanta", np.int64, (8,)),
    ]
)
"""`turn`: priority whose turn it is; `served`: 1 while that has its quantum of this turn; `deficit`
and `quanta`: octets, of each priority."""
BOUNDS = {
    "turn": (0, 7),
    "served": (0, 1),
    "deficit": (-MOST_DEFICIT, MOST_DEFICIT),
    "quanta": (0, MOST_QUANTUM),
}


@compiled
def next_by_deficit(state, scheduler, candidates):
    """The priority that sends next, of `candidates` (bit n: priority n), one of which is ready."""
    while True:
        turn = state.turn
        if (candidates >> turn) & (scheduler.ready >> turn) & 1 == 1:
            if state.served == 0:
                state.served = 1
                state.deficit[turn] = min(state.deficit[turn] + state.quanta[turn], MOST_DEFICIT)
            if scheduler.octets[turn] <= state.deficit[turn]:
                return turn
        elif (scheduler.backlogged >> turn) & 1 == 0:
            state.deficit[turn] = 0
        state.turn = (turn + 1) & 7
        state.served = 0


@compiled
def charge_deficit(state, scheduler):
    """Take the frame that was sent off the deficit of the priority whose turn it is."""
    state.deficit[state.turn] = max(state.deficit[state.turn] - scheduler.sent, -MOST_DEFICIT)
    if (scheduler.backlogged >> state.turn) & 1 == 0:
        state.deficit[state.turn] = 0


def on_choose(state, params, scheduler, frame, now, message):
    """Lanes with a frame take turns, each for as long as its deficit lasts."""
    state.quanta[0] = params.quantum_0
    state.quanta[1] = params.quantum_1
    state.quanta[2] = params.quantum_2
    state.quanta[3] = params.quantum_3
    state.quanta[4] = params.quantum_4
    state.quanta[5] = params.quantum_5
    state.quanta[6] = params.quantum_6
    state.quanta[7] = params.quantum_7
    return next_by_deficit(state, scheduler, scheduler.ready)


def on_sent(state, params, scheduler, frame, now, message):
    """The frame is taken off the deficit of its lane."""
    charge_deficit(state, scheduler)
    return NOTHING


DRR: Algorithm = scheduler(
    "deficit-round-robin",
    "shares a port by octets: a quantum for each priority (DRR)",
    DeficitRoundRobin,
    STATE,
    choose=on_choose,
    sent=on_sent,
    bounds=BOUNDS,
)
