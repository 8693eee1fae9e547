"""Reference driver: feeds captured frames to a node's world and records the frames that it sends.

All compiled code of the oracle is in this file: it calls only `orchestrator` (see
`orchestrator.engine.jit`).
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.captured_codec import decode_captured
from orchestrator.engine.frames.frame_codec import FOREIGN
from orchestrator.engine.frames.roce_frame_types import encode_frame
from orchestrator.engine.jit import compiled
from orchestrator.engine.node_api import (
    WAKE_COMMANDS,
    WAKE_LINE,
    WAKE_SAMPLER,
    frame_has_dscp,
    give_back,
    step,
    take,
    write_hop_addresses,
)
from orchestrator.engine.records import DATA, NEVER, NONE, record
from traces.oracle.nic_limiter_blocks import receive_in_block

(
    NEXT,
    SENT,
    CLOSE,
    TRACED,
    WATCHED,
    WATCH_QUEUE,
    FROM,
    MET,
    EXPIRED,
    WHOSE,
    BLAMED,
    SINCE_WHEN,
    BYTE_STAGE_AT,
    TIMER_STAGE_AT,
    HAPPENED,
) = range(15)
"""Words of the state: the next input; rows of `sent` in use; close calls so far; rows of the trace
so far; the limiter or queue that is traced (NONE: neither) and whether it is a queue; the time that
the trace begins at; the queue of which it is noted what each input met (NONE: none); and when a
timer of the node expired last, and which flow's (NONE: a queue's); and the port at which the device
did what the reference does not allow (NONE: none so far), and when; and where in the memory the
stages of the traced limiter are (NONE: its algorithm has none); and when the last event of the
node was (ps)."""
MORE, FULL = 0, 1
"""Reasons why the loop returns: more inputs, or room in `sent`."""
MAC_OCTETS = 12
"""Octets of the two MAC addresses."""
RESOLUTION_PS = 1000
"""Captures have whole nanoseconds: of two events closer than this either may have been first."""

TRACE = record(
    "time", "rate", "target", "byte_stage", "timer_stage", "active", "messages", "queue", "timer"
)
"""A traced limiter after a change (ps, bit/s), or a queue (octets)."""


@compiled
def gather(tables, octets, offset, captured, original, picked, frames, kept):
    """Decode the rows `picked` int64[n] of a batch into `frames` FRAME[n], blank ones.

    `kept` uint8[n, snap] gets the first octets, of data frames the MAC addresses. A frame that no
    codec knows stays blank, but for its length: its kind is FOREIGN.
    """
    for k in range(picked.size):
        row = picked[k]
        begin = offset[row]
        frame = frames[k]
        kind = decode_captured(tables, octets[begin : begin + captured[row]], original[row], frame)
        if kind == FOREIGN:
            frame.length = original[row]
        most = kept.shape[1] if kind != DATA else MAC_OCTETS
        for place in range(min(captured[row], most)):
            kept[k, place] = octets[begin + place]


@compiled
def encoded(w, port, frames, octets):
    """Write frames FRAME[n] as a port (its row) sends them into uint8[n, >= 128], with the MAC
    addresses of the hop where it leads to or from a router; what follows their known octets stays.
    """
    for k in range(frames.size):
        encode_frame(w, frames[k], octets[k])
        write_hop_addresses(w, port, frames[k], octets[k])


@compiled
def collect(w, state, sent, wires):
    """Move what the node has sent from the outboxes to `sent` FRAME[n] and `wires` int64[n]."""
    for wire in range(w.outbox_count.size):
        for position in range(w.outbox_count[wire]):
            index = w.outbox[wire, position]
            sent[state[SENT]] = w.frames[index]
            if w.dscp_maps.shape[0] > 1 and frame_has_dscp(sent[state[SENT]]):
                sent[state[SENT]].priority = 0  # a node's own: no octet of the frame has it
            wires[state[SENT]] = wire
            state[SENT] += 1
            give_back(w, index)
        w.outbox_count[wire] = 0


@compiled
def word(w, place):
    """Word of the memory at an address; 0 at none."""
    return w.memory[place] if place != NONE else 0


@compiled
def record_change(w, state, trace, now):
    """Record the traced limiter or queue when it has changed; the last rows are kept."""
    if now < state[FROM]:
        return
    last = trace[(state[TRACED] - 1) % trace.size]
    fresh = state[TRACED] == 0
    if state[WATCH_QUEUE] != 0:
        queue = w.queues[state[WATCHED]]
        if not fresh and last.queue == queue.bytes and last.messages == queue.feedback_sent:
            return
        row = trace[state[TRACED] % trace.size]
        row.queue = queue.bytes
        row.messages = queue.feedback_sent
    else:
        limiter = w.limiters[state[WATCHED]]
        byte_stage, timer_stage = word(w, state[BYTE_STAGE_AT]), word(w, state[TIMER_STAGE_AT])
        same = (
            last.rate == limiter.rate
            and last.target == limiter.target
            and last.byte_stage == byte_stage
            and last.timer_stage == timer_stage
            and last.active == limiter.active
            and last.messages == limiter.feedback_received
        )
        if same and not fresh:
            return
        row = trace[state[TRACED] % trace.size]
        row.rate = limiter.rate
        row.target = limiter.target
        row.byte_stage = byte_stage
        row.timer_stage = timer_stage
        row.active = limiter.active
        row.messages = limiter.feedback_received
        row.timer = limiter.timer
    row.time = now
    state[TRACED] += 1


@compiled
def run_until(w, state, until, through, sent, wires, trace):
    """Carry out what is due before `until`, and at `until` what comes before arrivals.

    `through`: everything that is due at `until` comes before them (a real-time loop does so);
    otherwise only the timeline and the sampler do (the simulator's order). FULL or MORE.
    """
    while w.tree[1, 0] <= until:
        due = w.tree[1, 0]
        actor = w.tree[1, 1]
        if due == until and not through:
            what = w.actors[actor, 0]
            if what not in (WAKE_COMMANDS, WAKE_SAMPLER):
                return MORE
        if state[SENT] + w.outbox.size >= sent.size:
            return FULL
        w.clock[0].now = max(w.clock[0].now, due)
        if w.actors[actor, 0] not in (WAKE_COMMANDS, WAKE_SAMPLER, WAKE_LINE):
            state[HAPPENED] = due
        step(w, actor, w.clock[0].now)
        collect(w, state, sent, wires)
        if state[WATCHED] != NONE:
            record_change(w, state, trace, due)
    return MORE


@compiled
def event_is_near(w, now):
    """True if an event of the node itself, which no delivery to a wire is, lies within the clock's
    resolution from `now` on."""
    until = now + RESOLUTION_PS
    if w.tree[1, 0] >= until:
        return False
    first = w.tree.shape[0] >> 1
    for actor in range(w.actors.shape[0]):
        if w.tree[first + actor, 0] < until and w.actors[actor, 0] != WAKE_LINE:
            return True
    return False


@compiled
def refill_is_near(w, node_index, now):
    """True if a limiter of a node is refilled within the clock's resolution from `now` on.

    A refill is no event: a message that came before it may change how many tokens it puts in.
    """
    node = w.nodes[node_index]
    for index in range(node.first_limiter, node.first_limiter + node.limiters):
        limiter = w.limiters[index]
        if limiter.flow != NONE and limiter.period > 0:
            since = (now - limiter.tick) % limiter.period
            if limiter.period - since < RESOLUTION_PS:
                return True
    return False


@compiled
def feed_frames(
    w, blocks, state, times, ports, frames, ordinals, through, sent, wires, closes, trace, met
):
    """Feed `frames` FRAME[n] that came in at `times` int64[n] (ps) through `ports` int64[n] (rows).

    `ordinals` int64[n] are their places among all inputs. Goes on at state[NEXT]. What the node
    sends is written to `sent`; inputs that came within the clock's resolution before an event of
    the node are noted in `closes` int64[k, 2] with the last time that they may have come at, those
    within it behind an event with a time before that, the last ones kept. (What follows from an
    input is as much too early as its time was cut to whole ns, so the event may be later.)
    `blocks`: which limiters each port has (`blocks`).
    `met` int64[n, 2] gets the octets of a queue before each input, and after it.
    """
    while state[NEXT] < times.size:
        k = state[NEXT]
        now = times[k]
        if run_until(w, state, now, through, sent, wires, trace) == FULL:
            return FULL
        if state[SENT] + w.outbox.size >= sent.size:
            return FULL
        event = event_is_near(w, now)
        if event or (frames[k].kind != DATA and refill_is_near(w, w.ports[ports[k]].node, now)):
            closes[state[CLOSE] % closes.shape[0], 0] = ordinals[k]
            closes[state[CLOSE] % closes.shape[0], 1] = now + RESOLUTION_PS - 1
            state[CLOSE] += 1
        elif state[HAPPENED] > 0 and now - state[HAPPENED] < RESOLUTION_PS:
            closes[state[CLOSE] % closes.shape[0], 0] = ordinals[k]
            closes[state[CLOSE] % closes.shape[0], 1] = state[HAPPENED] - 1
            state[CLOSE] += 1
        if state[MET] != NONE:
            met[k, 0] = w.queues[state[MET]].bytes
        index = take(w)
        if index != NONE:
            w.frames[index] = frames[k]
            w.clock[0].now = now
            receive_in_block(w, blocks, ports[k], index, now)
            collect(w, state, sent, wires)
            if state[WATCHED] != NONE:
                record_change(w, state, trace, now)
        if state[MET] != NONE:
            met[k, 1] = w.queues[state[MET]].bytes
        state[NEXT] += 1
    return MORE


def new_state() -> np.ndarray:
    """A state before the first input, nothing traced."""
    state = np.zeros(15, np.int64)
    state[WATCHED] = state[MET] = state[BLAMED] = NONE
    state[BYTE_STAGE_AT] = state[TIMER_STAGE_AT] = NONE
    state[EXPIRED] = -NEVER
    return state
