"""Scripted congestion notification messages: chosen feedback at chosen times, a test stimulus.

Whatever the queue holds, the frame that arrives first from `first` on has its source notified
`feedback`; the next message follows `interval` later with `feedback + feedback_step`, and so on,
`count` in
all. A reaction point can thus be held to its rules with messages that no queue has to be brought to
send. Not in the papers.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from tailback.plugin import (
    FORWARD,
    NOTIFY_ARRIVING,
    Algorithm,
    Duration,
    Params,
    congestion_point,
    record,
)

LARGEST = 63


class CraftedMessages(Params):
    """Parameters of the messages."""

    former: ClassVar[dict[str, str]] = {"change": "feedback_step", "every": "interval"}

    first: Duration = Field(0, ge=0, le=10**15, description="when the first message may come")
    interval: Duration = Field(10**9, ge=1, le=10**12, description="interval between messages")
    count: int = Field(1, ge=0, le=10**6, description="how many messages")
    feedback: int = Field(LARGEST, ge=0, le=LARGEST, description="feedback of the first message")
    feedback_step: int = Field(
        0, ge=-LARGEST, le=LARGEST, description="feedback increment per message; clipped to 0 .. 63"
    )

    def sends_cnm(self) -> bool:
        """Always."""
        return True


STATE = record("sent")


def on_arrival(state, params, queue, frame, now, message):
    """A frame arrives: its source is notified when a message is due."""
    if state.sent >= params.count or now < params.first + state.sent * params.interval:
        return FORWARD
    message.feedback = min(max(params.feedback + state.sent * params.feedback_step, 0), LARGEST)
    message.offset = 0
    message.delta = 0
    state.sent += 1
    return NOTIFY_ARRIVING


CRAFTED_CP: Algorithm = congestion_point(
    "scripted-cnm",
    "messages of a chosen feedback at chosen instants, for tests",
    CraftedMessages,
    STATE,
    bounds={"sent": (0, 10**6)},
    arrival=on_arrival,
    former=("crafted-cp",),
)
