"""Transmit side of a NIC: a source and a host queue per flow, and its rate limiter if it has one.

A flow becomes ready when it has a frame and its limiter (if any) has tokens; ready flows take
turns on their lane of the port in the order in which they became ready, unless the NIC has a flow
scheduler (`lane_offer`). Where a node's flows share one queue, those without a limiter are sent in
the order in which their frames were made.
"""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.index_types import FlowIndex, FrameIndex, NodeIndex, PortIndex, int64
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.kernel_events import TRAFFIC_NEXT
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.actors import flow_actor, node_actor
from orchestrator.engine.node.departure_time import flow_departure
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.host_queue import enter_host_queue, leave_host_queue
from orchestrator.engine.node.local_timers import set_flow_timer
from orchestrator.engine.node.message_progress import next_of_message
from orchestrator.engine.node.queue_pair import describe_packet
from orchestrator.engine.node.rate_limiter import (
    bind_limiter,
    eligible_at,
    expire,
    next_timer,
    on_congestion_message,
    on_frame_sent,
)
from orchestrator.engine.node.send_window import on_segment_departed, resume_windowed_flow
from orchestrator.engine.node.telemetry_stamping import reserve_stamps
from orchestrator.engine.node.transmitter import by_clock, transmit
from orchestrator.engine.node.transport_calls import ask_transport_segment, delayed_ack
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import (
    DATA,
    FRAMES,
    MESSAGES,
    NEVER,
    NONE,
    NOT_ROCE,
    SOONEST,
    TRANSPORT,
    Flow,
    Lane,
)


@inlined
def has_host_queue_room(w: World, flow: Flow) -> bool:
    """True if the host queue takes the source's next frame."""
    if flow.shared != 0:
        node = w.nodes[flow.node]
        return node.host_bytes + flow.length <= node.host_capacity
    return flow.bytes + flow.length <= flow.capacity


@compiled
def enqueue_segment(w: World, flow_index: FlowIndex, sequence: int, now: int) -> bool:
    """A message's or a transport's frame of `flow.length` is made and put into the host queue.

    False, and counted: there is no descriptor.
    """
    flow = w.flows[flow_index]
    index = take(w)
    if index == NONE:
        return False
    frame = w.frames[index]
    reset_descriptor(
        frame, DATA, flow.length, flow.priority, flow_index, flow.source, flow.destination
    )
    frame.sequence = sequence
    frame.created = now
    frame.mark = flow.mark
    if flow.mode == TRANSPORT:
        frame.mark |= w.frames[w.frames.size - 1].mark
        if flow.roce != NOT_ROCE:
            wanted = w.frames[w.frames.size - 1].feedback
            describe_packet(flow, w.messages[flow.sending], frame, wanted)
    if w.stamps.shape[0] > 1:
        reserve_stamps(w, index, flow.stamps)
    if flow.head == NONE:
        flow.head = index
    else:
        w.frames[flow.tail].next = index
    flow.tail = index
    return True


@inlined
def make_frame(w: World, flow_index: FlowIndex, now: int) -> None:
    """The source makes one frame, puts it into the host queue and says when the next one comes."""
    flow = w.flows[flow_index]
    if flow.mode == FRAMES:
        is_made = enter_host_queue(w, flow, now)
    else:
        sequence = flow.sequence
        if flow.mode == TRANSPORT:
            sequence = ask_transport_segment(w, flow_index, now)
            if sequence == NONE:
                return
        is_made = enqueue_segment(w, flow_index, sequence, now)
    if is_made:
        flow.sequence += 1
        flow.bytes += flow.length
        if flow.shared != 0:
            w.nodes[flow.node].host_bytes += flow.length
        if flow.limiter != NONE:
            w.limiters[flow.limiter].backlog = flow.bytes
    if flow.mode == TRANSPORT:
        return
    spare = w.frames[w.frames.size - 1]
    gap = kernel_calls.call_time_kernel(w, flow.algorithm, TRAFFIC_NEXT, flow, spare, now, spare)
    gap = by_clock(gap, flow.drift)
    if flow.mode == MESSAGES:
        next_of_message(w, flow, gap, now)
    else:
        flow.next_frame = now + gap


@compiled
def refuse_frame(w: World, flow: Flow, now: int) -> None:
    """The source makes a frame that finds no room."""
    spare = w.frames[w.frames.size - 1]
    flow.frames_refused += 1
    gap = kernel_calls.call_time_kernel(w, flow.algorithm, TRAFFIC_NEXT, flow, spare, now, spare)
    flow.next_frame = now + max(by_clock(gap, flow.drift), SOONEST)


@inlined
def schedule_flow(w: World, flow_index: FlowIndex, now: int) -> None:
    """Let the flow wake for its next frame, its limiter's timer or its limiter's tokens."""
    flow = w.flows[flow_index]
    time = flow.next_frame if flow.open_loop != 0 or has_host_queue_room(w, flow) else NEVER
    tokens, timer = now, NEVER
    if flow.limiter != NONE:
        limiter = w.limiters[flow.limiter]
        timer = next_timer(limiter)
        time = min(time, timer)
        if flow.head != NONE and flow.ready == 0:
            tokens = eligible_at(limiter, now)
            time = min(time, tokens)
    elif flow.head != NONE and flow.ready == 0:
        time = now
    if flow.mode == TRANSPORT:
        time = min(time, flow.ack_timer)
    if flow.entry != 0:
        set_flow_timer(w, flow_index, time, tokens, timer)
    else:
        wake_at(w, flow_actor(w, flow_index), time)


@compiled
def find_next_flow(w: World, lane: Lane) -> tuple[FlowIndex, FlowIndex]:
    """The flow of a lane that sends next, and the one before it in the list, or NONE.

    It is the first ready one or, among those of a shared host queue, the one with the oldest frame.
    """
    chosen, before_chosen = lane.ready_head, NONE
    if w.flows[chosen].shared == 0:
        return chosen, before_chosen
    index, before = lane.ready_head, NONE
    while index != NONE:
        flow = w.flows[index]
        if flow.shared != 0 and w.made[flow.head].created < w.made[w.flows[chosen].head].created:
            chosen, before_chosen = index, before
        before = index
        index = flow.ready_next
    return chosen, before_chosen


@compiled
def remove_ready_flow(w: World, lane: Lane) -> FlowIndex:
    """Take that flow out of a lane's ready ones whose frame is the first in the shared queue."""
    chosen, before_chosen = find_next_flow(w, lane)
    after = w.flows[chosen].ready_next
    if before_chosen == NONE:
        lane.ready_head = after
    else:
        w.flows[before_chosen].ready_next = after
        if after == NONE:
            lane.ready_tail = before_chosen
    return chosen


@compiled
def move_to_front(w: World, lane: Lane, flow_index: FlowIndex) -> None:
    """Make a ready flow, which is not the first of its lane, the first; the others keep their
    order."""
    before = lane.ready_head
    while w.flows[before].ready_next != flow_index:
        before = w.flows[before].ready_next
    after = w.flows[flow_index].ready_next
    w.flows[before].ready_next = after
    if after == NONE:
        lane.ready_tail = before
    w.flows[flow_index].ready_next = lane.ready_head
    lane.ready_head = flow_index


@inlined
def send_ready_flow(w: World, port_index: PortIndex, lane: Lane, now: int) -> None:
    """The first ready flow of a lane of a free port sends its frame and steps back."""
    flow_index = lane.ready_head
    if w.flows[flow_index].shared != 0:
        flow_index = remove_ready_flow(w, lane)
    else:
        lane.ready_head = w.flows[flow_index].ready_next
    w.flows[flow_index].ready = 0
    send_head_frame(w, port_index, flow_index, now)


@compiled
def send_head_frame(w: World, port_index: PortIndex, flow_index: FlowIndex, now: int) -> None:
    """A flow sends the first of its frames by a free port."""
    flow = w.flows[flow_index]
    if flow.mode == FRAMES:
        length = int64(w.made[flow.head].length)
        index = leave_host_queue(w, flow_index)
    else:
        index = flow.head
        length = w.frames[index].length
        flow.head = w.frames[index].next
    flow.bytes -= length
    flow.frames_sent += 1
    flow.bytes_sent += length
    if flow.shared != 0:
        w.nodes[flow.node].host_bytes -= length
    if flow.next_frame <= now and has_host_queue_room(w, flow):
        make_frame(w, flow_index, now)
    if flow.limiter != NONE:
        w.limiters[flow.limiter].backlog = flow.bytes
    if index != NONE:  # else it is lost, and counted
        frame = w.frames[index]
        if flow.limiter != NONE:
            on_frame_sent(w, flow.limiter, frame, now)
        if flow.controlled != 0:
            on_segment_departed(w, flow, frame, now)
        transmit(w, port_index, index, now)
    schedule_flow(w, flow_index, now)


@inlined
def may_send(w: World, flow: Flow, now: int) -> bool:
    """True if the flow has a frame and, where it has a limiter, tokens."""
    if flow.head == NONE or flow.ready == 1:
        return False
    return flow.limiter == NONE or eligible_at(w.limiters[flow.limiter], now) <= now


@inlined
def append_ready_flow(w: World, flow_index: FlowIndex) -> int:
    """Put a flow behind the ready flows of its lane; True when it is the only one."""
    flow = w.flows[flow_index]
    lane = w.lanes[flow.lane]
    flow.ready = 1
    flow.ready_next = NONE
    alone = lane.ready_head == NONE
    if alone:
        lane.ready_head = flow_index
    else:
        w.flows[lane.ready_tail].ready_next = flow_index
    lane.ready_tail = flow_index
    return alone


@compiled
def wake_flow(w: World, flow_index: FlowIndex, now: int) -> int:
    """Do what is due for a flow; True when its port has to be served for it.

    A flow that sends at once is scheduled when it has sent, any other here. One that has a free
    port for itself sends here: there is no choice that the port would have to make.
    """
    flow = w.flows[flow_index]
    if flow.limiter != NONE and next_timer(w.limiters[flow.limiter]) <= now:
        expire(w, flow.limiter, now)
        resume_windowed_flow(flow, now)
    if flow.mode == TRANSPORT and flow.ack_timer <= now:
        delayed_ack(w, flow_index, now)
    if flow.next_frame <= now:
        if has_host_queue_room(w, flow):
            make_frame(w, flow_index, now)
        elif flow.open_loop != 0:
            refuse_frame(w, flow, now)
    if not may_send(w, flow, now):
        schedule_flow(w, flow_index, now)
        return False
    port, lane = w.ports[flow.port], w.lanes[flow.lane]
    at_once = port.control_head == NONE and now >= flow_departure(port, lane)
    if at_once and lane.ready_head == NONE and lane.granted == NEVER and w.clock[0].direct != 0:
        send_head_frame(w, flow.port, flow_index, now)
        return False
    serve_port = append_ready_flow(w, flow_index)
    if not (serve_port and at_once):
        schedule_flow(w, flow_index, now)
    return serve_port


@compiled
def apply_cnm(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> None:
    """A NIC acts on a CNM: the flow is found by destination address, then its limiter.

    Without a free limiter the message is counted and dropped, never given to another flow.
    """
    node = w.nodes[node_index]
    frame = w.frames[index]
    flow_index = w.address_flow[frame.destination]
    if flow_index == NONE or w.flows[flow_index].node != node_index or node.limiters == 0:
        node.feedback_ignored += 1
    else:
        limiter_index = w.flows[flow_index].limiter
        if limiter_index == NONE:
            limiter_index = bind_limiter(w, flow_index, now)
        if limiter_index == NONE:
            node.feedback_unassigned += 1
        else:
            on_congestion_message(w, limiter_index, frame, now)
            resume_windowed_flow(w.flows[flow_index], now)
            schedule_flow(w, flow_index, now)
    give_back(w, index)


@compiled
def schedule_node(w: World, node_index: NodeIndex) -> None:
    """Let a NIC or sink wake for the CNM that acts next, or for its receiver's timer."""
    node = w.nodes[node_index]
    time = NEVER if node.reacting_head == NONE else w.frames[node.reacting_head].due
    if node.receiver != NONE:
        time = min(time, node.receiver_timer)
    wake_at(w, node_actor(w, node_index), time)


@compiled
def on_cnm(w: World, node_index: NodeIndex, index: FrameIndex, now: int) -> None:
    """A CNM reached its NIC, whose limiters act after their reaction time."""
    node = w.nodes[node_index]
    if node.reaction_time == 0:
        apply_cnm(w, node_index, index, now)
        return
    frame = w.frames[index]
    frame.due = now + node.reaction_time
    frame.next = NONE
    if node.reacting_head == NONE:
        node.reacting_head = index
        schedule_node(w, node_index)
    else:
        w.frames[node.reacting_tail].next = index
    node.reacting_tail = index


@compiled
def wake_node(w: World, node_index: NodeIndex, now: int) -> None:
    """The reaction time of the first CNM that waits for it is over."""
    node = w.nodes[node_index]
    index = node.reacting_head
    node.reacting_head = w.frames[index].next
    schedule_node(w, node_index)
    apply_cnm(w, node_index, index, now)
