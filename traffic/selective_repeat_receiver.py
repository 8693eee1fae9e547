"""Receiver of selective repeat: buffers out-of-order segments and reports them.

It answers every segment, or every `ack_every`-th one in order (`traffic.ack_coalescing`).
"""

from __future__ import annotations

from tailback.plugin import ACK, CE, NOTHING, SACK, compiled
from traffic.ack_coalescing import acknowledge, is_ack_due
from traffic.go_back_n import COUNT, NEGATIVE

WINDOW = 1 << 11
"""Segments that the ends keep books of: more than can be under way."""
MAP = 32
"""Segments that an acknowledgement reports one by one: that which it answers, and those before."""


@compiled
def has_arrived(state, segment):
    """True if a segment has arrived."""
    return segment < state.expected or state.there[segment % WINDOW] == 1


@compiled
def answer(state, message):
    """Write an acknowledgement that answers the segment, or header, that came last."""
    message.kind = SACK
    message.sequence = state.expected
    message.created = state.echo
    message.offset = state.newest_came
    message.delta = state.marked
    message.inner = 0
    for back in range(MAP):
        if has_arrived(state, state.newest_came - back):
            message.inner |= 1 << back


def arrived(state, params, flow, frame, now, message):
    """Kernel: a segment came, or the time limit of an acknowledgement is over."""
    if frame.kind == ACK:
        answer(state, message)
        return acknowledge(state, params, flow)
    segment = frame.sequence
    if segment >= state.expected + WINDOW:  # never true: no sender has so many under way
        message.sequence = state.expected
        return NOTHING
    state.echo = frame.created
    state.newest_came = segment
    in_order = segment == state.expected
    has_gap = 1 if state.beyond > state.expected else 0
    state.beyond = max(state.beyond, segment + 1)
    if not has_arrived(state, segment):
        state.there[segment % WINDOW] = 1
        if frame.mark & CE == CE:
            state.marked = (state.marked + frame.length) & COUNT
    for _ in range(WINDOW):  # never false: no more can wait
        if state.there[state.expected % WINDOW] != 1:
            break
        state.there[state.expected % WINDOW] = 0
        state.expected += 1
    answer(state, message)
    if not in_order:
        return acknowledge(state, params, flow)
    return is_ack_due(state, params, flow, frame.mark, has_gap, now)


def trimmed(state, params, flow, frame, now, message):
    """Kernel: the header of a segment came: what it began is to be sent again."""
    state.echo = frame.created
    state.newest_came = frame.sequence
    answer(state, message)
    message.feedback = NEGATIVE
    return acknowledge(state, params, flow)
