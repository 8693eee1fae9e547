"""Notes of algorithms: of their parameters, of counters that should stay at 0 (`Observed.note`),
and of injections that did not take place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.plan import ResolvedPlan
from orchestrator.plan.timeline_actions import injections_at
from orchestrator.recording import Recording
from orchestrator.registry import sentence_of


def plugin_notes(resolved: ResolvedPlan) -> list[str]:
    """Notes of the parameters of all algorithms: of traffic by its entry, of others by their name.

    A `notes()` that fails or returns no texts is a note itself: the run is not lost.
    """
    return list(
        dict.fromkeys(
            f"{holder if kind == 'traffic' else use.algorithm.name}: {text}"
            for kind, uses in resolved.uses.items()
            for holder, use in uses.items()
            for text in _notes_of(use.params)
        )
    )


def _notes_of(params: Any) -> list[str]:
    try:
        found = params.notes()
        if isinstance(found, str) or not all(isinstance(one, str) for one in found):
            raise TypeError(f"{found!r} is no list of texts")
        return list(found)
    except Exception as error:  # of a plugin
        return [f"its notes() failed: {sentence_of(error)}"]


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


COUNTED = {
    "drop": "injected_dropped",
    "mark": "injected_marked",
    "corrupt": "injected_corrupted",
    "delay": "injected_delayed",
    "duplicate": "injected_duplicated",
}
"""Verb of an injection -> the sampled counter of its effects."""


def missing_injections(resolved: ResolvedPlan, recording: Recording) -> Iterator[str]:
    """A sentence for each port and verb whose injections did not all take place."""
    if not len(recording.times_ps):
        return
    counts = {
        (column.entity, column.quantity): int(recording.values[-1, row])
        for row, column in enumerate(recording.columns)
    }
    for entity, steps in injections_at(resolved.actions).items():
        for verb, quantity in COUNTED.items():
            mine = [step for step in steps if step.verb == verb]
            named = sum(step.values["packets"] for step in mine)
            done = counts.get((entity, quantity), 0)
            if done < named:
                flows = ", ".join(dict.fromkeys(step.key for step in mine))
                yield (
                    f"the timeline names {named} packet{'s' * (named > 1)} of {flows} to {verb} on "
                    f"{entity}, and {done or 'none'} came there: fewer packets left the port than "
                    "it counts to, or the run ended before"
                )
