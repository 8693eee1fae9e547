"""PFC watchdog of paused queues, with SONiC's detection and restoration.

A queue in which frames wait and that sent none for `detection_time`, held by its neighbour all the
while, is in a storm. Until none of the frames that hold it has come for `restoration_time` (0:
twice `detection_time`, as there) what is in it and what comes is dropped, or sent in spite of
them; then they hold it again. The queue is looked at every `polling_interval` from the first frame
on that holds it, so that a storm is found within `detection_time` and one more
`polling_interval`. `alert` counts alone.

The design is that of SONiC's wiki, PFC Watchdog Design: detection, mitigation, restoration, each
per queue. There the switch also drops what comes in by the same port and priority (later versions
do not); here it does not. SONiC's times are hundreds of milliseconds, and PFC's alone is watched.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from tailback.plugin import (
    DROPS,
    IGNORES,
    NEVER,
    NOTHING,
    OBEYS,
    Algorithm,
    Duration,
    Observed,
    Params,
    compiled,
    record,
    watchdog,
)

MS = 10**9
DROP, FORWARD = range(2)


class PfcWatchdog(Params):
    """Parameters of the watchdog."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"sonic": {}}
    former: ClassVar[dict[str, str]] = {
        "detection": "detection_time",
        "restoration": "restoration_time",
        "poll": "polling_interval",
    }

    detection_time: Duration = Field(
        400 * MS, ge=10**6, le=10**13, description="paused, stuck so long"
    )
    restoration_time: Duration = Field(
        0, ge=0, le=10**14, description="not paused; 0: twice the detection"
    )
    polling_interval: Duration = Field(
        200 * MS, ge=10**6, le=10**13, description="polling interval"
    )
    action: Literal["drop", "forward", "alert"] = Field(
        "drop", description="treatment of frames in a storm"
    )

    @model_validator(mode="after")
    def _in_order(self) -> PfcWatchdog:
        if self.polling_interval > self.detection_time:
            raise ValueError("polling_interval must not be above detection_time")
        return self


STATE = record(
    "storm",  # 1 while there is one
    "latest",  # ps: the last frame that held the queue
    "since",  # ps: held and still since
    "sent",  # frames that had left it then
)


@compiled
def _begin(state, queue, now):
    """Begin the detection interval of a paused queue."""
    state.since = now
    state.sent = queue.frames_out


@compiled
def _restore(state, params, queue, now):
    """End the storm if the queue was not paused for the restoration time."""
    wait = params.restoration_time if params.restoration_time > 0 else 2 * params.detection_time
    if now - state.latest < wait:
        queue.watchdog_timer = min(state.latest + wait, now + params.polling_interval)
        return
    state.storm = 0
    queue.storms_over += 1
    queue.stance = OBEYS


def on_paused(state, params, queue, frame, now, message):
    """A PAUSE or PFC frame that pauses the queue arrived."""
    state.latest = now
    if queue.watchdog_timer == NEVER:
        _begin(state, queue, now)
        queue.watchdog_timer = now + params.polling_interval
    return NOTHING


def on_poll(state, params, queue, frame, now, message):
    """Poll the queue."""
    if state.storm == 1:
        _restore(state, params, queue, now)
        return NOTHING
    if queue.held_until <= now:
        return NOTHING  # the next PAUSE frame restarts it
    if queue.frames == 0 or queue.frames_out != state.sent:
        _begin(state, queue, now)
    elif now - state.since >= params.detection_time:
        state.storm = 1
        queue.storms += 1
        if params.action == DROP:
            queue.stance = DROPS
        elif params.action == FORWARD:
            queue.stance = IGNORES
    queue.watchdog_timer = now + params.polling_interval
    return NOTHING


PFC_WATCHDOG: Algorithm = watchdog(
    "pfc-watchdog",
    "ends a PFC or PAUSE storm at a queue, as SONiC's watchdog does",
    PfcWatchdog,
    STATE,
    columns=(Observed("storm", "1", "1 while the queue is in a storm"),),
    held=on_paused,
    timer=on_poll,
)
