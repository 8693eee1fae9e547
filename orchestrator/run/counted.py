"""Notes of counters that algorithms say should stay at 0 (`Observed.note`)."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.plan import ResolvedPlan
from orchestrator.recording import Recording


def counted_notes(resolved: ResolvedPlan, recording: Recording) -> Iterator[str]:
    """A sentence for each entity whose algorithm has counted any, with the number."""
    notes = {
        one.metric(use.algorithm.name): one.note
        for uses in resolved.uses.values()
        for use in uses.values()
        for one in getattr(use.algorithm, "columns", ())
        if one.note
    }
    if not len(recording.times_ps):
        return
    for row, column in enumerate(recording.columns):
        count = int(recording.values[-1, row])
        if count and column.metric in notes:
            yield f"{column.entity}: {count} {notes[column.metric]}"
