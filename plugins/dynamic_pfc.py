"""Priority flow control of an input in shared memory, whose threshold its buffer management moves.

XOFF: a frame came that lies in the headroom of its port, since the buffer was at its limit. XON:
none of its frames lies there any more, and it holds no more than `xon`, or no more than its limit
less `xon_offset`, whichever is more. The names are those of SONiC's buffer profiles (`xon`,
`xon_offset`; `xoff` there is the headroom). Refreshes are those of `pfc`.
"""

from __future__ import annotations

from pydantic import Field

from plugins.pause import STATE, refresh
from tailback.plugin import (
    NEVER,
    NOTHING,
    PFC,
    SEND,
    Algorithm,
    Params,
    Size,
    compiled,
    pause,
)


class DynamicPfc(Params):
    """Parameters of PFC by headroom."""

    xon: Size = Field(0, ge=0, le=10**9, description="resume the neighbour at so many octets")
    xon_offset: Size = Field(
        3_000, ge=0, le=10**9, description="or at so many octets below the limit of the buffer"
    )
    quanta: int = Field(65_535, ge=2, le=65_535, description="length of one PFC, 512 bit times")

    def operating_queue(self, rate: int) -> int:
        """The least octets that it lets a buffer hold: its limit may fall to 0."""
        return self.xon


@compiled
def has_drained(params, queue):
    """True if a buffer is so far below its limit that its neighbour may send again."""
    return queue.headroom == 0 and (queue.bytes <= max(params.xon, queue.limit - params.xon_offset))


def on_enqueue(state, params, queue, frame, now, message):
    """A frame went in."""
    message.kind = PFC
    if state.stopped != 0 or queue.headroom == 0:
        return NOTHING
    state.stopped = 1
    return refresh(params, queue, now, message)


def on_dequeue(state, params, queue, frame, now, message):
    """A frame went out."""
    message.kind = PFC
    if state.stopped == 0 or not has_drained(params, queue):
        return NOTHING
    state.stopped = 0
    message.feedback = 0
    queue.pause_timer = NEVER
    return SEND


def on_refresh(state, params, queue, frame, now, message):
    """Refresh the PFC pause before its quanta run out."""
    message.kind = PFC
    return refresh(params, queue, now, message)


DYNAMIC_PFC: Algorithm = pause(
    "dynamic-pfc",
    "priority flow control of inputs that pauses at the limit of their buffer management",
    DynamicPfc,
    STATE,
    enqueue=on_enqueue,
    dequeue=on_dequeue,
    timer=on_refresh,
    own_lane=True,
    uses_headroom=True,
)
