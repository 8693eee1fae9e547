"""Priority flow control of a queue with a high and a low threshold (IEEE 802.1Qbb).

As 802.3x PAUSE, marks, quanta and refresh included, but only the priorities of the queue's lane are
held: those that share it, or the one that it has with `priorities = "separate"`
(docs/settled/algorithms.md#pfc-and-pause).
"""

from __future__ import annotations

from plugins.pause import STATE, Pause, pause_above_high_mark, refresh, resume_below_low_mark
from tailback.plugin import PFC as PFC_FRAME
from tailback.plugin import Algorithm, pause


class PriorityFlowControl(Pause):
    """Parameters of PFC."""


def on_enqueue(state, params, queue, frame, now, message):
    """A frame went in."""
    message.kind = PFC_FRAME
    return pause_above_high_mark(state, params, queue, now, message)


def on_dequeue(state, params, queue, frame, now, message):
    """A frame went out."""
    message.kind = PFC_FRAME
    return resume_below_low_mark(state, params, queue, message)


def on_refresh(state, params, queue, frame, now, message):
    """Refresh the PFC pause before its quanta run out."""
    message.kind = PFC_FRAME
    return refresh(params, queue, now, message)


PFC: Algorithm = pause(
    "pfc",
    "priority flow control with a high and a low mark",
    PriorityFlowControl,
    STATE,
    enqueue=on_enqueue,
    dequeue=on_dequeue,
    timer=on_refresh,
    own_lane=True,
)
