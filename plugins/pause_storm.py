"""PAUSE storm generator: a port that sends PAUSE in a pattern, as `tailback storm` does.

From `start` to `stop` all neighbours of its queue are held by PAUSE, or by PFC for the queue's
priorities (those of `vector` among them), from the first instant on and whatever the queue holds:
for `storm_time`, then resumed with 0 quanta for `idle_time`, repeatedly. A frame follows the last
one when
`refresh_margin` of what that holds for is left, so that lateness by less leaves no gap. Unlike
`stuck-pause`, it waits for no frame, has a pattern and resumes its neighbours.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from tailback.plugin import (
    NEVER,
    NOTHING,
    PFC,
    SEND,
    Algorithm,
    Duration,
    Params,
    Ratio,
    RatioLimit,
    pause,
    quanta_time,
    record,
)

ONLY_PFC = 1
LONGEST = 10**15


class PauseStorm(Params):
    """Parameters of the storm."""

    former: ClassVar[dict[str, str]] = {
        "on": "storm_time",
        "off": "idle_time",
        "margin": "refresh_margin",
    }

    start: Duration = Field(0, ge=0, le=LONGEST, description="begin of the storm")
    stop: Duration = Field(LONGEST, ge=0, le=LONGEST, description="end of the storm")
    storm_time: Duration = Field(0, ge=0, le=LONGEST, description="pause period; 0: to the end")
    idle_time: Duration = Field(0, ge=0, le=LONGEST, description="resume period")
    quanta: int = Field(65_535, ge=2, le=65_535, description="of one frame, 512 bit times each")
    refresh_margin: Annotated[Ratio, RatioLimit(1000)] = Field(
        Fraction(3, 4), ge=0, lt=1, description="share of the quanta left when the next one follows"
    )
    frames: Literal["pause", "pfc"] = Field("pfc", description="kind of frames")
    vector: int = Field(
        0, ge=0, le=255, description="bit n for priority n of PFC; 0: all of the queue's"
    )

    @model_validator(mode="after")
    def _in_order(self) -> PauseStorm:
        if self.stop < self.start:
            raise ValueError("start must not be above stop")
        if (self.storm_time > 0) != (self.idle_time > 0):
            raise ValueError("storm_time and idle_time are both 0, or neither")
        return self


STATE = record(
    "holding",  # 1 while the neighbours are held
)


def on_timer(state, params, queue, frame, now, message):
    """Begin a storm period, refresh its PAUSE, or end the period."""
    named = queue.priorities
    if params.vector != 0:
        named &= params.vector
    if now < params.start:
        queue.pause_timer = params.start
        return NOTHING
    end = params.stop
    following = NEVER
    if params.storm_time > 0:
        begun = now - (now - params.start) % (params.storm_time + params.idle_time)
        end = min(end, begun + params.storm_time)
        following = begun + params.storm_time + params.idle_time
    if following >= params.stop:
        following = NEVER
    if named == 0:  # the timeline may name the priority in `vector` by the next storm period
        queue.pause_timer = following
        state.holding = 0
        return NOTHING
    if params.frames == ONLY_PFC:
        message.kind = PFC
        message.mark = named
    if now >= end:
        queue.pause_timer = following
        message.feedback = 0
        held = state.holding
        state.holding = 0
        return held
    state.holding = 1
    hold = quanta_time(params.quanta, queue.pause_rate)
    message.feedback = params.quanta
    margin = hold // params.refresh_margin_den * params.refresh_margin_num
    queue.pause_timer = min(now + hold - margin, end)
    return SEND


STORM: Algorithm = pause(
    "pause-storm",
    "PAUSE or PFC by a pattern, without a lapse",
    PauseStorm,
    STATE,
    bounds={"holding": (0, 1)},
    begins=True,
    timer=on_timer,
)
