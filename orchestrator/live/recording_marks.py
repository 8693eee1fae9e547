"""Marks of live changes in the recording of a run."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.live.live_session import Session
from orchestrator.recording import STOPPED, Event, Recording


def mark_live_changes(recording: Recording, session: Session) -> Recording:
    """The recording with its live changes marked, and an event where it was stopped.

    Steps of the timeline after a stop are not in it.
    """
    live = {(action.at, action.verb, action.key) for action in session.live_actions}
    events = [
        replace(event, detail=event.detail | {"live": True})
        if (event.time_ps, event.kind, event.entity) in live
        else event
        for event in recording.events
    ]
    if session.stopping:
        end = session.now_ps
        events = [event for event in events if event.time_ps <= end]
        events.append(Event(end, STOPPED, session.target, {"live": True}))
    return replace(recording, events=events)
