"""Receiver of the TCP model: reassembly and (delayed) acknowledgements.

Every second segment in order is acknowledged (RFC 1122, 4.2.3.2), or every `ack_every`-th, or one
that waits too long. A segment is acknowledged at once that leaves a gap, arrives again, fills a gap
or a part of it (RFC 5681, 4.2), or was marked by ECN. Every acknowledgement reports one block
beyond a gap: that of the segment that has just arrived.
"""

from __future__ import annotations

from tailback.plugin import ACK, NEVER, NOTHING, SEND
from traffic.tcp_sender import WINDOW


def arrived(state, params, flow, frame, now, message):
    """Kernel: a segment came, or a delayed acknowledgement is due."""
    block_start = 0
    block_end = 0
    at_once = params.delayed_ack == 0
    if frame.kind == ACK:
        at_once = True
    else:
        sequence = frame.sequence
        created = frame.created
        if params.ecn != 0 and frame.mark & 3 == 3:
            state.marked = 1
            at_once = True
        if sequence == state.expected:
            if state.beyond > sequence:  # it fills a gap or a part of it
                at_once = True
            if state.owed == 0:
                state.echo = created
            state.owed += 1
            state.expected += 1
            for _ in range(WINDOW):  # never false: no more can wait
                if state.there[state.expected % WINDOW] != 1:
                    break
                state.there[state.expected % WINDOW] = 0
                state.expected += 1
        # never false (`sequence < state.expected + WINDOW - 1`): no sender has so many under way
        elif sequence > state.expected and sequence < state.expected + WINDOW - 1:
            state.there[sequence % WINDOW] = 1
            state.beyond = max(state.beyond, sequence + 1)
            state.echo = created
            at_once = True
            block_start = sequence
            # never false (`block_start > state.expected`): what is expected is not there yet
            while block_start > state.expected and state.there[(block_start - 1) % WINDOW] == 1:
                block_start -= 1
            block_end = sequence + 1
            # never false (`block_end < state.expected + WINDOW`): no sender has so many under way
            while state.there[block_end % WINDOW] == 1 and block_end < state.expected + WINDOW:
                block_end += 1
        else:  # it is there already
            state.echo = created
            at_once = True
    message.sequence = state.expected
    message.created = state.echo
    message.offset = block_start
    message.delta = block_end
    message.mark = 0
    if at_once or state.owed >= params.ack_every:
        message.mark = 3 * state.marked
        state.marked = 0
        state.owed = 0
        flow.ack_timer = NEVER
        return SEND
    # an answer stops it; further segments that wait keep the time limit of the first
    if flow.ack_timer == NEVER:
        flow.ack_timer = now + params.delayed_ack
    return NOTHING
