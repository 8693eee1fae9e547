"""A port that says PAUSE again and again and never lets its neighbours go: a broken NIC's storm.

From the first frame that reaches its queue after `start`, all neighbours are told to stop for
`quanta`, and again when half of them have run, whatever the queue holds. Not in the papers:
for the PAUSE storm of docs/settled/experiments.md#beyond-the-papers.
"""

from __future__ import annotations

from pydantic import Field

from orchestrator.algorithm import Algorithm, pause
from orchestrator.engine.records import record
from orchestrator.plan.params import Duration, Params
from plugins.pause import refresh


class StuckPause(Params):
    """Parameters of the storm."""

    start: Duration = Field(0, ge=0, le=10**15, description="the port is sound until then")
    quanta: int = Field(65_535, ge=2, le=65_535, description="length of one PAUSE, 512 bit times")


STATE = record("stuck")


def on_enqueue(state, params, queue, frame, now, message):  # type: ignore[no-untyped-def]
    """A frame went in."""
    if state.stuck != 0 or now < params.start:
        return 0
    state.stuck = 1
    return refresh(params, queue, now, message)


def on_refresh(state, params, queue, frame, now, message):  # type: ignore[no-untyped-def]
    """Half of the quanta have run."""
    return refresh(params, queue, now, message)


STUCK: Algorithm = pause(
    "stuck-pause",
    "PAUSE without an end, as a broken NIC sends it",
    StuckPause,
    STATE,
    enqueue=on_enqueue,
    timer=on_refresh,
)
