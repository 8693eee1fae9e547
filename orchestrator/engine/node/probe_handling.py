"""Probes and notification points, for schemes with three points instead of two.

A reaction point sends a PROBE along its flow's path; past every queue, but each congestion point on
the way may rewrite it; the notification point at its destination turns it round, and it comes back
as an ECHO. A notification point also sees the data frames that are delivered, or that enter the
queue of a switch, as congestion points have marked them, and notifies their sources.
"""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import clear_message, reset_descriptor
from orchestrator.engine.index_types import (
    FrameIndex,
    InstanceIndex,
    LimiterIndex,
    NodeIndex,
    PortIndex,
)
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.kernel_events import CP_PROBE, NP_ARRIVAL, NP_PROBE
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.control_frames import push_control, send_message_to_source
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.lane_flow_control import lane_index
from orchestrator.engine.node.next_hop import output_port
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import CE, CNM, ECHO, NONE, PROBE, SWITCH, Frame


@inlined
def encode_rate(frame: Frame) -> None:
    """Let a probe or an echo say what its octets do: a number of 64 bits and nothing else.

    The same as `canonical.make_canonical`, which would take a fifth of a run for each probe at each
    switch.
    """
    frame.offset = 0
    frame.delta = 0
    frame.mark = 0


@compiled
def send_probe(w: World, limiter_index: LimiterIndex, now: int) -> None:
    """Send the probe under construction along the path of a limiter's flow."""
    limiter = w.limiters[limiter_index]
    flow = w.flows[limiter.flow]
    index = take(w)
    if index == NONE:
        return
    frame = w.frames[index]
    length = w.types[PROBE].octets
    reset_descriptor(
        frame, PROBE, length, flow.priority, limiter.flow, flow.source, flow.destination
    )
    frame.sequence = limiter.probes_sent
    frame.created = now
    frame.feedback = w.frames[w.frames.size - 1].feedback
    limiter.probes_sent += 1
    push_control(w, flow.port, index, now)


@compiled
def receive_probe(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """A probe leaves a switch by this port: the congestion point of its lane's queue sees it."""
    frame = w.frames[index]
    queue = w.queues[w.lanes[lane_index(w, port_index, frame)].queue]
    if queue.congestion_point != NONE:
        spare = w.frames[w.frames.size - 1]
        kernel_calls.call_frame_kernel(
            w, queue.congestion_point, CP_PROBE, queue, frame, now, spare
        )
        encode_rate(frame)


@compiled
def reply_to_probe(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> None:
    """A probe reached its destination, whose notification point turns it round, or it ends."""
    node = w.nodes[node_index]
    frame = w.frames[index]
    spare = w.frames[w.frames.size - 1]
    point = node.notification_point
    if (
        point == NONE
        or kernel_calls.call_frame_kernel(w, point, NP_PROBE, node, frame, now, spare) == 0
    ):
        node.feedback_ignored += 1
        give_back(w, index)
        return
    encode_rate(frame)
    frame.kind = ECHO
    frame.destination, frame.source = frame.source, frame.destination
    way = output_port(w, node_index, frame)
    if way == NONE:
        node.unroutable += 1
        give_back(w, index)
        return
    node.echoes_sent += 1
    push_control(w, way, index, now)


@compiled
def call_notification_point(
    w: World, point: InstanceIndex, port_index: PortIndex, index: FrameIndex, now: int
) -> None:
    """A notification point sees a data frame; what it has to say goes to the frame's source.

    A DSCP that says the priority is hidden from it: it is no feedback of a switch, and stays.
    """
    node_index = w.ports[port_index].node
    node = w.nodes[node_index]
    spare = w.frames[w.frames.size - 1]
    clear_message(spare, CNM)
    frame = w.frames[index]
    spare.priority = frame.priority
    dscp = frame.mark & ~CE if node.classifier != 0 else 0
    frame.mark -= dscp
    answer = kernel_calls.call_frame_kernel(w, point, NP_ARRIVAL, node, frame, now, spare)
    frame.mark |= dscp
    if answer != 0:
        node.feedback_sent += 1
        at_port = node.kind == SWITCH
        address = w.ports[port_index].address if at_port else node.address
        send_message_to_source(w, node_index, address, index, spare.priority & 7, now)
