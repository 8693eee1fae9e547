"""Storms of PAUSE and PFC that watchdogs detected, as events of a run."""

from __future__ import annotations

import numpy as np

from orchestrator.recording import Event, Recording

KINDS = {"storm": "storms", "storm over": "storms_over"}
"""Kind of event -> the quantity that counts it."""


def events(recording: Recording) -> list[Event]:
    """Events of the starts and ends of storms, each at the first sample that counts it."""
    found: list[Event] = []
    for row, column in enumerate(recording.columns):
        for kind, quantity in KINDS.items():
            if column.quantity != quantity:
                continue
            grew = np.diff(recording.values[:, row], prepend=0)
            for place in np.flatnonzero(grew > 0).tolist():
                at = int(recording.times_ps[place])
                found.append(Event(at, kind, column.entity, {"count": int(grew[place])}))
    return sorted(found, key=lambda event: event.time_ps)
