"""Earliest-deadline-first schedule of a storm's frames.

A hold has a deadline, the instant at which the quanta of its last frame have run. It is due a
margin before that: whoever is late by less than the margin leaves no lapse. Of all that are due the
one with the earliest deadline goes first; where one core cannot do it in time for all, that rule
still keeps every deadline if any order does (Liu and Layland, "Scheduling Algorithms for
Multiprogramming in a Hard-Real-Time Environment", JACM 1973).
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import compiled

HOLD = np.dtype(
    [
        (name, np.int64)
        for name in (
            "socket",  # -1: nothing is sent, as in a rehearsal
            "hold_ns",  # that the quanta of one frame last
            "margin_ns",
            "on_ns",  # of a pattern; 0: without an end
            "off_ns",
            "holding",  # 1 while the port is to be held
            "due_ns",
            "deadline_ns",
            "until_ns",  # the end of this hold
            "refused",  # frames that the kernel did not take
            "missed",  # holds of a pattern that were over before the first frame left
        )
    ]
)
NEVER = 1 << 62


def begin(holds: np.ndarray, start_ns: int) -> None:
    """Let all holds, HOLD[n], begin at an instant."""
    holds["holding"] = 0
    holds["refused"] = holds["missed"] = 0
    holds["due_ns"] = holds["deadline_ns"] = start_ns
    holds["until_ns"] = np.where(holds["on_ns"] > 0, start_ns + holds["on_ns"], NEVER)


@compiled
def most_urgent(holds, now):
    """The row that is due and has the earliest deadline; -1 when none is due."""
    best = -1
    for row in range(holds.size):
        if holds[row]["due_ns"] > now:
            continue
        if best < 0 or holds[row]["deadline_ns"] < holds[best]["deadline_ns"]:
            best = row
    return best


@compiled
def next_due(holds):
    """Due time of the earliest hold (ns)."""
    soonest = NEVER
    for row in range(holds.size):
        soonest = min(soonest, holds[row]["due_ns"])
    return soonest


@compiled
def is_release(holds, row, now):
    """Return whether the next frame of a hold releases the port."""
    return holds[row]["holding"] != 0 and now >= holds[row]["until_ns"]


@compiled
def skip_past(holds, row, now):
    """Leave out holds of a pattern that are wholly over; their number is counted."""
    hold = holds[row]
    while hold["holding"] == 0 and hold["until_ns"] <= now:
        hold["missed"] += 1
        hold["until_ns"] += hold["off_ns"] + hold["on_ns"]
        hold["due_ns"] = hold["deadline_ns"] = hold["until_ns"] - hold["on_ns"]
    return hold["due_ns"] <= now


@compiled
def reschedule_hold(holds, row, lets, at):
    """A frame of a hold has left at an instant, or not before: when the next one is due."""
    hold = holds[row]
    if lets:
        hold["holding"] = 0
        hold["due_ns"] = hold["deadline_ns"] = hold["until_ns"] + hold["off_ns"]
        hold["until_ns"] = hold["due_ns"] + hold["on_ns"]
        return
    hold["holding"] = 1
    hold["deadline_ns"] = min(at + hold["hold_ns"], hold["until_ns"])
    hold["due_ns"] = min(at + hold["hold_ns"] - hold["margin_ns"], hold["until_ns"])
