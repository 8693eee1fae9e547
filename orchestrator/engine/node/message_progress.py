"""Progress of message flows: frames of each message at its source, completion at its destination.

The messages of a flow stand in the world's `messages` from its first one up to `last_message`, in
the order in which they are sent. Their frames are numbered through, so that the destination can
tell from a frame's sequence which message it belongs to; both ends have the same list.

A message may wait behind a gate: it begins when all that count for the gate have arrived whole.
They arrive where it comes from, so that its node knows of them. A gate may wait for other gates of
its node as well.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FlowIndex, GateIndex, MessageIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.actors import flow_actor
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import FRAMES, MESSAGES, NEVER, NONE, TRANSPORT, Flow, Message


@compiled
def begin_message(w: World, flow: Flow, now: int) -> None:
    """Set up the first frame of the flow's current message, which may still lie ahead."""
    if flow.message == flow.last_message:
        flow.next_frame = NEVER
        return
    message = w.messages[flow.message]
    if message.start == NEVER:  # its gate is not open yet
        flow.left = 0
        flow.next_frame = NEVER
        return
    flow.left = message.octets
    flow.length = flow.headers + min(flow.left, flow.segment)
    flow.next_frame = max(now, message.start)


@inlined
def next_of_message(w: World, flow: Flow, gap: int, now: int) -> None:
    """A frame was made: the next one is of the same message, `gap` ps later, or of the next one."""
    flow.left -= flow.length - flow.headers
    if flow.left > 0:
        flow.length = flow.headers + min(flow.left, flow.segment)
        flow.next_frame = now + gap
    else:
        flow.message += 1
        begin_message(w, flow, now + gap)


@compiled
def start_source(w: World, flow_index: FlowIndex, now: int) -> None:
    """A flow is switched on: when its source wants to make its next frame."""
    flow = w.flows[flow_index]
    if flow.mode == FRAMES:
        flow.next_frame = now + flow.phase
    elif flow.mode == TRANSPORT:
        flow.next_frame = now
    elif flow.mode == MESSAGES:
        if flow.left > 0:  # it was switched off in the middle of a message
            flow.next_frame = now
        else:
            begin_message(w, flow, now)


@compiled
def find_message(w: World, row: MessageIndex, sequence: int) -> MessageIndex:
    """The row of the message that a frame belongs to; `row` is any message of its flow.

    A sequence number that no message of the flow has leads to its first or behind its last one.
    """
    flow = w.flows[w.messages[row].flow]
    while row > flow.first_message and sequence < w.messages[row].first:
        row -= 1
    while row < flow.last_message and sequence >= w.messages[row].first + w.messages[row].frames:
        row += 1
    return row


@compiled
def wake_dependent_flow(w: World, row: MessageIndex, at: int, now: int) -> None:
    """Wake the flow of a message whose dependency has arrived."""
    message = w.messages[row]
    message.start = at
    flow = w.flows[message.flow]
    if flow.on == 0:
        return
    if flow.mode == TRANSPORT:
        flow.next_frame = min(flow.next_frame, at)
    elif flow.message == row:
        begin_message(w, flow, now)
    wake_at(w, flow_actor(w, message.flow), now)


@compiled
def open_gates(w: World, index: GateIndex, now: int) -> None:
    """Open a gate, then those that waited for it last, and so on. They may open later than now."""
    w.gates[index].next = NONE
    while index != NONE:
        gate = w.gates[index]
        index = gate.next
        at = gate.latest + gate.pause
        if at >= gate.until:
            continue
        for place in range(gate.first, gate.last):
            wake_dependent_flow(w, w.gated[place], at, now)
        for place in range(gate.last, gate.last_gate):
            behind = w.gates[w.gated[place]]
            behind.latest = max(behind.latest, at)
            behind.missing -= 1
            if behind.missing == 0:
                behind.next = index
                index = w.gated[place]


@compiled
def complete_message(w: World, message: Message, now: int) -> None:
    """The last frame of a message is there: it counts for its gate, which may open."""
    message.done = now
    if message.opens == NONE:
        return
    gate = w.gates[message.opens]
    gate.latest = max(gate.latest, now)
    gate.missing -= 1
    if gate.missing == 0:
        open_gates(w, message.opens, now)


@compiled
def count_arrival(w: World, flow_index: FlowIndex, sequence: int, now: int) -> None:
    """A datagram arrived: the message that it belongs to is whole when all of its frames did."""
    flow = w.flows[flow_index]
    row = find_message(w, min(flow.arriving, flow.last_message - 1), sequence)
    flow.arriving = row
    if row == flow.last_message:
        return
    message = w.messages[row]
    message.received += 1
    if message.received == message.frames:
        complete_message(w, message, now)


@compiled
def count_in_order(w: World, flow_index: FlowIndex, sequence: int, now: int) -> None:
    """Every segment before `sequence` is there: messages that end before it are whole."""
    flow = w.flows[flow_index]
    while flow.arriving < flow.last_message:
        message = w.messages[flow.arriving]
        if message.first + message.frames > sequence:
            return
        message.received = message.frames
        flow.arriving += 1
        complete_message(w, message, now)
