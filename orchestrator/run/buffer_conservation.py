"""Frames in = frames out + frames queued + frames dropped: of every buffer, at every sample.

Frames without room and frames that a congestion point dropped are counted separately; both are
drops. A trimmed frame did not enter the buffer: its header bypasses it. A frame that was moved to
another lane entered that lane's buffer as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.plan.metric_registry import REMOVED
from orchestrator.recording import Recording
from orchestrator.run.world_invariants import FRAMES

COUNTS = ("frames_in", "frames_out", "frames_dropped", "queue_frames")
AWAY = tuple(one.quantity for one in REMOVED)
"""Quantities sampled where a congestion point may remove frames: drop, trim, or change lanes."""


def unbalanced_buffers(recording: Recording) -> list[str]:
    """A sentence for every buffer whose counts do not add up, with the first such instant.

    A sound run has none: a frame that a node loses without counting it is a fault of tailback.
    """
    rows: dict[str, dict[str, int]] = {}
    for row, column in enumerate(recording.columns):
        if column.quantity in (*COUNTS, *AWAY):
            rows.setdefault(column.entity, {})[column.quantity] = row
    found = []
    for entity, named in rows.items():
        if not set(COUNTS) <= set(named):
            continue
        came, left, dropped, queued = (recording.values[:, named[name]] for name in COUNTS)
        away: list[Any] = [recording.values[:, named[n]] if n in named else 0 for n in AWAY]
        wrong = np.flatnonzero(~FRAMES.holds(came, left, queued, dropped, *away))
        if len(wrong):
            row = int(wrong[0])
            dropped = sum(away, dropped)
            found.append(
                f"{entity}: at {recording.times_ps[row] / 1e12:g} s {came[row]} frames had come, "
                f"{left[row]} left, {dropped[row]} dropped, trimmed or moved, and {queued[row]} "
                "are there"
            )
    return found
