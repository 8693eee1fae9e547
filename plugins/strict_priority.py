"""Strict priority scheduler (IEEE 802.1Q-2018, 8.6.8.1): the highest priority with a frame sends.

A frame of the highest priority waits for the frame that is under way when it comes, and for those
of its own priority before it, for no other. A lower priority gets what is left, which may be
nothing.
"""

from __future__ import annotations

from tailback.plugin import Algorithm, Params, compiled, record, scheduler


class StrictPriority(Params):
    """It has no parameters."""


@compiled
def highest_of(priorities):
    """The highest priority in a set of them that is not empty, bit n for priority n."""
    chosen = 0
    for priority in range(8):
        if (priorities >> priority) & 1 == 1:
            chosen = priority
    return chosen


def on_choose(state, params, scheduler, frame, now, message):
    """The highest priority that has a frame."""
    return highest_of(scheduler.ready)


STRICT: Algorithm = scheduler(
    "strict-priority",
    "lets the highest priority that has a frame send (802.1Q)",
    StrictPriority,
    record("unused"),
    choose=on_choose,
)
