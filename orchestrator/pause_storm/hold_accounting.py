"""Accounting of one observer of a storm: how long a port was paused, and its lapses.

A frame with quanta pauses the receiving port until they expire, from the end of the frame on
the wire; the next one has to be there by then. What comes later leaves a lapse, in which the port
may send. All frames of a storm are as long, so that their own time on the wire cancels out.

An observer that knows the instant of a frame gives it twice; one that knows only between which two
instants it left gives both, and the hold counts from the first to the second of the next frame:
then no lapse is missed, and one may be reported that was none.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.jit import compiled

LEDGER = np.dtype(
    [
        (name, np.int64)
        for name in (
            "expires_ns",  # when the quanta of the last frame have run; 0: it holds nothing
            "since_ns",  # the first frame of this hold
            "frames",  # all of them, those that let go included
            "worst_ns",  # least time that was left when the next frame was there
            "lapses",
            "lapsed_ns",
            "longest_ns",
            "span_ns",  # from the first frame of a hold to its end, lapses included
        )
    ]
)
NONE_YET = 1 << 62
OWN, KERNEL, FAR_END = range(3)
OBSERVERS = ("own", "kernel", "far_end")
"""The sender's clock around the call; the kernel's stamps where it hands frames to the driver; the
kernel's stamps at the other end of the cable."""
NOTED = 1000
"""Lapses that are written down one by one; all of them count."""
NOTE_WORDS = 4


def new_ledger(rows: int) -> np.ndarray:
    """LEDGER[rows] of an observer that has seen nothing."""
    ledger = np.zeros(rows, LEDGER)
    ledger["worst_ns"] = NONE_YET
    return ledger


def new_notes() -> np.ndarray:
    """int64[NOTED + 1, 4]: row, observer, when and how long (ns); the last row counts them."""
    return np.zeros((NOTED + 1, NOTE_WORDS), np.int64)


@compiled
def note(notes, row, observer, at, length):
    """Write a lapse down while there is room."""
    place = notes[NOTED, 0]
    if place < NOTED:
        notes[place, 0] = row
        notes[place, 1] = observer
        notes[place, 2] = at
        notes[place, 3] = length
        notes[NOTED, 0] = place + 1


@compiled
def account(ledger, row, holds, earliest, latest, hold_ns, observer, notes):
    """A frame that holds a port for `hold_ns`, or (`holds` 0) lets it go, left within an interval.

    A frame that lets go after the quanta had run counts as a lapse as well: until it came the port
    was to be held.
    """
    mine = ledger[row]
    mine["frames"] += 1
    if mine["expires_ns"] == 0:
        if holds == 0:
            return
        mine["since_ns"] = earliest
    else:
        margin = mine["expires_ns"] - latest
        mine["worst_ns"] = min(mine["worst_ns"], margin)
        if margin < 0:
            mine["lapses"] += 1
            mine["lapsed_ns"] -= margin
            mine["longest_ns"] = max(mine["longest_ns"], -margin)
            note(notes, row, observer, mine["expires_ns"], -margin)
    if holds != 0:
        mine["expires_ns"] = earliest + hold_ns
    else:
        mine["span_ns"] += latest - mine["since_ns"]
        mine["expires_ns"] = 0


@compiled
def account_all(ledger, row, holds, times, hold_ns, observer, notes):
    """Take frames whose instants are known: `holds` int64[n], `times` int64[n] in ns, in order."""
    for k in range(times.size):
        account(ledger, row, holds[k], times[k], times[k], hold_ns, observer, notes)


@compiled
def close(ledger, row):
    """Nothing comes any more: what is still held is held until its quanta have run."""
    mine = ledger[row]
    if mine["expires_ns"] != 0:
        mine["span_ns"] += mine["expires_ns"] - mine["since_ns"]
        mine["expires_ns"] = 0
