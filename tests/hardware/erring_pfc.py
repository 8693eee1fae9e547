"""PFC of a switch that errs, for the figures of a device to find."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from pydantic import Field

from orchestrator.registry import GROUP, Registry
from plugins.pause import Pause, pause_above_high_mark, refresh, resume_below_low_mark
from tailback.plugin import (
    NEVER,
    NOTHING,
    PFC,
    SEND,
    Duration,
    compiled,
    pause,
    record,
)
from tests.orchestrator.plugging import entry_point

RIGHT, OTHER_PRIORITY, ALL_PRIORITIES, NO_XON, NO_REFRESH, EARLY_XON, LATE, DRIFTS, ONCE = range(9)
"""XOFF for priority 5, or for all; no XON; XOFF that is not refreshed; XON after `delay`; XOFF
after `delay`; a threshold that rises by 1 KB with each XOFF; one XOFF, and none any more."""


class ErringPfc(Pause):
    """Parameters of PFC that errs."""

    fault: int = Field(RIGHT, ge=0, le=9, description="see above")
    delay: Duration = Field(0, ge=0, le=10**12, description="of what comes late, or early")


STATE = record("stopped", "waits", "stops")


@compiled
def named(params):
    """Priorities that a PFC frame names; 0: those of the queue."""
    if params.fault == OTHER_PRIORITY:
        return 1 << 5
    return 255 if params.fault == ALL_PRIORITIES else 0


def on_enqueue(state, params, queue, frame, now, message):
    """A frame went in."""
    message.kind = PFC
    message.mark = named(params)
    if params.fault == DRIFTS and queue.bytes <= params.high + state.stops * 1_000:
        return NOTHING
    if params.fault == ONCE and state.stops > 0:
        return NOTHING
    if params.fault == LATE and state.stopped == 0 and queue.bytes > params.high:
        state.stopped = 1
        state.waits = 1
        queue.pause_timer = now + params.delay
        return NOTHING
    answer = pause_above_high_mark(state, params, queue, now, message)
    if answer == SEND:
        state.stops += 1
        if params.fault == NO_REFRESH:
            queue.pause_timer = NEVER
        elif params.fault == EARLY_XON:
            queue.pause_timer = now + params.delay
    return answer


def on_dequeue(state, params, queue, frame, now, message):
    """A frame went out."""
    message.kind = PFC
    message.mark = named(params)
    answer = resume_below_low_mark(state, params, queue, message)
    if answer == SEND and params.fault == NO_XON:
        return NOTHING
    return answer


def on_refresh(state, params, queue, frame, now, message):
    """The timer of a queue."""
    message.kind = PFC
    message.mark = named(params)
    if params.fault == EARLY_XON:
        message.feedback = 0
        queue.pause_timer = NEVER
        return SEND
    return refresh(params, queue, now, message)


ERRING_PFC = pause(
    "erring-pfc",
    "PFC that errs",
    ErringPfc,
    STATE,
    enqueue=on_enqueue,
    dequeue=on_dequeue,
    timer=on_refresh,
    own_lane=True,
)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let plans name this algorithm."""
    point = entry_point(monkeypatch, "erring_pfc", tailback_algorithms=lambda: [ERRING_PFC])
    registry = Registry([*entry_points(group=GROUP), point])
    assert not registry.problems
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
