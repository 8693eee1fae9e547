"""Conditioned reference: follows a device's choice and time of departures, and judges whether each
departure was allowed.

No standard says in which order flows of a NIC take turns, nor how many clocks a device takes from
receiving to acting. Where a device says that it takes up to `window` ps, its ports are held in the
reference: a frame starts when the device's did, if it may. How late that is (a port that idles
while something waits) and what may not leave yet is found as ever. What that does to the tokens of
a limiter is in `tokens`.

All of it is compiled.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.index_types import range
from orchestrator.engine.jit import compiled
from orchestrator.engine.node_api import (
    BIT_PS,
    WAKE_FLOW,
    WAKE_LINE,
    WAKE_QUEUE,
    append_ready_flow,
    is_pause,
    make_frame,
    may_send,
    move_to_front,
    next_timer,
    schedule_flow,
    serve,
    step,
    take,
    wire_time,
)
from orchestrator.engine.records import NEVER, NIC, NONE
from traces.oracle import reference_driver
from traces.oracle.nic_limiter_blocks import receive_in_block
from traces.oracle.reference_driver import (
    BLAMED,
    CLOSE,
    EXPIRED,
    FULL,
    NEXT,
    SENT,
    SINCE_WHEN,
    WATCHED,
    WHOSE,
    collect,
    record_change,
)
from traces.oracle.token_tolerance import (
    BOUND,
    MORE,
    earliest_departure,
    grant_refills,
    may_lack_tokens,
    note_rates,
    refill,
    start_on_device_tokens,
)

WANTED = reference_driver.MORE
"""Answer of the loop when it needs more inputs."""

HELD, FREE, SINCE, RATE, BEFORE, CHANGED, OTHER = range(7)
"""Of a port: whether it is held; when its transmitter is free; since when something waits; the
service rate of its queue, the rate before that, and since when it has another one; when the queue
may be served next if the device has not known of that yet (NONE: it has)."""
WINDOW, NEAR, STEPS, LATE, CHARGE = range(5)
"""Of what is allowed (ps): what a device takes to act; how close to an event of the node or a
departure an input may be so that either may have been first; how late a step of the timeline is;
how late a frame; and by how much its tokens are taken before or behind a frame's start."""
CLOSED = NEVER >> 1
"""A time at which a held port's transmitter would be free (ps)."""


def new_hold(ports: int, held: list[int]) -> np.ndarray:
    """int64[ports, 7]: these rows are held."""
    hold = np.zeros((ports, 7), np.int64)
    hold[:, SINCE] = NEVER
    hold[:, OTHER] = NONE
    hold[held, HELD] = 1
    return hold


@compiled
def has_frames_to_send(w, port):
    """True if a port has anything to send."""
    if port.control_head != NONE:
        return True
    for index in range(port.first_lane, port.first_lane + w.clock[0].lanes):
        lane = w.lanes[index]
        if lane.ready_head != NONE:
            return True
        if lane.queue != NONE and w.queues[lane.queue].frames > 0:
            return True
    return False


@compiled
def note_changes(w, hold, slack, lined, window, now):
    """Note what has begun to wait, and which limiters have another rate, since the last look.

    `lined` int64[flows] is when a flow lined up, NEVER for those that have not.
    """
    for row in range(hold.shape[0]):
        if hold[row, HELD] == 0:
            continue
        w.ports[row].free_at = CLOSED
        if not has_frames_to_send(w, w.ports[row]):
            hold[row, SINCE] = NEVER
        elif hold[row, SINCE] == NEVER:
            hold[row, SINCE] = now
        queue = w.lanes[w.ports[row].first_lane].queue
        if queue != NONE and w.queues[queue].service_rate != hold[row, RATE]:
            hold[row, BEFORE] = hold[row, RATE]
            hold[row, RATE] = w.queues[queue].service_rate
            hold[row, CHANGED] = now
    for index in range(lined.size):
        if w.flows[index].ready == 0:
            lined[index] = NEVER
        elif lined[index] == NEVER:
            lined[index] = now
    note_rates(w, slack, window, now)


@compiled
def make_next_frame_early(w, lined, window, flow_index, now):
    """Let the source make its next frame, if it is due within the window: the device has taken the
    frame before out of its host queue some clocks before it was on the wire."""
    flow = w.flows[flow_index]
    if flow.ready != 0 or flow.head != NONE or flow.next_frame - now > window:
        return
    make_frame(w, flow_index, flow.next_frame)
    if may_send(w, flow, now):
        append_ready_flow(w, flow_index)
        lined[flow_index] = now
    schedule_flow(w, flow_index, now)


@compiled
def select_flow(w, slack, lined, window, flow_index, early, now):
    """Let a NIC's flow be the next, if it may send and is not out of its turn.

    Returns when its frame might have started (ps), NEVER when it may not yet.
    """
    if flow_index < 0 or flow_index >= lined.size:
        return NEVER
    make_next_frame_early(w, lined, window, flow_index, now)
    start_on_device_tokens(w, slack, lined, flow_index, now)
    flow = w.flows[flow_index]
    if flow.ready == 0:
        return NEVER
    lane = w.lanes[flow.lane]
    first = lane.ready_head
    if first != flow_index:
        apart = window
        for index in (first, flow_index):
            if w.flows[index].limiter != NONE:
                apart = max(apart, window + w.limiters[w.flows[index].limiter].period)
        if lined[flow_index] - lined[first] > apart:
            return early
        move_to_front(w, lane, flow_index)
        if may_lack_tokens(w, slack, first, now):
            early = max(early, lined[flow_index])
    early = min(early, now)
    if now - early > window:
        early = earliest_departure(w, slack, flow_index, early, now)
    return early


@compiled
def choose_step_time(w, hold, row, now):
    """A queue is served next at one of two times, as the device knew of a step when the last frame
    started, or not: at the later one, if the device's frame is not before it."""
    other = hold[row, OTHER]
    hold[row, OTHER] = NONE
    port = w.ports[row]
    if other != NONE and (port.next_service > now or port.next_service < other <= now):
        port.next_service = other


@compiled
def start_departure(w, hold, slack, lined, allowed, row, flow_index, now):
    """A frame of the device started at `now`: start the reference's; False when it may not yet.

    The frame's `due` and the port's service go by when it might have started.
    """
    window = allowed[WINDOW]
    choose_step_time(w, hold, row, now)
    port = w.ports[row]
    lane = w.lanes[port.first_lane]
    waited = min(hold[row, SINCE], now)
    early = max(hold[row, FREE], waited, port.paused_until)
    if port.control_head == NONE:
        by_flow = w.nodes[port.node].kind == NIC and 0 <= flow_index < lined.size
        early = max(
            early, w.lanes[w.flows[flow_index].lane].paused_until if by_flow else lane.paused_until
        )
    if w.nodes[port.node].kind == NIC:
        early = select_flow(w, slack, lined, window, flow_index, early, now)
    elif port.control_head == NONE and lane.queue != NONE:
        early = max(early, port.next_service)
    if early > now:
        return False
    count = port.frames_out
    charged = w.flows[flow_index].limiter if w.nodes[port.node].kind == NIC else NONE
    port.free_at = now
    if charged != NONE:
        grant_refills(slack, charged, w.limiters[charged], allowed[CHARGE], now)
    serve(w, row, now)
    if port.frames_out == count:
        return False
    if port.line_tail != NONE:
        frame = w.frames[port.line_tail]
        frame.due -= now - early
        if charged != NONE and now - slack[charged, BOUND] <= window:
            slack[charged, MORE] += frame.length * BIT_PS  # sent before it was bound
    served = port.next_service > now
    port.next_service -= now - early
    if served and hold[row, BEFORE] > 0 and now - hold[row, CHANGED] <= allowed[STEPS]:
        length = w.queues[lane.queue].timed_octets
        hold[row, OTHER] = early + wire_time(length, hold[row, BEFORE])
    hold[row, FREE] = port.free_at
    hold[row, SINCE] = NEVER
    note_changes(w, hold, slack, lined, window, now)
    return True


@compiled
def overdue(w, hold, late, now):
    """A port of the device that keeps a control frame for longer than it may be late; else NONE."""
    for row in range(hold.shape[0]):
        port = w.ports[row]
        if hold[row, HELD] != 0 and port.control_head != NONE and hold[row, SINCE] != NEVER:
            early = max(hold[row, FREE], hold[row, SINCE])
            if not is_pause(w.frames[port.control_head]):
                early = max(early, port.paused_until)
            if now - early > late:
                return row
    return NONE


@compiled
def release_ports(w, hold, now):
    """Release the held ports: from now on the reference sends without conditions."""
    for row in range(hold.shape[0]):
        if hold[row, HELD] == 0:
            continue
        port = w.ports[row]
        hold[row, HELD] = 0
        port.free_at = hold[row, FREE]
        early = max(hold[row, FREE], hold[row, SINCE], port.paused_until)
        count = port.frames_out
        serve(w, row, now)
        if port.frames_out != count and port.line_tail != NONE and early < now:
            w.frames[port.line_tail].due -= now - early


@compiled
def stop_following(w, hold, state, row, now):
    """The device did what the reference does not allow, at this port: stop following it."""
    if state[BLAMED] == NONE:
        state[BLAMED] = row
        state[SINCE_WHEN] = now
    release_ports(w, hold, now)


@compiled
def expires(w, state, actor, now):
    """Note whether what an actor wakes for is a timer."""
    what, index = w.actors[actor, 0], w.actors[actor, 1]
    if what == WAKE_QUEUE:
        state[EXPIRED] = now
        state[WHOSE] = NONE
    elif what == WAKE_FLOW:
        limiter = w.flows[index].limiter
        if limiter != NONE and next_timer(w.limiters[limiter]) <= now:
            state[EXPIRED] = now
            state[WHOSE] = index


@compiled
def is_behind(w, state, flow, close, now):
    """True if a timer that has just expired may as well expire behind a frame of this flow."""
    mine = state[WHOSE] == NONE or state[WHOSE] == flow
    return mine and now - state[EXPIRED] < close


@compiled
def run_held(w, hold, slack, lined, window, state, until, sent, wires, trace):
    """Carry out what is due up to `until`, with a look after each event. FULL or WANTED."""
    while w.tree[1, 0] <= until:
        if state[SENT] + w.outbox.size >= sent.size:
            return FULL
        due = max(w.clock[0].now, w.tree[1, 0])
        w.clock[0].now = due
        refill(w, slack, due)
        expires(w, state, w.tree[1, 1], due)
        step(w, w.tree[1, 1], due)
        collect(w, state, sent, wires)
        note_changes(w, hold, slack, lined, window, due)
        if state[WATCHED] != NONE:
            record_change(w, state, trace, due)
    return WANTED


@compiled
def follow(
    w,
    blocks,
    hold,
    slack,
    lined,
    allowed,
    state,
    times,
    ports,
    frames,
    ordinals,
    sent,
    wires,
    closes,
    trace,
):
    """Feed `frames` FRAME[n]: those with an ordinal from 0 on came in at `times` int64[n] (ps)
    through `ports` int64[n] (rows), the others started there then.

    `allowed` int64[5] is WINDOW to CHARGE. As `driven.drive`. Ordinals of inputs that came
    within NEAR before an event of the node or a departure are noted in `closes` int64[k, 2] with
    the time behind that, those of inputs and departures within NEAR behind an expiry of a timer
    with the time before that; the last ones are kept.
    The first departure that the reference does not allow releases all ports: the comparison ends
    there.
    """
    window, close = allowed[WINDOW], allowed[NEAR]
    while state[NEXT] < times.size:
        k = state[NEXT]
        now = times[k]
        if run_held(w, hold, slack, lined, window, state, now, sent, wires, trace) == FULL:
            return FULL
        if state[SENT] + w.outbox.size >= sent.size:
            return FULL
        w.clock[0].now = now
        refill(w, slack, now)
        row = overdue(w, hold, allowed[LATE], now)
        if row != NONE:
            stop_following(w, hold, state, row, now)
        if is_behind(w, state, frames[k].flow, close, now):
            closes[state[CLOSE] % closes.shape[0], 0] = ordinals[k]
            closes[state[CLOSE] % closes.shape[0], 1] = state[EXPIRED] - 1
            state[CLOSE] += 1
        if ordinals[k] < 0:
            row = ports[k]
            if hold[row, HELD] != 0 and not start_departure(
                w, hold, slack, lined, allowed, row, frames[k].flow, now
            ):
                stop_following(w, hold, state, row, now)
        else:
            event = w.tree[1, 0] if w.actors[w.tree[1, 1], 0] != WAKE_LINE else NEVER
            near = k + 1
            while near < times.size and ordinals[near] >= 0 and times[near] - now < close:
                near += 1
            if near < times.size and ordinals[near] < 0 and times[near] - now < close:
                event = times[near]
            if event - now < close:
                closes[state[CLOSE] % closes.shape[0], 0] = ordinals[k]
                closes[state[CLOSE] % closes.shape[0], 1] = event + 1
                state[CLOSE] += 1
            index = take(w)
            if index != NONE:
                w.frames[index] = frames[k]
                receive_in_block(w, blocks, ports[k], index, now)
        collect(w, state, sent, wires)
        note_changes(w, hold, slack, lined, window, now)
        if state[WATCHED] != NONE:
            record_change(w, state, trace, now)
        state[NEXT] += 1
    return WANTED
