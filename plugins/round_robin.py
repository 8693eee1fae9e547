"""Round robin scheduler: lanes that have a frame take turns, in the order of their priorities.

It does what a port without a scheduler does, and gives the same results to the byte.
"""

from __future__ import annotations

from tailback.plugin import Algorithm, Params, record, scheduler


class RoundRobin(Params):
    """It has no parameters."""


STATE = record("next")
"""`next`: the priority that is looked at first for the next frame, 0 to 7."""


def on_choose(state, params, scheduler, frame, now, message):
    """The first priority from `next` on that has a frame."""
    chosen = state.next
    while (scheduler.ready >> chosen) & 1 == 0:
        chosen = (chosen + 1) & 7
    state.next = (chosen + 1) & 7
    return chosen


ROUND_ROBIN: Algorithm = scheduler(
    "round-robin",
    "lets the lanes of a port take turns, frame by frame",
    RoundRobin,
    STATE,
    choose=on_choose,
    bounds={"next": (0, 7)},
)
