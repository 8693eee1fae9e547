"""Offer of a port to its scheduler: the lanes that have a frame, and the length of the first one.

A scheduler chooses among lanes that may send at this moment. It sees each lane by its priority, so
that its kernels need no table of the lanes. The flow scheduler of a NIC chooses among the ready
flows of a lane, by their classes, with the same kernels. Flows of one class take turns, as all
flows of a lane do without one: in the order in which they became ready.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FlowIndex, range
from orchestrator.engine.jit import compiled
from orchestrator.engine.kernel_events import SCHEDULER_CHOOSE
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.departure_time import next_departure
from orchestrator.engine.node.nic_transmit import find_next_flow, move_to_front
from orchestrator.engine.node.rate_limiter import eligible_at
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import FRAMES, NONE, PRIORITIES, Flow, Lane, Port, Scheduler


@compiled
def takes_own(w: World, lane: Lane) -> bool:
    """True if the next frame of a lane is one of its node's own flows, one of which is ready.

    At a host that forwards, these and the frames of others, in the lane's queue, take turns.
    """
    return lane.queue == NONE or w.queues[lane.queue].frames == 0 or lane.own_turn == 0


@compiled
def flow_head_octets(w: World, flow: Flow) -> int:
    """Length of the first frame in the host queue of a flow that has one (octets)."""
    if flow.mode == FRAMES:
        return w.made[flow.head].length + 0
    return w.frames[flow.head].length


@compiled
def head_octets(w: World, lane: Lane) -> int:
    """Length of the frame that a lane would send next (octets); 0: it has none."""
    if lane.ready_head != NONE and takes_own(w, lane):
        return flow_head_octets(w, w.flows[find_next_flow(w, lane)[0]])
    if lane.queue != NONE and w.queues[lane.queue].frames > 0:
        return w.frames[w.queues[lane.queue].head].length
    return 0


@compiled
def has_more(w: World, port: Port, lane: Lane, flow_index: FlowIndex, now: int) -> bool:
    """True if a lane that sent a frame has one to send when its port is free again.

    `flow_index`: the flow that sent it, which is ready again only after this event; NONE: the frame
    came out of the lane's queue.
    """
    if head_octets(w, lane) > 0:
        return True
    return flow_index != NONE and is_eligible_when_free(w, port, w.flows[flow_index], now)


@compiled
def is_eligible_when_free(w: World, port: Port, flow: Flow, now: int) -> bool:
    """True if a flow that sent a frame has another, and tokens for it, when its port is free."""
    if flow.head == NONE:
        return False
    return flow.limiter == NONE or eligible_at(w.limiters[flow.limiter], now) <= port.free_at


@compiled
def has_more_of_class(w: World, port: Port, lane: Lane, flow_index: FlowIndex, now: int) -> bool:
    """True if a flow that sent a frame, or another ready one of its class, has one to send when
    the port is free again."""
    index = lane.ready_head
    while index != NONE:
        if w.flows[index].flow_class == w.flows[flow_index].flow_class:
            return True
        index = w.flows[index].ready_next
    return is_eligible_when_free(w, port, w.flows[flow_index], now)


@compiled
def choose_lane(w: World, port: Port, now: int) -> int:
    """Ask the scheduler of a free port for the lane that sends now; NONE: no lane may."""
    scheduler = w.schedulers[port.scheduler - 1]
    scheduler.ready = 0
    scheduler.backlogged = 0
    highest = NONE
    for place in range(w.clock[0].lanes):
        lane = w.lanes[port.first_lane + place]
        priority = scheduler.priority[place]
        octets = head_octets(w, lane)
        scheduler.octets[priority] = octets
        if octets > 0:
            scheduler.backlogged |= 1 << priority
            if next_departure(w, port, lane) <= now:
                scheduler.ready |= 1 << priority
                highest = priority
    if highest == NONE:
        return NONE
    return port.first_lane + w.lane_of[call_choose(w, scheduler, highest, now)]


@compiled
def call_choose(w: World, scheduler: Scheduler, instead: int, now: int) -> int:
    """The priority or class that a scheduler chooses; `instead`, and counted: it cannot send."""
    spare = w.frames[w.frames.size - 1]
    chosen = kernel_calls.call_time_kernel(
        w, scheduler.algorithm, SCHEDULER_CHOOSE, scheduler, spare, now, spare
    )
    if (scheduler.ready >> chosen) & 1 == 0:
        scheduler.unready += 1  # refused when the run is recorded
        return instead
    return chosen


@compiled
def choose_flow(w: World, scheduler: Scheduler, lane: Lane, now: int) -> FlowIndex:
    """Ask the flow scheduler of a lane with ready flows for the class that sends now. The first
    ready flow of that class goes to the head of the list, and is returned."""
    scheduler.ready = 0
    for place in range(PRIORITIES):
        scheduler.octets[place] = 0
    index = lane.ready_head
    while index != NONE:
        flow = w.flows[index]
        if (scheduler.ready >> flow.flow_class) & 1 == 0:
            scheduler.ready |= 1 << flow.flow_class
            scheduler.octets[flow.flow_class] = flow_head_octets(w, flow)
        index = flow.ready_next
    scheduler.backlogged = scheduler.ready
    chosen = call_choose(w, scheduler, w.flows[lane.ready_head].flow_class, now)
    index = lane.ready_head
    while w.flows[index].flow_class != chosen:
        index = w.flows[index].ready_next
    if index != lane.ready_head:
        move_to_front(w, lane, index)
    return index
