"""Sender of the TCP model: transmission, loss detection, retransmission and windows."""

from __future__ import annotations

from tailback.plugin import NEVER, NOTHING, SEND, compiled
from traffic.cubic_window import cubic_acked, cubic_begin

WINDOW = 2048
"""Segments that can be under way: the size of the scoreboards."""
SEGMENT = 1000
"""A window of one segment."""
REORDERED = 3
"""Segments beyond a gap from which on it counts as lost (RFC 6675)."""
FIRST_TIMEOUT_PS = 10**12
LONGEST_TIMEOUT_PS = 60 * 10**12
CUBIC = 1
ECT = 2
DUPLICATE = 1
MOST_PIPE = 1 << 44
"""More segments are not sent in a run."""


@compiled
def begin(state, params):
    """Set up a new connection."""
    state.begun = 1
    state.window = params.initial_window * SEGMENT
    state.threshold = 1 << 40
    state.timeout = FIRST_TIMEOUT_PS
    state.deadline = NEVER


@compiled
def arm(state, params, now):
    """Start the retransmission timer anew, or stop it where nothing is under way."""
    if state.una == state.nxt:
        state.deadline = NEVER
        return
    wait = max(state.timeout, params.min_rto)
    for _ in range(min(state.backoff, 16)):
        wait = min(2 * wait, LONGEST_TIMEOUT_PS)
    state.deadline = now + wait


@compiled
def reduce(state, params, now):
    """A loss or a mark: the threshold for what follows, by the congestion control."""
    flight = max(state.nxt - state.una, 1) * SEGMENT
    state.grown = 0
    if params.congestion_control == CUBIC:
        cubic_begin(state)
        state.threshold = max(state.window * 7 // 10, 2 * SEGMENT)
    else:
        state.threshold = max(min(flight, state.window) // 2, 2 * SEGMENT)


@compiled
def note_lost(state, segment):
    """A segment is lost: it is under way no more, and to be sent again."""
    if state.sacked[segment % WINDOW] == 0 and state.again[segment % WINDOW] == 0:
        state.again[segment % WINDOW] = 1
        state.pipe = max(state.pipe - 1, 0)
        state.lost += 1
        state.look = min(state.look, segment)


@compiled
def note_losses(state, before):
    """Mark as lost all segments `REORDERED` or more below the highest that arrived.

    `before` is the first segment that was not looked at yet.
    """
    first = max(before, state.una)
    for segment in range(first, min(state.highest - REORDERED, first + WINDOW)):
        note_lost(state, segment)


@compiled
def time_out(state, params, now):
    """Nothing came back: one segment, and all that was not acknowledged counts as lost."""
    state.timeouts += 1
    if state.recovering != 2:
        reduce(state, params, now)
    state.backoff += 1
    state.most = 0  # CUBIC: the curve begins where slow start ends (RFC 9438, 4.8)
    state.window = SEGMENT
    state.recovering = 2
    state.recover = state.nxt
    state.duplicates = 0
    state.pipe = 0
    state.look = state.una
    for segment in range(state.una, state.nxt):
        if state.sacked[segment % WINDOW] == 0:
            state.again[segment % WINDOW] = 1
    arm(state, params, now)


@compiled
def next_segment(state, params, available):
    """The segment to be sent next; -1: none may be."""
    if state.urgent == 1:  # the first loss is repaired whatever is under way
        state.urgent = 0
        return state.una
    if (state.pipe + 1) * SEGMENT > max(state.window, SEGMENT):
        return -1
    if state.recovering != 0:
        segment = max(state.look, state.una)
        while segment < state.nxt and state.again[segment % WINDOW] != 1:
            segment += 1
        state.look = segment
        if segment < state.nxt:
            return segment
    if state.nxt < available and state.nxt - state.una < min(params.window, WINDOW - 2):
        return state.nxt
    return -1


def send(state, params, flow, frame, now, message):
    """Kernel: a segment may be sent, the timer may be due."""
    if state.begun == 0:
        begin(state, params)
    if state.deadline <= now:
        time_out(state, params, now)
        flow.timeouts += 1
    segment = next_segment(state, params, flow.available)
    if segment == -1:
        flow.next_frame = state.deadline
        return NOTHING
    if segment == state.nxt:
        state.nxt += 1
    else:
        state.again[segment % WINDOW] = 2
        state.look = segment + 1
    state.pipe = min(state.pipe + 1, MOST_PIPE)
    if state.deadline == NEVER:
        arm(state, params, now)
    flow.next_frame = now
    message.sequence = segment
    message.mark = ECT * params.ecn
    return SEND


@compiled
def update_round_trip(state, round_trip):
    """RFC 6298: a round trip was measured (ps)."""
    if state.srtt == 0:
        state.srtt = round_trip
        state.rttvar = round_trip // 2
    else:
        state.rttvar += (abs(state.srtt - round_trip) - state.rttvar) // 4
        state.srtt += (round_trip - state.srtt) // 8
    state.timeout = min(state.srtt + max(4 * state.rttvar, 10**9), LONGEST_TIMEOUT_PS)


@compiled
def clear_scoreboards(state, until):
    """Segments before `until` are acknowledged: clear what the scoreboards hold of them."""
    for segment in range(state.una, until):
        place = segment % WINDOW
        if state.sacked[place] == 0 and state.again[place] != 1:
            state.pipe = max(state.pipe - 1, 0)
        state.sacked[place] = 0
        state.again[place] = 0
    state.una = until


@compiled
def mark_block(state, start, end):
    """Segments from `start` to before `end` arrived beyond a gap; whether one of them is news."""
    news = 0
    for segment in range(max(start, state.una), min(end, state.nxt)):
        place = segment % WINDOW
        if state.sacked[place] == 0:
            state.sacked[place] = 1
            news = 1
            if state.again[place] != 1:
                state.pipe = max(state.pipe - 1, 0)
            state.again[place] = 0
    state.highest = max(state.highest, end)
    return news


@compiled
def is_used(state):
    """True if the window limits the sender: a window that is not used does not grow.

    In slow start half of it suffices, for the host's own link may hold the rest back (RFC 7661
    judges so as well).
    """
    if state.window < state.threshold:
        return 2 * state.pipe * SEGMENT > state.window
    return (state.pipe + 2) * SEGMENT >= state.window


@compiled
def grow(state, params, acked, now):
    """The window after `acked` segments were acknowledged without loss.

    In slow start by two at the most, after a timeout by one (RFC 3465): an acknowledgement that
    closes a gap acknowledges many segments that have long left the network.
    """
    if state.window < state.threshold:
        most = 1 if state.recovering == 2 else 2
        state.window = min(state.window + min(acked, most) * SEGMENT, state.threshold)
    elif params.congestion_control == CUBIC:
        cubic_acked(state, acked, now)
    else:
        window = max(state.window, 1)
        state.grown += acked * SEGMENT * SEGMENT
        state.window += state.grown // window
        state.grown %= window
    state.window = min(state.window, WINDOW * SEGMENT)


def acknowledged(state, params, flow, frame, now, message):
    """Kernel: an acknowledgement is back."""
    # never true: unsent segments are never acknowledged
    if state.begun == 0:
        return NOTHING
    limited = is_used(state)
    looked_at = state.highest - REORDERED
    acked = min(max(min(frame.sequence, state.nxt) - state.una, 0), WINDOW)
    if acked > 0:
        update_round_trip(state, max(now - frame.created, 1))
        state.backoff = 0
        state.duplicates = 0
        clear_scoreboards(state, state.una + acked)
        arm(state, params, now)
    if frame.delta > frame.offset:
        mark_block(state, frame.offset, frame.delta)
    if acked == 0 and state.una < state.nxt:
        state.duplicates += DUPLICATE
    if state.recovering != 0 and state.una >= state.recover:
        if state.recovering == 1:
            state.window = state.threshold
        state.recovering = 0
        state.urgent = 0
    note_losses(state, looked_at)
    if state.recovering == 0:
        lost = state.una < state.nxt and state.again[state.una % WINDOW] == 1
        # never false (`state.una < state.nxt`): duplicates are counted while some are under way
        if state.duplicates >= REORDERED and state.una < state.nxt:
            note_lost(state, state.una)
            lost = True
        if lost:
            reduce(state, params, now)
            state.window = state.threshold
            state.recovering = 1
            state.recover = state.nxt
            state.look = state.una + 1
            state.urgent = 1
        elif frame.mark & 3 == 3 and state.una >= state.reduced:
            reduce(state, params, now)
            state.window = state.threshold
            state.reduced = state.nxt
        elif acked > 0 and limited and state.una >= state.reduced:
            grow(state, params, acked, now)
    elif state.recovering == 2 and acked > 0:
        grow(state, params, acked, now)
    # never false (`state.una < state.recover`): at `recover` the recovery is over
    elif acked > 0 and state.again[state.una % WINDOW] == 0 and state.una < state.recover:
        note_lost(state, state.una)  # a partial acknowledgement: the next one is missing too
    flow.next_frame = now
    return NOTHING
