"""Go-back-N transport, as RoCE reliable connections: reliability without congestion control.

Every segment is acknowledged, or every `ack_every`-th (`traffic.ack_coalescing`): with the next one
that is expected, and with how many octets arrived in order and how many of these with ECN 11, both
counted modulo 2^32, so that an acknowledgement that is lost loses nothing. A segment behind a gap
is thrown away and answered with one negative acknowledgement per gap (the NAK for a sequence error
of InfiniBand's reliable connections); the source goes back to the segment that is missing, as it
does when nothing comes for `timeout`. A timeout was too early where an acknowledgement comes after
it of a segment that left before it (RFC 3522, Eifel): these are counted, and a run that has some
says so.

What may be under way is what the window of the reaction point says, and `window` at the most.
"""

from __future__ import annotations

from pydantic import Field

from tailback.plugin import (
    ACK,
    CE,
    NEVER,
    NOTHING,
    SEND,
    Algorithm,
    Capability,
    Duration,
    Observed,
    compiled,
    record,
)
from traffic.ack_coalescing import STATE_FIELDS, AckCoalescing, acknowledge, is_ack_due

MS = 10**9
COUNT = (1 << 32) - 1
"""Octets are counted modulo this and one."""
MOST_WINDOW = 1 << 17
"""Segments: with 9 216 octets each they are less than half of the 2^32 that octets are counted
modulo, so that an acknowledgement tells any number of them (`newly_acknowledged`)."""
NEGATIVE = 1
"""`feedback` of an acknowledgement that requests the missing segments."""


class GoBackN(AckCoalescing):
    """Parameters of a connection."""

    timeout: Duration = Field(
        4 * MS, ge=10**6, le=60 * 10**12, description="without an acknowledgement, from its start"
    )
    window: int = Field(
        1 << 16, ge=1, le=MOST_WINDOW, description="segments that may be under way at the most"
    )

    def answered_within(self) -> int:
        """The first answer has to be back before the timeout."""
        return self.timeout


STATE = record(
    "deadline",  # sender: of the timeout; NEVER, and 0 before the first segment
    "una",  # first segment that was not acknowledged
    "nxt",  # the next one to be sent
    "expected",  # receiver: the first segment that is missing
    "octets",  # that arrived in order
    "marked",  # of these, in frames with ECN 11
    "asked",  # 1: what is missing was asked for
    "gave_up",  # sender: ps of the last timeout; 0: none, or it is known whether it was too early
    "early_timeouts",  # sender: after which a segment that had left before was acknowledged
    *STATE_FIELDS,
)
"""Of both ends; each kernel touches its own end's alone."""


EARLY = Observed(
    "early_timeouts",
    "1",
    "timeouts after which a segment that had left before was acknowledged",
    "counter",
    note="timeouts came before the answer that was under way, and what arrived was sent again; the "
    "round trip is longer than the transport's timeout, which has to be raised",
)


@compiled
def go_back(state, flow):
    """Segments are lost: all of them from the first one that is missing are sent again."""
    state.nxt = state.una
    state.deadline = NEVER
    flow.flight = 0
    flow.losses += 1


def send(state, params, flow, frame, now, message):
    """Kernel: a segment may be sent, or the timeout is due."""
    if state.deadline == 0:
        state.deadline = NEVER
    if state.deadline <= now:
        go_back(state, flow)
        flow.timeouts += 1
        state.gave_up = now
        flow.next_frame = now
        return NOTHING
    under_way = state.nxt - state.una
    if flow.held != 0 or state.nxt >= flow.available or under_way >= params.window:
        flow.next_frame = state.deadline
        return NOTHING
    message.sequence = state.nxt
    state.nxt += 1
    if state.deadline == NEVER:
        state.deadline = now + params.timeout
    flow.next_frame = now
    return SEND


@compiled
def newly_acknowledged(count, known):
    """Octets by which a modulo-2^32 count exceeds the `known` ones; 0 for an older count."""
    more = (count - known) & COUNT
    return 0 if more > COUNT >> 1 else more


def acknowledged(state, params, flow, frame, now, message):
    """Kernel: an acknowledgement is back."""
    flow.acked += newly_acknowledged(frame.offset, flow.acked)
    flow.marked += newly_acknowledged(frame.delta, flow.marked)
    if frame.sequence > state.una:
        if frame.created < state.gave_up:
            state.early_timeouts += 1
        state.gave_up = 0
        state.una = frame.sequence
        state.nxt = max(state.nxt, state.una)
        state.deadline = NEVER if state.una == state.nxt else now + params.timeout
    if frame.feedback == NEGATIVE:
        flow.naks += 1
    if frame.feedback == NEGATIVE and frame.sequence == state.una and state.una < state.nxt:
        go_back(state, flow)
    flow.next_frame = now
    return NOTHING


def arrived(state, params, flow, frame, now, message):
    """Kernel: a segment came, or the time limit of an acknowledgement is over."""
    if frame.kind == ACK:
        answers = acknowledge(state, params, flow)
    else:
        state.echo = frame.created
        if frame.sequence == state.expected:
            state.expected += 1
            state.octets = (state.octets + frame.length) & COUNT
            if frame.mark & CE == CE:
                state.marked = (state.marked + frame.length) & COUNT
            answers = is_ack_due(state, params, flow, frame.mark, state.asked, now)
            state.asked = 0
        elif frame.sequence > state.expected:
            answers = NOTHING if state.asked != 0 else acknowledge(state, params, flow)
            state.asked = 1
            message.feedback = NEGATIVE
        else:
            answers = acknowledge(state, params, flow)
    message.sequence = state.expected
    message.created = state.echo
    message.offset = state.octets
    message.delta = state.marked
    return answers


GO_BACK_N: Algorithm = Algorithm(
    "go-back-n",
    "transport",
    "acknowledges every segment, goes back to the first missing one; the reaction point controls",
    GoBackN,
    STATE,
    {"send": send, "acknowledged": acknowledged, "arrived": arrived},
    needs=frozenset({Capability.ACKNOWLEDGEMENTS}),
    columns=(EARLY,),
    leaves_control=True,
    counts=("timeouts", "naks"),
)
