"""Host interface of a NIC: frames of programs enter their flow's host queue, and leave it.

What a program sends takes the way of any frame of its flow: host queue, limiter, port. Where it
arrives it is handed on as it is. Its octets are its own; nothing here looks at them.
"""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.index_types import FlowIndex, FrameIndex, NodeIndex
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.nic_transmit import has_host_queue_room, schedule_flow
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import HOST, NONE


@compiled
def receive_from_program(
    w: World, flow_index: FlowIndex, index: FrameIndex, length: int, mark: int, now: int
) -> None:
    """A program sent a frame, whose octets lie in row `index`: queue it, or drop it for room."""
    flow = w.flows[flow_index]
    flow.length = length
    if flow.on == 0 or not has_host_queue_room(w, flow):
        flow.frames_refused += 1
        give_back(w, index)
        return
    frame = w.frames[index]
    reset_descriptor(frame, HOST, length, flow.priority, flow_index, flow.source, flow.destination)
    frame.sequence = flow.sequence
    frame.created = now
    frame.mark = mark
    flow.sequence += 1
    if flow.head == NONE:
        flow.head = index
    else:
        w.frames[flow.tail].next = index
    flow.tail = index
    flow.bytes += length
    if flow.limiter != NONE:
        w.limiters[flow.limiter].backlog = flow.bytes
    schedule_flow(w, flow_index, now)


@compiled
def deliver_to_program(w: World, node_index: NodeIndex, index: FrameIndex) -> None:
    """A frame for a program arrived: count it and leave it in the outbox of the host's wire."""
    node = w.nodes[node_index]
    frame = w.frames[index]
    if node.host_port == 0 or frame.flow == NONE:
        node.foreign += 1
        give_back(w, index)
        return
    flow = w.flows[frame.flow]
    flow.frames_received += 1
    flow.bytes_received += frame.length
    w.clock[0].delivered += 1
    wire = node.host_wire
    count = w.outbox_count[wire]
    if count == w.outbox.shape[1]:
        w.clock[0].no_descriptor += 1
        give_back(w, index)
        return
    w.outbox[wire, count] = index
    w.outbox_count[wire] = count + 1
