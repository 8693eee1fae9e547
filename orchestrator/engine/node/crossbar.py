"""The inside of a combined input/output queued switch: virtual output queues, grants, transfers.

A frame waits in the virtual output queue of its input for its output. A queue with frames asks the
output for a grant; an output with room for the next frame (its credits) grants the queues that
asked in turn, one frame each. A granted frame is transferred when its input has sent what was
granted before, at the link's rate times the internal over-speed, and reaches the output a fixed
latency later (IBM input-buffered QCN, section II.A;
docs/settled/algorithms.md#qcn-at-inputs).
"""

from __future__ import annotations

from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.buffer import meet_arriving, put, take_out
from orchestrator.engine.node.copies import copy_of
from orchestrator.engine.node.link import timed
from orchestrator.engine.node.pool import give_back
from orchestrator.engine.node.wake import LINES, wake_at
from orchestrator.engine.records import NEVER, NONE, WAYS


@inlined
def input_actor(w, input_index):  # type: ignore[no-untyped-def]
    """Actor number of an input: after the flows."""
    return LINES + 2 * w.ports.size + w.queues.size + w.flows.size + input_index


@compiled
def schedule_input(w, input_index):  # type: ignore[no-untyped-def]
    """Let the input wake for the end of its transfer or for a frame that reaches its output."""
    side = w.inputs[input_index]
    time = NEVER
    if side.moving != NONE:
        time = side.free_at
    if side.fly_head != NONE:
        time = min(time, w.frames[side.fly_head].due)
    wake_at(w, input_actor(w, input_index), time)


@compiled
def transfer(w, input_index, now):  # type: ignore[no-untyped-def]
    """Start the transfer of the next granted frame, when none is under way."""
    side = w.inputs[input_index]
    if side.moving != NONE or side.grant_head == NONE:
        return
    index = side.grant_head
    frame = w.frames[index]
    side.grant_head = frame.next
    side.moving = index
    side.free_at = now + timed(side, frame.length, side.rate)
    frame.due = side.free_at + side.latency
    frame.next = NONE
    if side.fly_head == NONE:
        side.fly_head = index
    else:
        w.frames[side.fly_tail].next = index
    side.fly_tail = index
    schedule_input(w, input_index)


@compiled
def ask(w, voq_index):  # type: ignore[no-untyped-def]
    """A virtual output queue asks its output for a grant: it is the last one to get a turn."""
    voq = w.voqs[voq_index]
    queue = w.queues[voq.queue]
    voq.next = NONE
    if queue.request_head == NONE:
        queue.request_head = voq_index
    else:
        w.voqs[queue.request_tail].next = voq_index
    queue.request_tail = voq_index


@compiled
def grant(w, queue_index, now):  # type: ignore[no-untyped-def]
    """Grant the virtual output queues that asked, in turn, while the output has room."""
    queue = w.queues[queue_index]
    while queue.request_head != NONE:
        voq_index = queue.request_head
        voq = w.voqs[voq_index]
        index = voq.head
        frame = w.frames[index]
        if queue.bytes + queue.reserved + frame.length > queue.capacity:
            return
        queue.request_head = voq.next
        queue.reserved += frame.length
        voq.head = frame.next
        if voq.head != NONE:
            ask(w, voq_index)
        side = w.inputs[voq.input]
        frame.next = NONE
        if side.grant_head == NONE:
            side.grant_head = index
        else:
            w.frames[side.grant_tail].next = index
        side.grant_tail = index
        transfer(w, voq.input, now)


@inlined
def voq_for(w, side, lane, way):  # type: ignore[no-untyped-def]
    """The virtual output queue of an input's lane for a port of its node."""
    node = w.nodes[w.ports[way].node]
    return side.first_voq + lane * node.ports + way - node.first_port


@compiled
def line_up_for(w, side, lane, way, index, queue_index, now):  # type: ignore[no-untyped-def]
    """A frame, or one copy of it, waits in the virtual output queue for a port."""
    voq_index = voq_for(w, side, lane, way)
    voq = w.voqs[voq_index]
    frame = w.frames[index]
    frame.port = way
    frame.held = queue_index
    frame.next = NONE
    waits = voq.head != NONE
    if waits:
        w.frames[voq.tail].next = index
    else:
        voq.head = index
    voq.tail = index
    if not waits:
        ask(w, voq_index)
        grant(w, voq.queue, now)


@compiled
def line_up_copies(w, side, lane, way, index, queue_index, now):  # type: ignore[no-untyped-def]
    """A copy of a multicast frame for each of its ways; the frame itself stands for the room."""
    row = WAYS - way
    node_index = w.ports[w.ways[row, 2]].node
    original = w.frames[index]
    original.copies = 1  # so that it lasts until all copies are made
    for place in range(w.ways[row, 1]):
        other = copy_of(w, node_index, index)
        if other != NONE:
            original.copies += 1
            w.frames[other].original = index
            w.frames[other].unit = NONE
            line_up_for(w, side, lane, w.ways[row, 2 + place], other, queue_index, now)
    w.nodes[node_index].copied -= 1  # the frame itself does not go on
    need_no_more(w, index, queue_index, now)


@compiled
def admit(w, port_index, index, way, now):  # type: ignore[no-untyped-def]
    """A data frame arrives at an input: sample, then keep or drop it. It will leave by `way`."""
    side = w.inputs[w.ports[port_index].input]
    frame = w.frames[index]
    lane = w.lane_of[frame.priority & 7]
    queue_index = side.first_queue + lane
    queue = w.queues[queue_index]
    queue.frames_in += 1
    if queue.congestion_point != NONE:
        port = way if way >= 0 else w.ways[WAYS - way, 2]
        head = w.voqs[voq_for(w, side, lane, port)].head
        if meet_arriving(w, queue_index, index, head, now) != 0:
            queue.frames_dropped_early += 1
            give_back(w, index)
            return
    if queue.bytes + frame.length > queue.capacity:
        queue.frames_dropped += 1
        give_back(w, index)
        return
    frame.original = NONE
    put(w, queue_index, index, now)
    if way >= 0:
        line_up_for(w, side, lane, way, index, queue_index, now)
    else:
        line_up_copies(w, side, lane, way, index, queue_index, now)


@compiled
def need_no_more(w, index, queue_index, now):  # type: ignore[no-untyped-def]
    """One copy fewer needs the room of a multicast frame; after the last one it is given back."""
    frame = w.frames[index]
    frame.copies -= 1
    if frame.copies == 0:
        take_out(w, queue_index, index, now)
        give_back(w, index)


@compiled
def let_go(w, index, now):  # type: ignore[no-untyped-def]
    """A frame leaves its input buffer."""
    frame = w.frames[index]
    queue_index = frame.held
    frame.held = NONE
    if w.inputs[w.queues[queue_index].input].shared != 0:
        w.nodes[w.ports[w.queues[queue_index].port].node].shared_bytes -= frame.length
    if frame.original != NONE:
        need_no_more(w, frame.original, queue_index, now)
    else:
        take_out(w, queue_index, index, now)


@compiled
def end_transfer(w, input_index, now):  # type: ignore[no-untyped-def]
    """The transfer under way ends when it is due: its frame's room is free again, or kept."""
    side = w.inputs[input_index]
    if side.moving != NONE and side.free_at <= now:
        index = side.moving
        side.moving = NONE
        if side.retain == 0:
            let_go(w, index, now)
        transfer(w, input_index, now)


@compiled
def left_output(w, queue_index, index, now):  # type: ignore[no-untyped-def]
    """A frame left an output that grants: a room that was kept for it is free, credits are back."""
    if w.frames[index].held != NONE:
        let_go(w, index, now)
    grant(w, queue_index, now)
