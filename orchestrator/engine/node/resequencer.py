"""Resequencer: the last switch before a destination restores the order of each flow.

Frames that were sprayed over several ways arrive out of order. One that is ahead waits, without a
place in any queue, until those before it have come; when the wait is too long or its memory is
full, what is missing is given up and counted (IBM input-buffered QCN, section II.A: reassembled at
the egress leaf switch; the memory and the wait are ours).
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, NodeIndex, PortIndex, range
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.actors import node_actor
from orchestrator.engine.node.egress_enqueue import enqueue_outlined
from orchestrator.engine.node.event_queue import wake_at, wake_time
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NEVER, NONE, Flow


@compiled
def hold_frame(
    w: World, node_index: NodeIndex, flow: Flow, port_index: PortIndex, index: FrameIndex, now: int
) -> None:
    """Keep a frame among those of its flow that wait, by sequence."""
    node = w.nodes[node_index]
    frame = w.frames[index]
    frame.port = port_index
    node.order_bytes += frame.length
    if flow.order_head == NONE:
        flow.order_until = now + node.order_timeout
        actor = node_actor(w, node_index)
        wake_at(w, actor, min(wake_time(w, actor), flow.order_until))
    if flow.order_head == NONE or frame.sequence < w.frames[flow.order_head].sequence:
        frame.next = flow.order_head
        flow.order_head = index
        return
    before = flow.order_head
    while w.frames[before].next != NONE:
        if frame.sequence < w.frames[w.frames[before].next].sequence:
            break
        before = w.frames[before].next
    frame.next = w.frames[before].next
    w.frames[before].next = index


@compiled
def release_in_order(w: World, node_index: NodeIndex, flow: Flow, now: int) -> None:
    """Send on what now follows without a gap; the wait for a further gap begins anew."""
    node = w.nodes[node_index]
    done = False
    while flow.order_head != NONE and w.frames[flow.order_head].sequence <= flow.order_next:
        index = flow.order_head
        frame = w.frames[index]
        flow.order_head = frame.next
        flow.order_next = frame.sequence + 1
        node.order_bytes -= frame.length
        enqueue_outlined(w, frame.port, index, now)
        done = True
    if done and flow.order_head != NONE:
        flow.order_until = now + node.order_timeout


@compiled
def skip_missing(w: World, node_index: NodeIndex, flow: Flow, now: int) -> None:
    """Go on without what is missing before the first frame that waits."""
    w.nodes[node_index].order_gaps += 1
    flow.order_next = w.frames[flow.order_head].sequence
    release_in_order(w, node_index, flow, now)


@compiled
def resequence(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """A data frame reached the output that its flow leaves in order."""
    frame = w.frames[index]
    node_index = w.ports[port_index].node
    node = w.nodes[node_index]
    flow = w.flows[max(frame.flow, 0)]
    if frame.flow == NONE or flow.copies != 0:
        enqueue_outlined(w, port_index, index, now)
    elif frame.sequence < flow.order_next:
        node.frames_late += 1
        enqueue_outlined(w, port_index, index, now)
    elif frame.sequence == flow.order_next:
        flow.order_next += 1
        enqueue_outlined(w, port_index, index, now)
        release_in_order(w, node_index, flow, now)
    else:
        hold_frame(w, node_index, flow, port_index, index, now)
        if node.order_bytes > node.order_capacity:
            skip_missing(w, node_index, flow, now)


@compiled
def wake_resequencer(w: World, node_index: NodeIndex, now: int) -> None:
    """Give up what has been missing for too long at a switch."""
    soonest = NEVER
    for flow_index in range(w.flows.size):
        flow = w.flows[flow_index]
        while flow.order_head != NONE:
            if w.ports[w.frames[flow.order_head].port].node != node_index:
                break
            if flow.order_until > now:
                soonest = min(soonest, flow.order_until)
                break
            skip_missing(w, node_index, flow, now)
    wake_at(w, node_actor(w, node_index), soonest)
