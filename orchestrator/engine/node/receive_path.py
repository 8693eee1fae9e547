"""Receive path: handles a frame that reached one of a node's ports."""

from __future__ import annotations

from orchestrator.engine.frames.big_endian import get16
from orchestrator.engine.frames.frame_layout import IP, IP_TTL, ROCE_TOS
from orchestrator.engine.frames.frame_type import CONTROL
from orchestrator.engine.index_types import (
    FlowIndex,
    FrameIndex,
    InputIndex,
    NodeIndex,
    PortIndex,
    range,
)
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.kernel_answers import LANE
from orchestrator.engine.kernel_events import (
    RECEIVER_ARRIVED,
    RECEIVER_FLOW_BEGINS,
    TRANSPORT_ARRIVED,
    TRANSPORT_TRIMMED,
)
from orchestrator.engine.node.buffer import enter_buffer
from orchestrator.engine.node.control_frames import push_control
from orchestrator.engine.node.credit_receiver import notify_receiver
from orchestrator.engine.node.crossbar import admit, end_transfers
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.early_delivery import count_frame
from orchestrator.engine.node.egress_enqueue import (
    call_observers,
    drop_or_trim,
    enqueue,
    enqueue_outlined,
    leave_lane,
    replace_in_shared_memory,
)
from orchestrator.engine.node.host_interface import deliver_to_program
from orchestrator.engine.node.lane_flow_control import (
    apply_grant,
    apply_pause,
    apply_pfc,
    lane_index,
)
from orchestrator.engine.node.latency_histogram import count_latency
from orchestrator.engine.node.message_progress import count_arrival
from orchestrator.engine.node.multicast_replication import copy_of, deliver_copy
from orchestrator.engine.node.next_hop import output_port
from orchestrator.engine.node.nic_transmit import on_cnm, schedule_flow
from orchestrator.engine.node.pause_watchdog import notify_watchdogs
from orchestrator.engine.node.port_scheduler import serve
from orchestrator.engine.node.probe_handling import call_notification_point, receive_probe
from orchestrator.engine.node.probe_handling import reply_to_probe as answer_probe
from orchestrator.engine.node.resequencer import resequence
from orchestrator.engine.node.shared_memory import (
    buffer_limit,
    exceeds_limit,
    has_output_room,
    is_memory_full,
    take_headroom,
)
from orchestrator.engine.node.transport_calls import apply_ack, apply_credit, on_segment_arrived
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    ACK,
    CNP,
    CREDIT,
    DATA,
    GRANT,
    HOST,
    MESSAGES,
    NONE,
    PAUSE,
    PFC,
    PORT_SETS,
    PROBE,
    REQUEST,
    SACK,
    SWITCH,
    TRANSPORT,
    TRIMMED,
    Frame,
)


@compiled
def end_input_transfers(w: World, input_index: InputIndex, now: int) -> None:
    """A transfer of an input ends, or a frame of it reaches its output, or both."""
    side = w.inputs[input_index]
    end_transfers(w, input_index, now)
    while side.fly_head != NONE and w.frames[side.fly_head].due <= now:
        index = side.fly_head
        frame = w.frames[index]
        side.fly_head = frame.next
        w.queues[w.lanes[lane_index(w, frame.port, frame)].queue].reserved -= frame.length
        if w.ports[frame.port].in_order != 0:
            resequence(w, frame.port, index, now)
        else:
            enqueue(w, frame.port, index, now)


@compiled
def admit_shared(
    w: World, port_index: PortIndex, index: FrameIndex, way: PortIndex, now: int
) -> None:
    """A data frame arrives at a switch whose ports share one memory: it counts at its input, where
    PAUSE watches, and at its output, until it has left. It needs room in the memory and at both;
    where there is none it is the output that drops it, but for an input that is full. A lossless
    frame that has no room in the memory lies in the headroom of its port instead, if it has some:
    no output limits its lane then (`assembly.queue_rows`).
    """
    input_index = w.ports[port_index].input
    frame = w.frames[index]
    queue_index = w.inputs[input_index].first_queue + w.lane_of[frame.priority & 7]
    queue = w.queues[queue_index]
    node = w.nodes[w.ports[port_index].node]
    output_index = w.lanes[lane_index(w, way, frame)].queue
    output = w.queues[output_index]
    queue.frames_in += 1
    full = is_memory_full(w, queue_index, frame.length)
    beyond = exceeds_limit(w, queue_index, index, now)
    in_headroom = (beyond or full) and take_headroom(w, queue_index, frame.length)
    if beyond and not in_headroom:
        queue.frames_dropped += 1
        give_back(w, index)
        return
    full = full and not in_headroom
    if full or output.bytes + frame.length > buffer_limit(w, output_index, index, now):
        answer = call_observers(w, output_index, index, now)
        if full or answer < LANE or not has_output_room(w, way, answer - LANE, index, now):
            if (
                answer == 0
                and not in_headroom
                and replace_in_shared_memory(w, way, output_index, queue_index, index, now)
            ):
                output.frames_dropped += 1
                return
            queue.frames_out += 1
            queue.bytes_out += frame.length
            if answer != 0 and answer < LANE:
                drop_or_trim(w, way, output_index, index, answer, now)
            else:
                output.frames_dropped += 1
                give_back(w, index)
            return
        leave_lane(w, output_index, index, answer - LANE)
    frame.held = queue_index
    frame.original = NONE
    if not in_headroom:
        node.shared_bytes += frame.length
    enter_buffer(w, queue_index, index, now)
    enqueue_outlined(w, way, index, now)


@inlined
def is_message(w: World, frame: Frame) -> bool:
    """True if a frame is a congestion message or a probe, which no queue holds back."""
    return frame.kind != DATA and w.types[frame.kind].carried == CONTROL


@compiled
def send_copies(
    w: World, node_index: NodeIndex, index: FrameIndex, way: PortIndex, now: int
) -> None:
    """A switch without virtual output queues sends a copy to every port of the group."""
    row = PORT_SETS - way
    last = w.ways[row, 1] - 1
    for place in range(last):
        other = copy_of(w, node_index, index)
        if other != NONE:
            send_copy(w, w.ways[row, 2 + place], other, now)
    send_copy(w, w.ways[row, 2 + last], index, now)


@compiled
def send_copy(w: World, way: PortIndex, index: FrameIndex, now: int) -> None:
    """One of them: by way of the memory that the ports share, where they do."""
    port_index = w.frames[index].port
    if w.ports[port_index].input != NONE:
        admit_shared(w, port_index, index, way, now)
    else:
        enqueue_outlined(w, way, index, now)


@inlined
def count_arrival_at_input(w: World, port_index: PortIndex, frame: Frame) -> None:
    """Count a frame that comes to the buffer of an input, with or without a route and room."""
    queue_index = w.inputs[w.ports[port_index].input].first_queue + w.lane_of[frame.priority & 7]
    w.queues[queue_index].bytes_came += frame.length


@compiled
def is_ttl_over(w: World, index: FrameIndex) -> bool:
    """True if a router may not send a frame on, whose TTL is 0 when it has taken one off (RFC 1812,
    5.3.1). Frames of programs have a TTL of their own, all others IP_TTL."""
    frame = w.frames[index]
    if frame.kind == HOST and w.octets.shape[0] > 1:
        return (get16(w.octets[index], IP + 8) >> 8) <= frame.hops
    return frame.hops >= IP_TTL


@inlined
def forward_by(
    w: World, node_index: NodeIndex, index: FrameIndex, way: PortIndex, now: int
) -> None:
    """A switch sends a frame that queues hold back on by a port, or a copy by each of a row."""
    frame = w.frames[index]
    if w.ports[frame.port].input != NONE:
        if w.inputs[w.ports[frame.port].input].shared == 0:
            admit(w, frame.port, index, way, now)
        elif way < NONE:
            send_copies(w, node_index, index, way, now)
        else:
            admit_shared(w, frame.port, index, way, now)
    elif way < NONE:
        send_copies(w, node_index, index, way, now)
    elif w.ports[way].in_order != 0:
        resequence(w, way, index, now)
    else:
        enqueue(w, way, index, now)


@inlined
def forward(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> None:
    """A switch, or a host that forwards, sends a frame on: control frames past every queue, data
    through one."""
    frame = w.frames[index]
    message = is_message(w, frame)
    if w.ports[frame.port].input != NONE and not message:
        count_arrival_at_input(w, frame.port, frame)
    way = output_port(w, node_index, frame)
    if w.nodes[node_index].routed != 0:
        frame.hops += 1
        if w.types[frame.kind].is_ip == 0:
            way = NONE
        elif is_ttl_over(w, index):
            w.nodes[node_index].ttl_expired += 1
            give_back(w, index)
            return
    if way < NONE and message:  # no node answers for a group
        way = NONE
    if way == NONE:
        w.nodes[node_index].unroutable += 1
        give_back(w, index)
    elif message:
        if frame.kind == PROBE:
            receive_probe(w, way, index, now)
        push_control(w, way, index, now)
    else:
        forward_by(w, node_index, index, way, now)


@inlined
def deliver(w: World, index: FrameIndex, now: int) -> None:
    """A data frame is where it was sent to: count it."""
    frame = w.frames[index]
    if frame.flow != NONE:
        flow = w.flows[frame.flow]
        if flow.copies != 0:
            count_latency(w, flow.group, now - frame.created)
            deliver_copy(w, w.ports[frame.port].node, index)
            return
        count_frame(w, flow, frame, now)
        if flow.mode == MESSAGES:
            count_arrival(w, frame.flow, frame.sequence, now)
        elif flow.mode == TRANSPORT:
            on_segment_arrived(w, index, TRANSPORT_ARRIVED, now)
            schedule_flow(w, frame.flow, now)
    w.clock[0].delivered += 1
    give_back(w, index)


@inlined
def is_source_of(w: World, node_index: NodeIndex, flow_index: FlowIndex) -> bool:
    """True if a flow with a transport comes from this node."""
    return (
        flow_index != NONE
        and w.flows[flow_index].node == node_index
        and w.flows[flow_index].mode == TRANSPORT
    )


@compiled
def receive_ack(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> None:
    """An acknowledgement is back at its flow's source."""
    flow_index = w.frames[index].flow
    if is_source_of(w, node_index, flow_index):
        apply_ack(w, flow_index, index, now)
        schedule_flow(w, flow_index, now)
    give_back(w, index)


@compiled
def receive_trimmed(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> None:
    """The header of a data frame that was trimmed is where that frame was sent to."""
    flow_index = w.frames[index].flow
    if flow_index != NONE:
        w.flows[flow_index].headers_received += 1
        if w.nodes[node_index].receiver != NONE:
            notify_receiver(w, node_index, RECEIVER_ARRIVED, index, now)
        if w.flows[flow_index].mode == TRANSPORT:
            on_segment_arrived(w, index, TRANSPORT_TRIMMED, now)
            schedule_flow(w, flow_index, now)
    give_back(w, index)


@compiled
def receive_credit_request(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> None:
    """Take a source's request for credit; without a receiver it has no effect."""
    if w.nodes[node_index].receiver != NONE and w.frames[index].flow != NONE:
        notify_receiver(w, node_index, RECEIVER_FLOW_BEGINS, index, now)
    else:
        w.nodes[node_index].feedback_ignored += 1
    give_back(w, index)


@compiled
def receive_credit(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> None:
    """A credit is back at its flow's source."""
    flow_index = w.frames[index].flow
    if is_source_of(w, node_index, flow_index):
        apply_credit(w, flow_index, index, now)
        schedule_flow(w, flow_index, now)
    else:
        w.nodes[node_index].feedback_ignored += 1
    give_back(w, index)


@compiled
def receive_message(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> None:
    """A frame that no queue holds back is where it was sent to."""
    kind = w.frames[index].kind
    if kind == TRIMMED:
        receive_trimmed(w, node_index, index, now)
    elif kind == REQUEST:
        receive_credit_request(w, node_index, index, now)
    elif kind == CREDIT:
        receive_credit(w, node_index, index, now)
    else:
        on_cnm(w, node_index, index, now)


@compiled
def apply_link_control(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> bool:
    """A frame for the port itself: PAUSE, PFC or a grant. False: it is none."""
    kind = w.frames[index].kind
    if kind not in (PAUSE, PFC, GRANT):
        return False
    if kind == PAUSE:
        apply_pause(w, port_index, index, now)
        notify_watchdogs(w, port_index, now)
    elif kind == PFC:
        apply_pfc(w, port_index, index, now)
        notify_watchdogs(w, port_index, now)
    else:
        apply_grant(w, port_index, index, now)
    serve(w, port_index, now)
    return True


@compiled
def receive_other(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> bool:
    """A frame of another type than data is where it was sent to. False: it is taken as data is."""
    frame = w.frames[index]
    if frame.kind == PROBE:
        answer_probe(w, node_index, index, now)
    elif frame.kind == CNP or is_message(w, frame):
        receive_message(w, node_index, index, now)
    elif frame.kind == ACK or frame.kind == SACK:
        receive_ack(w, node_index, index, now)
    elif frame.kind == HOST:
        deliver_to_program(w, node_index, index)
    else:
        return False
    return True


@inlined
def frame_has_dscp(frame: Frame) -> bool:
    """True for a frame whose TOS octet is that of its source, but for ECN."""
    return frame.kind in (DATA, ACK, SACK, TRIMMED)


@compiled
def classify(w: World, row: int, frame: Frame) -> None:
    """Give a frame with a DSCP of its own the priority that a row of `w.dscp_maps` has for it. All
    CNPs have one DSCP, which matters where switches queue them."""
    if frame_has_dscp(frame):
        frame.priority = w.dscp_maps[row, (frame.mark >> 2) & 0x3F]
    elif frame.kind == CNP and w.types[CNP].carried != CONTROL:
        frame.priority = w.dscp_maps[row, ROCE_TOS >> 2]


@compiled
def is_for_others(w: World, node_index: NodeIndex, index: FrameIndex) -> bool:
    """True if a host has a route for a frame: it is not addressed to the host itself."""
    return output_port(w, node_index, w.frames[index]) != NONE


@inlined
def handle_arrival(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """A frame that arrived is for the port itself, for another node, or for this one: data is asked
    for first."""
    frame = w.frames[index]
    frame.port = port_index
    node_index = w.ports[port_index].node
    if frame.kind != DATA and apply_link_control(w, port_index, index, now):
        return
    node = w.nodes[node_index]
    if node.classifier != 0:
        classify(w, node.classifier, frame)
    if node.kind == SWITCH or (node.forwards != 0 and is_for_others(w, node_index, index)):
        forward(w, node_index, index, now)
    elif frame.kind == DATA or not receive_other(w, node_index, index, now):
        if w.nodes[node_index].notification_point != NONE:
            call_notification_point(
                w, w.nodes[node_index].notification_point, port_index, index, now
            )
        if w.nodes[node_index].receiver != NONE and frame.flow != NONE:
            notify_receiver(w, node_index, RECEIVER_ARRIVED, index, now)
        deliver(w, index, now)
