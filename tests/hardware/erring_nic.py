"""Algorithms of NICs that err in a way that is drawn, for the figures to find."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from pydantic import Field

from orchestrator.registry import GROUP, Registry
from tailback.plugin import (
    CE,
    CNP,
    NOTHING,
    SEND,
    Duration,
    Params,
    notification_point,
    record,
)
from tests.orchestrator.plugging import entry_point

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


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let plans name these algorithms."""
    point = entry_point(monkeypatch, "erring", tailback_algorithms=lambda: [*POINTS])
    registry = Registry([*entry_points(group=GROUP), point])
    assert not registry.problems
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: registry))
