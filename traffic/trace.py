"""Capture replay: frames at the times and with the lengths of a capture or of one of its flows.

The first frame of a source comes at its `start`, with the length of the plan's `frame`; every
further one as much later as it came behind the first in the capture, divided by `speed`. A frame
shorter than the plan's `frame` is as long as that; one longer than `longest` is cut to that. A
source that was held (a full host queue, a stop) makes up for what it missed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from orchestrator.algorithm import Algorithm, traffic
from orchestrator.engine.jit import compiled, word_at
from orchestrator.engine.records import NEVER, NONE, record
from orchestrator.plan.fields import LONGEST_FRAME
from orchestrator.plan.params import Params, Parts, Ratio, Size, from_file
from traffic.tracefile import MOST_PS

TIME, LENGTH, FLOW, WAY = range(4)
COLUMNS = 4


def load(path: str) -> np.ndarray:
    """int64[frames, COLUMNS] of a capture: ps since its first frame, octets, flow, direction.

    Flows are numbered in the order of their first frames. Control frames are left out. Raises
    BadInput for a file that is no capture or has no such frame.
    """
    from traffic.tracefile import rows

    return rows(path)


class Trace(Params):
    """Parameters of a source that repeats a capture."""

    file: Annotated[str, *from_file(load)] = Field(description="a pcap or pcapng file")
    flow: int = Field(
        -1, ge=-1, le=10**6, description="index of a flow, in order of begin; -1: all"
    )
    way: Literal["all", "in", "out"] = Field("all", description="captured direction")
    speed: Annotated[Ratio, Parts(1_000_000)] = Field(
        Fraction(1), gt=0, le=10**6, description="speed-up; 2 is twice as fast"
    )
    longest: Size = Field(
        1_518, ge=70, le=LONGEST_FRAME, description="longer frames are cut to this"
    )
    repeat: bool = Field(False, description="begin again at its end")


STATE = record("started", "row", "first", "begun", "least")


@compiled
def time_of(params, row):  # type: ignore[no-untyped-def]
    """ps of a row since the capture's first frame."""
    return min(max(word_at(params.file_address, COLUMNS * max(row, 0) + TIME), 0), MOST_PS)


@compiled
def stretched(params, span):  # type: ignore[no-untyped-def]
    """A span (ps) divided by the speed, rounded down; 2^61 at the most. In two parts, for the
    product of the span with a number of the ratio need not fit an int64."""
    whole = min(span // params.speed_num, NEVER // 2 // params.speed_den) * params.speed_den
    return whole + span % params.speed_num * params.speed_den // params.speed_num


@compiled
def wanted(params, row):  # type: ignore[no-untyped-def]
    """True if a row is of the flow and direction that is replayed."""
    at = COLUMNS * row
    if params.flow >= 0 and word_at(params.file_address, at + FLOW) != params.flow:
        return False
    return params.way == 0 or word_at(params.file_address, at + WAY) == params.way


@compiled
def following(params, row):  # type: ignore[no-untyped-def]
    """The next row from `row` on that is wanted; NONE behind the last one."""
    while row < params.file_rows:
        if wanted(params, row):
            return row
        row += 1
    return NONE


def on_next(state, params, flow, frame, now, message):  # type: ignore[no-untyped-def]
    """ps to the next frame, whose length is set; never after the last one."""
    if state.started == 0:
        state.started = 1
        state.least = flow.length
        state.begun = now
        state.row = following(params, 0)
        state.first = state.row
    if state.row == NONE:
        return NEVER - now
    before = state.row
    state.row = following(params, before + 1)
    if state.row == NONE and params.repeat != 0:
        # the gap from the last frame to the first is the mean one
        span = max(time_of(params, before) - time_of(params, state.first), 0)
        span += max(span // max(before - state.first, 1), 1)
        state.begun = min(state.begun + stretched(params, span), NEVER)
        state.row = state.first
    if state.row == NONE:
        return NEVER - now
    at = COLUMNS * state.row
    since = max(time_of(params, state.row) - time_of(params, state.first), 0)
    flow.length = min(max(word_at(params.file_address, at + LENGTH), state.least), params.longest)
    return max(state.begun + stretched(params, since) - now, 0)


TRACE: Algorithm = traffic(
    "trace", "the times and lengths of a capture's frames", Trace, STATE, next=on_next
)
