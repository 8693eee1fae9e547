"""Stuck PAUSE: a port that refreshes PAUSE without end, the storm of a broken NIC.

From the first frame that reaches its queue after `start`, all neighbours are paused for
`quanta`, and again when half of them have run, whatever the queue holds, until `stop`. With `pfc`
only the priorities of its queue are held. Not in the papers: for the PAUSE storm of
docs/settled/experiments.md#beyond-the-papers.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from plugins.pause import refresh
from tailback.plugin import NOTHING, PFC, Algorithm, Duration, Params, compiled, pause, record

ONLY_PFC = 1


class StuckPause(Params):
    """Parameters of the storm."""

    start: Duration = Field(0, ge=0, le=10**15, description="begin of the storm")
    stop: Duration = Field(10**15, ge=0, le=10**15, description="end of the storm")
    quanta: int = Field(65_535, ge=2, le=65_535, description="length of one PAUSE, 512 bit times")
    frames: Literal["pause", "pfc"] = Field("pause", description="kind of frames")

    @model_validator(mode="after")
    def _in_order(self) -> StuckPause:
        if self.stop < self.start:
            raise ValueError("start must not be above stop")
        return self


STATE = record("stuck")


@compiled
def _send_pause(state, params, queue, now, message):
    """Send PAUSE and schedule its refresh, until the storm ends."""
    state.stuck = 0
    if now >= params.stop:
        return NOTHING
    state.stuck = 1
    if params.frames == ONLY_PFC:
        message.kind = PFC
    return refresh(params, queue, now, message)


def on_enqueue(state, params, queue, frame, now, message):
    """A frame went in."""
    if state.stuck != 0 or now < params.start:
        return NOTHING
    return _send_pause(state, params, queue, now, message)


def on_refresh(state, params, queue, frame, now, message):
    """Half of the quanta have run."""
    return _send_pause(state, params, queue, now, message)


STUCK: Algorithm = pause(
    "stuck-pause",
    "PAUSE without an end, as a broken NIC sends it",
    StuckPause,
    STATE,
    enqueue=on_enqueue,
    timer=on_refresh,
)
