"""Events that nobody announced: losses, pauses and feedback, found where counters begin to move."""

from __future__ import annotations

import numpy as np

from orchestrator.console.data import Moment, RunData

QUIET_PS = 50 * 10**9
"""A counter that stood still for so long begins anew when it moves."""
MOST_EACH = 200
WORDS = {
    "frames_dropped": ("loss", "frames are lost"),
    "pause_sent": ("PAUSE", "sends PAUSE"),
    "feedback_sent": ("CNM", "sends feedback"),
    "paused_ps": ("held", "is held by PAUSE"),
}


def moments(data: RunData) -> list[Moment]:
    """Where each counter of losses, pauses and feedback begins to move after a quiet time."""
    found: list[Moment] = []
    times = data.times
    if len(times) < 2:
        return found
    for position, column in enumerate(data.columns):
        if column.quantity not in WORDS or not data.values[-1, position]:
            continue
        what, text = WORDS[column.quantity]
        moved = np.flatnonzero(np.diff(data.values[:, position]) > 0) + 1
        if not len(moved):
            continue
        at = times[moved]
        first = np.ones(len(moved), bool)
        first[1:] = np.diff(at) > QUIET_PS
        found += [
            Moment(int(at[row]), what, column.entity, text, found=True)
            for row in np.flatnonzero(first)[:MOST_EACH]
        ]
    return found


def all_moments(data: RunData) -> list[Moment]:
    """Announced and found ones, in order of time."""
    return sorted([*data.moments, *moments(data)], key=lambda moment: moment.time_ps)


def of_plan(data: RunData) -> list[Moment]:
    """The timeline and the phases of the plan."""
    if data.resolved is None:
        return []
    steps = [
        Moment(a.at, a.verb, a.key, f"to {a.to}" if a.to is not None else "")
        for a in data.resolved.actions
    ]
    phases = [Moment(p.from_, "phase", name) for name, p in data.plan.phases.items()]
    return sorted(steps + phases, key=lambda moment: moment.time_ps)
