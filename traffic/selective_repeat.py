"""Selective repeat: retransmits lost segments alone; without congestion control of its own.

Every segment, or every `ack_every`-th one in order, is answered with the number before which all
is there, and with a map of the last `MAP` segments up to the one that is answered: what arrived
beyond a gap is kept. A segment is lost
when one that was sent `reordering` transmissions after it has been answered (RFC 9002, 6.1.1; by
transmissions, so that one which was sent again can be found lost again, and what TCP calls the
ambiguity of retransmissions does not arise: the answer echoes when its segment left), when its
header came without it, or when nothing came for the timeout, which is that of RFC 6298. Each loss
is counted and reported, with the time at which the last made one of what is lost was made.

What may be under way is what the window of the reaction point says, and `window` at the most. The
first repair of a loss does not wait for the window (RFC 9002, 7.3.2). The other end is
`traffic.selective_repeat_receiver`.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from tailback.plugin import NEVER, NOTHING, SEND, Algorithm, Capability, Duration, compiled
from traffic.ack_coalescing import STATE_FIELDS, AckCoalescing
from traffic.go_back_n import MS, NEGATIVE, newly_acknowledged
from traffic.selective_repeat_receiver import MAP, WINDOW, arrived, trimmed
from traffic.tcp_sender import FIRST_TIMEOUT_PS, arm, update_round_trip

MOST_REORDERING = 1 << 9
MOST_LENGTH, MOST_FLIGHT = (1 << 16) - 1, 1 << 40
"""Octets of a segment, and of all that can be under way (firmware.proof.field_ranges)."""
UNSENT, IN_FLIGHT, ARRIVED, LOST = range(4)
"""State of a segment at its sender."""


class Selective(AckCoalescing):
    """Parameters of a connection."""

    min_rto: Duration = Field(
        200 * MS, ge=10**6, le=60 * 10**12, description="shortest timeout (RFC 6298; Linux's)"
    )
    reordering: int = Field(
        3, ge=1, le=MOST_REORDERING, description="later transmissions that imply a loss"
    )
    window: int = Field(
        WINDOW - MOST_REORDERING,
        ge=1,
        le=WINDOW - MOST_REORDERING,
        description="segments that may be under way at the most",
    )


STATE = np.dtype(
    [
        *(
            (name, np.int64)
            for name in (
                "begun",  # 1: the sender's fields are set up
                "una",  # first segment that was not acknowledged
                "nxt",  # first one that was never sent
                "turns",  # transmissions so far
                "newest",  # the last of them that was answered; -1
                "look",  # transmissions before it are not looked at for losses any more
                "missing",  # segments that are lost and not sent again yet
                "again",  # none of them is before this one
                "urgent",  # 1: one of them need not wait for the window
                "making",  # one more than the segment that was asked for last; 0
                "before",  # octets that were made before it
                "srtt",  # ps
                "rttvar",
                "timeout",
                "deadline",  # NEVER
                "backoff",  # timeouts in a row
                "expected",  # receiver: the first segment that is missing
                "marked",  # receiver: octets that came with ECN 11
                "newest_came",  # receiver: the segment that came last, or whose header did
                "beyond",  # receiver: one more than the highest segment that came
                *STATE_FIELDS,
            )
        ),
        ("status", np.int64, (WINDOW,)),  # of a segment
        ("octets", np.int64, (WINDOW,)),  # that it has
        ("made", np.int64, (WINDOW,)),  # ps: its last transmission
        ("turn", np.int64, (WINDOW,)),  # that one's number
        ("order", np.int64, (WINDOW,)),  # the segment of a transmission
        ("there", np.int64, (WINDOW,)),  # receiver: it waits behind a gap
    ]
)
"""Of both ends; each kernel touches its own end's alone."""


@compiled
def begin(state, flow):
    """Set up a new connection; note how long the segment was that was made last."""
    if state.begun == 0:
        state.begun = 1
        state.newest = -1
        state.timeout = FIRST_TIMEOUT_PS
        state.deadline = NEVER
    if state.making != 0:
        made = min(max(flow.octets_made - state.before, 0), MOST_LENGTH)
        state.octets[(state.making - 1) % WINDOW] = made
        state.making = 0


@compiled
def mark_lost(state, flow, segment):
    """A segment is under way no more, and to be sent again."""
    place = segment % WINDOW
    state.status[place] = LOST
    state.missing = min(state.missing + 1, WINDOW)
    state.again = min(state.again, segment)
    state.urgent = 1
    flow.flight = max(flow.flight - state.octets[place], 0)
    flow.losses += 1
    return state.made[place]


@compiled
def time_out(state, params, flow, now):
    """Nothing came back: all that is under way is lost."""
    flow.timeouts += 1
    state.backoff += 1
    state.look = state.turns
    for segment in range(state.una, min(state.nxt, state.una + WINDOW)):
        if state.status[segment % WINDOW] == IN_FLIGHT:
            mark_lost(state, flow, segment)
    arm(state, params, now)


@compiled
def next_segment(state, params, flow):
    """The segment to be sent next; -1: none may be."""
    if state.turns - state.look >= WINDOW or (flow.held != 0 and state.urgent == 0):
        return -1
    if state.missing > 0:
        segment = min(max(state.again, state.una), state.nxt)
        # never false (`segment < state.nxt`): what is missing is LOST, from `again` on
        while segment < state.nxt and state.status[segment % WINDOW] != LOST:
            segment += 1
        return segment
    if flow.held != 0 or state.nxt >= flow.available or state.nxt - state.una >= params.window:
        return -1
    return state.nxt


def send(state, params, flow, frame, now, message):
    """Kernel: a segment may be sent, or the timeout is due."""
    begin(state, flow)
    if state.deadline <= now:
        time_out(state, params, flow, now)
        flow.next_frame = now
        return NOTHING
    segment = next_segment(state, params, flow)
    if segment == -1:
        flow.next_frame = state.deadline
        return NOTHING
    if segment == state.nxt:
        state.nxt += 1
    else:
        state.missing = max(state.missing - 1, 0)
        state.again = segment + 1
    place = segment % WINDOW
    state.status[place] = IN_FLIGHT
    state.made[place] = now
    state.turn[place] = state.turns
    state.order[state.turns % WINDOW] = segment
    state.turns += 1
    state.urgent = 0
    state.making = segment + 1
    state.before = flow.octets_made
    if state.deadline == NEVER:
        arm(state, params, now)
    message.sequence = segment
    flow.next_frame = now
    return SEND


@compiled
def note_arrival(state, flow, segment):
    """A segment is known to have arrived; one that was taken for lost was under way after all."""
    place = segment % WINDOW
    if state.status[place] == ARRIVED:
        return
    if state.status[place] == LOST:
        state.missing = max(state.missing - 1, 0)
        flow.flight = min(flow.flight + state.octets[place], MOST_FLIGHT)
    state.status[place] = ARRIVED
    flow.acked += state.octets[place]


@compiled
def note_arrivals(state, flow, frame):
    """Mark the segments that an acknowledgement reports as arrived."""
    until = min(max(min(frame.sequence, state.nxt), state.una), state.una + WINDOW)
    for segment in range(state.una, until):
        note_arrival(state, flow, segment)
        state.status[segment % WINDOW] = UNSENT
    state.una = until
    if frame.offset >= frame.sequence:
        for back in range(MAP):
            segment = frame.offset - back
            if (frame.inner >> back) & 1 == 1 and state.una <= segment < state.nxt:
                note_arrival(state, flow, segment)


@compiled
def note_losses(state, params, flow, frame):
    """Mark as lost what was sent long enough before the answered segment, or is reported lost."""
    answered = frame.offset
    place = answered % WINDOW
    latest = -1
    if state.nxt - WINDOW <= answered < state.nxt and frame.created >= state.made[place]:
        if frame.feedback != NEGATIVE:
            state.newest = max(state.newest, state.turn[place])
        elif answered >= state.una and state.status[place] == IN_FLIGHT:
            latest = mark_lost(state, flow, answered)
    for _ in range(WINDOW):  # never false: no more can be under way
        if state.look > state.newest - params.reordering:
            break
        segment = state.order[state.look % WINDOW]
        place = segment % WINDOW
        is_last = state.turn[place] == state.look and segment >= state.una
        if is_last and state.status[place] == IN_FLIGHT:
            latest = max(latest, mark_lost(state, flow, segment))
        state.look += 1
    if latest >= 0:
        flow.lost_made = latest


def acknowledged(state, params, flow, frame, now, message):
    """Kernel: an acknowledgement is back."""
    begin(state, flow)
    if frame.feedback == NEGATIVE:
        flow.naks += 1
    acked = flow.acked
    note_arrivals(state, flow, frame)
    flow.marked += newly_acknowledged(frame.delta, flow.marked)
    note_losses(state, params, flow, frame)
    if flow.acked > acked:
        update_round_trip(state, max(now - frame.created, 1))
        state.backoff = 0
        arm(state, params, now)
    flow.next_frame = now
    return NOTHING


SELECTIVE: Algorithm = Algorithm(
    "selective",
    "transport",
    "acknowledges every segment, resends lost segments alone; the reaction point controls",
    Selective,
    STATE,
    {"send": send, "acknowledged": acknowledged, "arrived": arrived, "trimmed": trimmed},
    needs=frozenset({Capability.ACKNOWLEDGEMENTS}),
    leaves_control=True,
    counts=("timeouts", "naks"),
)
