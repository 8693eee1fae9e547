"""Receiver of selective repeat: buffers out-of-order segments and reports them."""

from __future__ import annotations

from tailback.plugin import CE, NOTHING, SACK, SEND, compiled
from traffic.go_back_n import COUNT, NEGATIVE

WINDOW = 1 << 11
"""Segments that the ends keep books of: more than can be under way."""
MAP = 32
"""Segments that an acknowledgement reports one by one: that which it answers, and those before."""


@compiled
def has_arrived(state, segment):  # type: ignore[no-untyped-def]
    """True if a segment has arrived."""
    return segment < state.expected or state.there[segment % WINDOW] == 1


@compiled
def answer(state, frame, message):  # type: ignore[no-untyped-def]
    """Write an acknowledgement that answers a segment or its header."""
    message.kind = SACK
    message.sequence = state.expected
    message.created = frame.created
    message.offset = frame.sequence
    message.delta = state.marked
    message.inner = 0
    for back in range(MAP):
        if has_arrived(state, frame.sequence - back):
            message.inner |= 1 << back


def arrived(state, params, flow, frame, now, message):  # type: ignore[no-untyped-def]
    """Kernel: a segment came."""
    segment = frame.sequence
    if segment >= state.expected + WINDOW:  # never true: no sender has so many under way
        message.sequence = state.expected
        return NOTHING
    if not has_arrived(state, segment):
        state.there[segment % WINDOW] = 1
        if frame.mark & CE == CE:
            state.marked = (state.marked + frame.length) & COUNT
    for _ in range(WINDOW):  # never false: no more can wait
        if state.there[state.expected % WINDOW] != 1:
            break
        state.there[state.expected % WINDOW] = 0
        state.expected += 1
    answer(state, frame, message)
    return SEND


def trimmed(state, params, flow, frame, now, message):  # type: ignore[no-untyped-def]
    """Kernel: the header of a segment came: what it began is to be sent again."""
    answer(state, frame, message)
    message.feedback = NEGATIVE
    return SEND
