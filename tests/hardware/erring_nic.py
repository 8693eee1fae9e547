"""Algorithms of NICs that err in a way that is drawn, for the figures to find."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest
from pydantic import Field

from orchestrator.registry import GROUP, Registry
from tailback.plugin import (
    ACK,
    CE,
    CNP,
    NOTHING,
    SEND,
    Duration,
    Params,
    compiled,
    notification_point,
    record,
)
from tests.orchestrator.plugging import entry_point
from traffic import reliable_connection as rc
from traffic.go_back_n import NEGATIVE

RIGHT, UNMARKED, LATE, ONCE, SKIPS, TWICE = range(6)


class Erring(Params):
    """Parameters of a notification point that errs."""

    interval: Duration = Field(0, ge=0, le=10**13, description="between CNPs")
    least_marks: int = Field(1, ge=1, le=1000, description="marks until a CNP")
    fault: int = Field(RIGHT, ge=0, le=9, description="see above")
    every: int = Field(5, ge=2, le=100, description="of CNPs: one is left out or comes twice")


STATE = record("notified", "last", "marks", "cnps")


def on_arrival(state, params, node, frame, now, message):
    """A data frame arrives."""
    marked = frame.mark & CE == CE
    if marked:
        state.marks += 1
    waits = state.notified != 0 and now - state.last < params.interval
    if params.fault == TWICE and state.notified != 0 and state.cnps % params.every == 0:
        waits = False  # so that the next mark or packet is answered as well
    if params.fault == ONCE and state.notified != 0:
        waits = True
    if waits or (not marked and params.fault not in (UNMARKED, LATE)):
        return NOTHING
    if params.fault == LATE and (marked or state.marks == 0):
        return NOTHING  # the packet behind the mark causes the CNP
    if state.marks < params.least_marks and params.fault != UNMARKED:
        return NOTHING
    state.notified = 1
    state.last = now
    state.marks = 0
    state.cnps += 1
    if params.fault == SKIPS and state.cnps % params.every == 0:
        return NOTHING
    message.kind = CNP
    return SEND


NAMES = {"erring-pair": True, "erring-port": False}
"""Name of the algorithm -> whether each flow has a state of its own."""
POINTS = [
    notification_point(name, "errs", Erring, STATE, per_flow=per_flow, arrival=on_arrival)
    for name, per_flow in NAMES.items()
]


NAKS_ALL, NAKS_NONE, NAKS_LATE, NAKS_BEFORE, TAKES_ALL, NAKS_COPIES = range(1, 7)
"""Faults of a responder: a NAK for each packet behind a gap, for none, for the third one, for the
PSN before the gap; it takes packets behind a gap; a NAK for each packet that it has already."""
LOST_ALONE, BUT_LOST, TOO_FAR, IGNORES, TWO_TIMES, HALF = range(7, 13)
"""Faults of a requester after a NAK: it resends the lost packet alone, all but it, three before it,
nothing until the timeout, the lost one two times, every second one."""


class ErringConnection(rc.ReliableConnection):
    """Parameters of a connection, one of whose ends errs."""

    fault: int = Field(RIGHT, ge=0, le=99, description="see above")


CONNECTION_STATE = np.dtype([*rc.STATE.descr, ("again", np.int64), ("behind", np.int64)])
_send, _acknowledged, _arrived = (compiled(one) for one in (rc.send, rc.acknowledged, rc.arrived))


def erring_send(state, params, flow, frame, now, message):
    """A packet may be sent."""
    answer = _send(state, params, flow, frame, now, message)
    if answer == SEND and state.again > 0:
        if params.fault == LOST_ALONE:
            state.nxt = max(state.again, state.nxt)
            state.again = 0
        elif params.fault == TWO_TIMES:
            state.nxt -= 1
            state.again = 0
        elif params.fault == HALF:
            state.nxt = min(state.nxt + 1, state.again)
            if state.nxt >= state.again:
                state.again = 0
    return answer


def erring_acknowledged(state, params, flow, frame, now, message):
    """An acknowledgement is back."""
    is_nak = frame.feedback == NEGATIVE
    if is_nak and params.fault == IGNORES:
        frame.feedback = 0
    before = state.nxt
    answer = _acknowledged(state, params, flow, frame, now, message)
    if is_nak and state.nxt == state.una and before > state.nxt:
        state.again = before
        if params.fault == BUT_LOST:
            state.nxt += 1
        elif params.fault == TOO_FAR:
            state.nxt = max(state.nxt - 3, params.first_psn)
    return answer


def erring_arrived(state, params, flow, frame, now, message):
    """A packet came."""
    if frame.kind == ACK or state.awaits == 0:
        return _arrived(state, params, flow, frame, now, message)
    is_behind = frame.sequence > state.expected
    if not is_behind:
        state.behind = 0
        if params.fault == NAKS_COPIES and frame.sequence < state.expected:
            message.feedback = NEGATIVE
            message.sequence = state.expected
            return SEND
        return _arrived(state, params, flow, frame, now, message)
    state.behind += 1
    if params.fault == NAKS_ALL:
        state.asked = 0
    elif params.fault == NAKS_NONE:
        state.asked = 1
    elif params.fault == NAKS_LATE and state.behind < 3:
        return NOTHING
    elif params.fault == TAKES_ALL:
        state.expected = frame.sequence
        return _arrived(state, params, flow, frame, now, message)
    answers = _arrived(state, params, flow, frame, now, message)
    if params.fault == NAKS_BEFORE:
        message.sequence = state.expected - 1
    return answers


CONNECTION = replace(
    rc.RELIABLE_CONNECTION,
    name="erring-rc",
    params=ErringConnection,
    state=CONNECTION_STATE,
    kernels={
        "send": erring_send,
        "acknowledged": erring_acknowledged,
        "arrived": erring_arrived,
    },
)


def connection(fault: int, **params: Any) -> dict[str, Any]:
    """Settings of a transport whose one end errs."""
    return {"plugin": "erring-rc", "fault": fault, **params}


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let plans name these algorithms."""
    point = entry_point(monkeypatch, "erring", tailback_algorithms=lambda: [*POINTS, CONNECTION])
    registry = Registry([*entry_points(group=GROUP), point])
    assert not registry.problems
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
