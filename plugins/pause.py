"""802.3x PAUSE of a queue with a high and a low threshold (IEEE 802.3 annex 31B).

Above the high mark every neighbour is paused for `quanta`; while the queue stays above the
low mark it is refreshed when half of the quanta have run; below the low mark 0 quanta end it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from tailback.plugin import (
    AS_VERILOG_TOO,
    NEVER,
    NOTHING,
    SEND,
    Algorithm,
    Params,
    Size,
    compiled,
    pause,
    quanta_time,
    record,
)


class Pause(Params):
    """Parameters of PAUSE."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "ibm-10g": {"high": "110KB", "low": "44KB"},
        "ibm-100g": {"high": "110KB", "low": "44KB"},
    }

    high: Size = Field(110_000, ge=64, le=10**9, description="pause the neighbours above, XOFF")
    low: Size = Field(44_000, ge=0, le=10**9, description="resume them below, XON")
    quanta: int = Field(65_535, ge=2, le=65_535, description="length of one PAUSE, 512 bit times")

    @model_validator(mode="after")
    def _marks_in_order(self) -> Pause:
        if self.low >= self.high:
            raise ValueError("low must be below high")
        return self

    def needless_unless_pausing(self) -> frozenset[str]:
        """Dequeue events matter only while PAUSE is in effect."""
        return frozenset({"dequeue"})

    def operating_queue(self, rate: int) -> int:
        """The high mark: what is above it fills while PAUSE is on its way."""
        return self.high


STATE = record("stopped")


@compiled
def pause_above_high_mark(state, params, queue, now, message):
    """A frame was enqueued (`queue.bytes` includes it). Returns 1 to pause the neighbours."""
    if state.stopped != 0 or queue.bytes <= params.high:
        return NOTHING
    state.stopped = 1
    message.feedback = params.quanta
    queue.pause_timer = now + quanta_time(params.quanta, queue.pause_rate) // 2
    return SEND


@compiled
def resume_below_low_mark(state, params, queue, message):
    """A frame was dequeued (`queue.bytes` excludes it). Returns 1 to resume the neighbours."""
    if state.stopped == 0 or queue.bytes >= params.low:
        return NOTHING
    state.stopped = 0
    message.feedback = 0
    queue.pause_timer = NEVER
    return SEND


@compiled
def refresh(params, queue, now, message):
    """Half of the quanta have run and the queue is still above the low mark."""
    message.feedback = params.quanta
    queue.pause_timer = now + quanta_time(params.quanta, queue.pause_rate) // 2
    return SEND


def on_enqueue(state, params, queue, frame, now, message):
    """A frame went in."""
    return pause_above_high_mark(state, params, queue, now, message)


def on_dequeue(state, params, queue, frame, now, message):
    """A frame went out."""
    return resume_below_low_mark(state, params, queue, message)


def on_refresh(state, params, queue, frame, now, message):
    """Refresh the PAUSE before its quanta run out."""
    return refresh(params, queue, now, message)


PAUSE: Algorithm = pause(
    "pause",
    "802.3x PAUSE with a high and a low mark",
    Pause,
    STATE,
    forms=AS_VERILOG_TOO,
    enqueue=on_enqueue,
    dequeue=on_dequeue,
    timer=on_refresh,
)
