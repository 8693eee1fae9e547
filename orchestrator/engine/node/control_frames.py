"""Control frames that a node creates: congestion notification, PAUSE, PFC and credit grants.

They wait in their port's control list, which no limiter, queue or service rate holds back
(NetFPGA-QCN, section 3.2: to the output at the highest priority).
"""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.frames.frame_codec import decode
from orchestrator.engine.frames.frame_type import CONTROL
from orchestrator.engine.frames.pfc_frame import set_quanta
from orchestrator.engine.frames.roce_frame_types import encode_frame
from orchestrator.engine.index_types import FrameIndex, NodeIndex, PortIndex, QueueIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.departure_time import is_pause
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.lazy_egress import sync_egress, wake_port_by
from orchestrator.engine.node.next_hop import output_port
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import CNP, GRANT, NONE, PAUSE, PFC, Frame, Queue

# Wire normalisation: gives a new message the values that its octets can represent.
#
# So that no target knows more of a message than another one: what its octets have no room for is
# not there in the simulator either, and what they round is rounded.


@compiled
def make_canonical(w: World, frame: Frame) -> bool:
    """Let a new frame be what its own octets say; False when it has none.

    It is in no list yet. The octets are written into the row of the message under construction,
    which in the simulator is the only one.
    """
    kind = frame.kind
    octets = w.octets[w.octets.shape[0] - 1]
    if encode_frame(w, frame, octets) == 0:
        return False
    return decode(w.types, octets, frame.length, frame) == kind


MOST_QUANTA = 0xFFFF


@inlined
def is_message_kind(w: World, kind: int) -> bool:
    """True if a point may send frames of this kind: they are described, and nothing holds them
    back, but for CNPs where switches queue these."""
    if kind < 0 or kind >= w.types.shape[0]:
        return False
    return w.types[kind].carried == CONTROL or kind == CNP


@compiled
def push_control(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """Let a control frame wait for its port: PAUSE and its like at the front, all else behind."""
    sync_egress(w, port_index, now)
    port = w.ports[port_index]
    frame = w.frames[index]
    frame.next = NONE
    if port.control_head == NONE:
        port.control_head = index
        port.control_tail = index
    elif is_pause(frame):
        frame.next = port.control_head
        port.control_head = index
    else:
        w.frames[port.control_tail].next = index
        port.control_tail = index
    wake_port_by(w, port_index, max(now, port.free_at))


@compiled
def pop_control(w: World, port_index: PortIndex) -> FrameIndex:
    """Take the first control frame of a port; returns its index."""
    port = w.ports[port_index]
    index = port.control_head
    port.control_head = w.frames[index].next
    return index


@compiled
def send_feedback(w: World, queue_index: QueueIndex, culprit: FrameIndex, now: int) -> None:
    """Send the message under construction to the source of the frame `culprit`."""
    queue = w.queues[queue_index]
    port = w.ports[queue.port]
    queue.feedback_sent += 1
    queue.feedback_value = w.frames[w.frames.size - 1].feedback
    priority = w.frames[culprit].priority
    send_message_to_source(w, port.node, port.address, culprit, priority, now)


@compiled
def send_message_to_source(
    w: World, node_index: NodeIndex, address: int, culprit: FrameIndex, priority: int, now: int
) -> None:
    """Send the message under construction from a node to the source of the frame `culprit`.

    `address` is the sender's, `priority` that of the message. A message without a description or
    octets is counted as unroutable.
    """
    message = w.frames[w.frames.size - 1]
    sampled = w.frames[culprit]
    kind = message.kind
    if not is_message_kind(w, kind):
        w.nodes[node_index].unroutable += 1
        return
    index = take(w)
    if index == NONE:
        return
    frame = w.frames[index]
    length = w.types[kind].octets if w.types[kind].octets != 0 else sampled.length
    sender = sampled.destination if w.types[kind].from_end != 0 else address
    reset_descriptor(frame, kind, length, priority, sampled.flow, sender, sampled.source)
    frame.sequence = sampled.sequence
    frame.created = sampled.created
    frame.feedback = message.feedback
    frame.offset = message.offset
    frame.delta = message.delta
    frame.inner = sampled.destination
    frame.mark = sampled.length
    way = NONE
    if make_canonical(w, frame):
        way = output_port(w, node_index, frame)
    if way == NONE or (w.nodes[node_index].routed != 0 and w.types[kind].is_ip == 0):
        w.nodes[node_index].unroutable += 1
        give_back(w, index)
        return
    push_control(w, way, index, now)


@compiled
def is_paused_by_other_queue(
    w: World, queue_index: QueueIndex, port_index: PortIndex, kind: int
) -> bool:
    """True if another queue of this node still pauses the neighbour of a port.

    PFC speaks for the queue's own lane, PAUSE for all.
    """
    priorities = w.queues[queue_index].priorities
    node = w.nodes[w.ports[port_index].node]
    lanes = w.clock[0].lanes
    for other_port in range(node.first_port, node.first_port + node.ports):
        if other_port == port_index:
            continue
        for lane_index in range(other_port * lanes, (other_port + 1) * lanes):
            other = w.lanes[lane_index].queue
            if other in (NONE, queue_index) or w.queues[other].pausing == 0:
                continue
            if kind == PAUSE or w.queues[other].priorities == priorities:
                return True
    return False


@compiled
def write_quanta(frame: Frame, kind: int, priorities: int, quanta: int) -> None:
    """Put quanta into a PAUSE frame, or into a PFC frame for some of its priorities."""
    if kind == PAUSE:
        frame.feedback = quanta
        return
    frame.mark |= priorities
    for priority in range(8):
        if (priorities >> priority) & 1 == 1:
            set_quanta(frame, priority, quanta)


@compiled
def send_quanta(
    w: World, queue: Queue, port_index: PortIndex, kind: int, named: int, quanta: int, now: int
) -> None:
    """Send quanta out of one port, of PFC for the priorities that `named` has bits of.

    A frame of this kind that waits for it says the new ones.
    """
    waiting = w.ports[port_index].control_head
    while waiting != NONE and is_pause(w.frames[waiting]):
        if w.frames[waiting].kind == kind:
            write_quanta(w.frames[waiting], kind, named, quanta)
            return
        waiting = w.frames[waiting].next
    index = take(w)
    if index == NONE:
        return
    frame = w.frames[index]
    reset_descriptor(frame, kind, w.types[kind].octets, 0, NONE, w.ports[port_index].address, NONE)
    if kind == PFC:
        frame.inner = 0  # the times of priorities 6 and 7
    write_quanta(frame, kind, named, quanta)
    make_canonical(w, frame)
    queue.pause_sent += 1
    push_control(w, port_index, index, now)


@compiled
def send_grant(w: World, queue: Queue, octets: int, now: int) -> None:
    """Grant the neighbour at a port octets in all. A grant that waits says the new ones."""
    waiting = w.ports[queue.port].control_head
    while waiting != NONE and is_pause(w.frames[waiting]):
        if w.frames[waiting].kind == GRANT and w.frames[waiting].mark == queue.priorities:
            w.frames[waiting].sequence = octets
            return
        waiting = w.frames[waiting].next
    index = take(w)
    if index == NONE:
        return
    frame = w.frames[index]
    reset_descriptor(
        frame, GRANT, w.types[GRANT].octets, 0, NONE, w.ports[queue.port].address, NONE
    )
    frame.sequence = octets
    frame.mark = queue.priorities
    make_canonical(w, frame)
    queue.pause_sent += 1
    push_control(w, queue.port, index, now)


@compiled
def send_pause(w: World, queue_index: QueueIndex, now: int) -> None:
    """Send the PAUSE, PFC or grant under construction to the neighbours that fill the queue.

    For the buffer of an input that is the one at its port; for the queue of an output, those at
    every other port, where a neighbour that another queue holds as well is not let go.
    """
    queue = w.queues[queue_index]
    node = w.nodes[w.ports[queue.port].node]
    message = w.frames[w.frames.size - 1]
    kind, quanta = message.kind, min(max(message.feedback, 0), MOST_QUANTA)
    if kind == GRANT:
        send_grant(w, queue, message.sequence, now)
        return
    named = message.mark if message.mark != 0 else queue.priorities
    queue.pausing = 1 if quanta > 0 else 0
    if queue.input != NONE:
        first = w.inputs[queue.input].first_queue
        for other in range(first, first + w.clock[0].lanes):
            if quanta == 0 and kind == PAUSE and w.queues[other].pausing == 1:
                return  # PAUSE lets all lanes go, and another one still has to be held
        send_quanta(w, queue, queue.port, kind, named, quanta, now)
        return
    for port_index in range(node.first_port, node.first_port + node.ports):
        if port_index == queue.port:
            continue
        if quanta == 0 and is_paused_by_other_queue(w, queue_index, port_index, kind):
            continue
        send_quanta(w, queue, port_index, kind, named, quanta, now)
