"""Receivers: a node paces, by credits, the sources of the data that it receives.

A receiver is called for every data frame that arrives, complete or trimmed, for requests, which a
source sends ahead of its data, and for its timer. Its messages go to the source of a flow that it
chooses, past every queue: credits, which the flow's transport gets, or any message that a
reaction point understands.
"""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import clear_message, reset_descriptor
from orchestrator.engine.index_types import FlowIndex, FrameIndex, NodeIndex
from orchestrator.engine.jit import compiled
from orchestrator.engine.kernel_events import RECEIVER_TIMER
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.control_frames import is_message_kind, make_canonical, push_control
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.next_hop import output_port
from orchestrator.engine.node.nic_transmit import schedule_node, wake_node
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import CREDIT, NEVER, NONE, SOONEST


@compiled
def begin_credit(w: World, flow_index: FlowIndex) -> None:
    """Let a receiver begin a message to the source of a flow, or of another that it chooses."""
    spare = w.frames[w.frames.size - 1]
    clear_message(spare, CREDIT)
    spare.flow = flow_index
    spare.sequence = 0


@compiled
def send_credit(w: World, node_index: NodeIndex, now: int) -> None:
    """Send the message under construction to the source of the flow that it names.

    One for no flow, or of a type that has no octets of its own, is counted as unroutable.
    """
    node = w.nodes[node_index]
    spare = w.frames[w.frames.size - 1]
    flow_index, kind = spare.flow, spare.kind
    known = flow_index >= 0 and flow_index < w.flows.size and is_message_kind(w, kind)
    if not known or w.types[kind].octets == 0:
        node.unroutable += 1
        return
    index = take(w)
    if index == NONE:
        return
    frame = w.frames[index]
    flow = w.flows[flow_index]
    octets = w.types[kind].octets
    reset_descriptor(frame, kind, octets, flow.priority, flow_index, node.address, flow.source)
    frame.sequence = spare.sequence
    frame.created = now
    frame.feedback = spare.feedback
    frame.offset = spare.offset
    frame.delta = spare.delta
    way = NONE
    if make_canonical(w, frame):
        way = output_port(w, node_index, frame)
    if way == NONE:
        node.unroutable += 1
        give_back(w, index)
        return
    node.credits_sent += 1
    push_control(w, way, index, now)


@compiled
def notify_receiver(
    w: World, node_index: NodeIndex, event: int, index: FrameIndex, now: int
) -> None:
    """Call the receiver of a node for a frame of a flow; it may send a message or set its timer."""
    node = w.nodes[node_index]
    frame = w.frames[index]
    spare = w.frames[w.frames.size - 1]
    begin_credit(w, frame.flow)
    timer = node.receiver_timer
    if kernel_calls.call_time_kernel(w, node.receiver, event, node, frame, now, spare) != 0:
        send_credit(w, node_index, now)
    if node.receiver_timer != timer:
        node.receiver_timer = max(node.receiver_timer, now)
        schedule_node(w, node_index)


@compiled
def wake_receiver(w: World, node_index: NodeIndex, now: int) -> None:
    """A CNM acts at a NIC, or the timer of a receiver is due."""
    node = w.nodes[node_index]
    if node.receiver != NONE and node.receiver_timer <= now:
        node.receiver_timer = NEVER
        spare = w.frames[w.frames.size - 1]
        begin_credit(w, NONE)
        if (
            kernel_calls.call_time_kernel(w, node.receiver, RECEIVER_TIMER, node, spare, now, spare)
            != 0
        ):
            send_credit(w, node_index, now)
        node.receiver_timer = max(node.receiver_timer, now + SOONEST)
        schedule_node(w, node_index)
    if node.reacting_head != NONE and w.frames[node.reacting_head].due <= now:
        wake_node(w, node_index, now)
