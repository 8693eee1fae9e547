"""Scripted PAUSE frames: chosen quanta at chosen times, a test stimulus.

Whatever the queue holds, the neighbours are paused for `quanta` when a frame comes in from
`first` on, and again `interval` later, `count` times in all; nothing lets them go before the quanta
have run (IEEE 802.3 annex 31B). Not in the papers.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from tailback.plugin import NOTHING, SEND, Algorithm, Duration, Params, pause, record


class CraftedPause(Params):
    """Parameters of the frames."""

    former: ClassVar[dict[str, str]] = {"every": "interval"}

    first: Duration = Field(0, ge=0, le=10**15, description="time of the first frame")
    interval: Duration = Field(10**9, ge=1, le=10**12, description="interval between frames")
    count: int = Field(1, ge=0, le=10**6, description="number of frames")
    quanta: int = Field(100, ge=0, le=65_535, description="length of each, 512 bit times")


STATE = record("sent")


def on_enqueue(state, params, queue, frame, now, message):
    """A frame was enqueued: pause the neighbours when a PAUSE is due."""
    if state.sent >= params.count or now < params.first + state.sent * params.interval:
        return NOTHING
    message.feedback = params.quanta
    state.sent += 1
    return SEND


CRAFTED_PAUSE: Algorithm = pause(
    "scripted-pause",
    "PAUSE of chosen quanta at chosen instants, for tests",
    CraftedPause,
    STATE,
    bounds={"sent": (0, 10**6)},
    enqueue=on_enqueue,
    former=("crafted-pause",),
)
