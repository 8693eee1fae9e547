"""The inside of a combined input/output queued switch: virtual output queues, grants, transfers.

A frame waits in the virtual output queue of its input for its output. A queue with frames asks the
output for a grant; an output with room for the next frame (its credits) grants the queues that
asked in turn, one frame each. A granted frame is transferred when its input has sent what was
granted before, at the link's rate times the internal over-speed, and reaches the output a fixed
latency later (IBM input-buffered QCN, section II.A;
docs/settled/algorithms.md#qcn-at-inputs).
"""

from __future__ import annotations

from orchestrator.engine.index_types import (
    FrameIndex,
    InputIndex,
    PortIndex,
    QueueIndex,
    VoqIndex,
    range,
)
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.buffer import call_arrival_kernel, leave_buffer
from orchestrator.engine.node.crossbar_grants import enter_input, grant, request_grant
from orchestrator.engine.node.crossbar_transfer import sync_input
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.multicast_replication import copy_of
from orchestrator.engine.node.shared_memory import release_shared
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE, PORT_SETS, Input


@inlined
def voq_for(w: World, side: Input, lane: int, way: PortIndex) -> VoqIndex:
    """The virtual output queue of an input's lane for a port of its node."""
    node = w.nodes[w.ports[way].node]
    return side.first_voq + lane * node.ports + way - node.first_port


@compiled
def enqueue_voq(
    w: World,
    side: Input,
    lane: int,
    way: PortIndex,
    index: FrameIndex,
    queue_index: QueueIndex,
    now: int,
) -> None:
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
        request_grant(w, voq, voq_index, way, now)


@compiled
def enqueue_voq_copies(
    w: World,
    side: Input,
    lane: int,
    way: PortIndex,
    index: FrameIndex,
    queue_index: QueueIndex,
    now: int,
) -> None:
    """A copy of a multicast frame for each of its ways; the frame itself stands for the room."""
    row = PORT_SETS - way
    node_index = w.ports[w.ways[row, 2]].node
    original = w.frames[index]
    original.copies = 1  # so that it lasts until all copies are made
    for place in range(w.ways[row, 1]):
        other = copy_of(w, node_index, index)
        if other != NONE:
            original.copies += 1
            w.frames[other].original = index
            w.frames[other].unit = NONE
            enqueue_voq(w, side, lane, w.ways[row, 2 + place], other, queue_index, now)
    w.nodes[node_index].copied -= 1  # the frame itself does not go on
    release_copy(w, index, queue_index, now)


@compiled
def admit(w: World, port_index: PortIndex, index: FrameIndex, way: PortIndex, now: int) -> None:
    """A data frame arrives at an input: sample, then keep or drop it. It will leave by `way`."""
    side = w.inputs[w.ports[port_index].input]
    frame = w.frames[index]
    lane = w.lane_of[frame.priority & 7]
    queue_index = side.first_queue + lane
    queue = w.queues[queue_index]
    sync_input(w, w.ports[port_index].input, now)
    queue.frames_in += 1
    if queue.congestion_point != NONE:
        port = way if way >= 0 else w.ways[PORT_SETS - way, 2]
        head = w.voqs[voq_for(w, side, lane, port)].head
        if call_arrival_kernel(w, queue_index, index, head, now) != 0:
            queue.frames_dropped_early += 1
            give_back(w, index)
            return
    if queue.bytes + frame.length > queue.capacity:
        queue.frames_dropped += 1
        give_back(w, index)
        return
    frame.original = NONE
    enter_input(w, queue, queue_index, index, now)
    if way >= 0:
        enqueue_voq(w, side, lane, way, index, queue_index, now)
    else:
        enqueue_voq_copies(w, side, lane, way, index, queue_index, now)


@compiled
def release_copy(w: World, index: FrameIndex, queue_index: QueueIndex, now: int) -> None:
    """One copy fewer needs the room of a multicast frame; after the last one it is given back."""
    frame = w.frames[index]
    frame.copies -= 1
    if frame.copies == 0:
        leave_buffer(w, queue_index, index, now)
        give_back(w, index)


@compiled
def leave_input(w: World, index: FrameIndex, now: int) -> None:
    """A frame leaves its input buffer."""
    frame = w.frames[index]
    queue_index = frame.held
    frame.held = NONE
    if w.inputs[w.queues[queue_index].input].shared != 0:
        release_shared(w, queue_index, index, now)
    if frame.original != NONE:
        release_copy(w, frame.original, queue_index, now)
    else:
        leave_buffer(w, queue_index, index, now)


@compiled
def end_transfers(w: World, input_index: InputIndex, now: int) -> None:
    """Transfers end when they are due: their frames' room is free again, or kept."""
    side = w.inputs[input_index]
    while side.moving_head != NONE and w.frames[side.moving_head].due - side.latency <= now:
        index = side.moving_head
        side.moving_head = w.frames[index].behind
        if side.retain == 0:
            leave_input(w, index, now)


@compiled
def on_output_departure(w: World, queue_index: QueueIndex, index: FrameIndex, now: int) -> None:
    """A frame left an output that grants: a room that was kept for it is free, credits are back."""
    if w.frames[index].held != NONE:
        leave_input(w, index, now)
    grant(w, queue_index, now)
