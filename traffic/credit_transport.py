"""Credit-based transport: sends a first window uncredited, then against credit; resends losses.

Before its first data frame, and whenever there is more, a flow's source reports how
many octets it wants credit for. The receiver there answers with how many it grants, in all so far;
the source may send while what it sent is below that and its `unsolicited` first window, which a
flow has once. A frame may use the last octet of a credit. A credit that is lost loses nothing, as
the next one says more.

Every segment is acknowledged alone, with the next one that is expected. The header of a trimmed
segment is answered negatively and at once, and the receiver grants the octets anew: the source
resends that segment alone. What is lost unseen is found when nothing is acknowledged in order for
`timeout`: the source goes back to the first segment that is missing, and asks for credit for all
that it has to send from there on. Nothing is taken for lost that only waits for credit.

What may be under way is also what a window of a reaction point says, where there is one.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from tailback.plugin import (
    CE,
    NEVER,
    NOTHING,
    REQUEST_CREDIT,
    SEND,
    Algorithm,
    Capability,
    Duration,
    Params,
    Size,
    compiled,
    headers_of,
)
from traffic.go_back_n import COUNT, NEGATIVE, newly_acknowledged

MS = 10**9
WINDOW = 2048
"""Segments that may be under way at the most."""
MARKED = 2
"""In `feedback` of an acknowledgement: the segment came with ECN 11."""


class Credit(Params):
    """Parameters of a connection."""

    unsolicited: Size = Field(
        1_500, ge=0, le=1 << 30, description="octets of whole frames that a flow sends uncredited"
    )
    timeout: Duration = Field(
        4 * MS, ge=10**6, le=60 * 10**12, description="without the missing data, or credit"
    )

    def answered_within(self) -> int:
        """The first credit has to be back before the timeout."""
        return self.timeout


STATE = np.dtype(
    [
        ("una", np.int64),  # sender: first segment that was not acknowledged
        ("nxt", np.int64),  # the next new one
        ("announced", np.int64),  # octets that the destination knows of
        ("again", np.int64),  # octets that it wants credit for once more
        ("granted", np.int64),  # octets, by credits
        ("deadline", np.int64),  # of the timeout; NEVER, and 0 before it was first called
        ("lost_head", np.int64),  # segments that the destination requested again
        ("lost_tail", np.int64),
        ("lost", np.int64, (WINDOW,)),
        ("expected", np.int64),  # receiver: the first segment that is missing
        ("octets", np.int64),  # that arrived, modulo 2^32
        ("there", np.int64, (WINDOW,)),  # 1: this one waits behind a gap
    ]
)
"""Of both ends; each kernel touches its own end's alone."""


@compiled
def arm(state, params, flow, now):
    """Restart the timeout while data or credit is outstanding."""
    waits = state.una < state.nxt or state.nxt < flow.available
    state.deadline = now + params.timeout if waits else NEVER


@compiled
def is_requested(state):
    """True if the first missing segment is on the resend list and waits for credit."""
    known = state.lost_head < state.lost_tail
    return known and state.lost[state.lost_head % WINDOW] == state.una


@compiled
def time_out(state, flow):
    """Handle the timeout: data, a request or a credit was lost."""
    flow.timeouts += 1
    state.announced = -1
    left = (headers_of(flow) + flow.segment) * max(flow.available - state.una, 0)
    state.again = max(state.again, flow.octets_made + left - flow.demand)
    if state.una < state.nxt and not is_requested(state):
        state.nxt = state.una
        state.lost_head = state.lost_tail
        flow.flight = 0
        flow.losses += 1


@compiled
def next_segment(state, flow):
    """The segment to be sent next, -1: none. Requested segments go first."""
    while state.lost_head < state.lost_tail:
        sequence = state.lost[state.lost_head % WINDOW]
        if sequence >= state.una:
            return sequence
        state.lost_head += 1
    if state.nxt < flow.available and state.nxt - state.una < WINDOW:
        return state.nxt
    return -1


def send(state, params, flow, frame, now, message):
    """Kernel: a segment may be sent, or the timeout is due."""
    if state.deadline == 0:
        state.deadline = NEVER
    if state.deadline <= now:
        time_out(state, flow)
    if flow.withdrawn != 0:  # it was switched off and on: its requests are void
        flow.withdrawn = 0
        state.announced = -1
    wanted = flow.demand + state.again
    if wanted != state.announced:
        state.announced = wanted
        message.sequence = max(wanted - params.unsolicited, 0)
        message.offset = params.unsolicited
        arm(state, params, flow, now)
        flow.next_frame = now
        return REQUEST_CREDIT
    sequence = next_segment(state, flow)
    if sequence < 0 or flow.held != 0 or flow.octets_made >= state.granted + params.unsolicited:
        flow.next_frame = state.deadline
        return NOTHING
    if sequence == state.una:
        arm(state, params, flow, now)
    if sequence == state.nxt:
        state.nxt += 1
    else:
        state.lost_head += 1
    message.sequence = sequence
    flow.next_frame = now
    return SEND


def credited(state, params, flow, frame, now, message):
    """Kernel: a credit is back."""
    if frame.sequence > state.granted:
        state.granted = frame.sequence
    if state.una == state.nxt:
        arm(state, params, flow, now)
    flow.next_frame = now
    return NOTHING


def acknowledged(state, params, flow, frame, now, message):
    """Kernel: an acknowledgement is back; `frame.delta` is the segment that it answers."""
    full = headers_of(flow) + flow.segment
    flow.acked += newly_acknowledged(frame.offset, flow.acked)
    if frame.feedback & MARKED != 0:
        flow.marked += full
    if frame.sequence > state.una:
        state.una = frame.sequence
        state.nxt = max(state.nxt, state.una)
        arm(state, params, flow, now)
    if frame.feedback & NEGATIVE != 0:
        flow.naks += 1
    if frame.feedback & NEGATIVE != 0 and state.una <= frame.delta < state.nxt:
        state.lost[state.lost_tail % WINDOW] = frame.delta
        state.lost_tail += 1
        flow.flight = max(flow.flight - full, 0)
        flow.losses += 1
        arm(state, params, flow, now)
    flow.next_frame = now
    return NOTHING


@compiled
def answer(state, frame, message):
    """Acknowledge a segment, or the header of one."""
    message.sequence = state.expected
    message.created = frame.created
    message.offset = state.octets
    message.delta = frame.sequence
    if frame.mark & CE == CE:
        message.feedback |= MARKED


def arrived(state, params, flow, frame, now, message):
    """Kernel: a segment came."""
    state.octets = (state.octets + frame.length) & COUNT
    if state.expected <= frame.sequence < state.expected + WINDOW:
        state.there[frame.sequence % WINDOW] = 1
    for _ in range(WINDOW):  # never false: no more can wait
        if state.there[state.expected % WINDOW] == 0:
            break
        state.there[state.expected % WINDOW] = 0
        state.expected += 1
    answer(state, frame, message)
    return SEND


def trimmed(state, params, flow, frame, now, message):
    """Kernel: the header of a segment came."""
    answer(state, frame, message)
    message.feedback |= NEGATIVE
    return SEND


CREDIT: Algorithm = Algorithm(
    "credit",
    "transport",
    "sends against credit of a receiver after a first window; resends trimmed frames",
    Credit,
    STATE,
    {
        "send": send,
        "credited": credited,
        "acknowledged": acknowledged,
        "arrived": arrived,
        "trimmed": trimmed,
    },
    needs=frozenset({Capability.ACKNOWLEDGEMENTS}),
    leaves_control=True,
    counts=("timeouts", "naks"),
)
