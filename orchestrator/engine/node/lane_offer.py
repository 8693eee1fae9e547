"""Offer of a port to its scheduler: the lanes that have a frame, and the length of the first one.

A scheduler chooses among lanes that may send at this moment. It sees each lane by its priority, so
that its kernels need no table of the lanes.
"""

from __future__ import annotations

from orchestrator.engine.jit import compiled
from orchestrator.engine.kernel_events import SCHEDULER_CHOOSE
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.departure_time import next_departure
from orchestrator.engine.node.nic_transmit import find_next_flow
from orchestrator.engine.node.rate_limiter import eligible_at
from orchestrator.engine.records import FRAMES, NONE


@compiled
def takes_own(w, lane):
    """True if the next frame of a lane is one of its node's own flows, one of which is ready.

    At a host that forwards, these and the frames of others, in the lane's queue, take turns.
    """
    return lane.queue == NONE or w.queues[lane.queue].frames == 0 or lane.own_turn == 0


@compiled
def head_octets(w, lane):
    """Length of the frame that a lane would send next (octets); 0: it has none."""
    if lane.ready_head != NONE and takes_own(w, lane):
        flow = w.flows[find_next_flow(w, lane)[0]]
        if flow.mode == FRAMES:
            return w.made[flow.head].length + 0
        return w.frames[flow.head].length
    if lane.queue != NONE and w.queues[lane.queue].frames > 0:
        return w.frames[w.queues[lane.queue].head].length
    return 0


@compiled
def has_more(w, port, lane, flow_index, now):
    """True if a lane that sent a frame has one to send when its port is free again.

    `flow_index`: the flow that sent it, which is ready again only after this event; NONE: the frame
    came out of the lane's queue.
    """
    if head_octets(w, lane) > 0:
        return True
    if flow_index == NONE or w.flows[flow_index].head == NONE:
        return False
    limiter = w.flows[flow_index].limiter
    return limiter == NONE or eligible_at(w.limiters[limiter], now) <= port.free_at


@compiled
def choose_lane(w, port, now):
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
    spare = w.frames[w.frames.size - 1]
    chosen = kernel_calls.call_time_kernel(
        w, scheduler.algorithm, SCHEDULER_CHOOSE, scheduler, spare, now, spare
    )
    if (scheduler.ready >> chosen) & 1 == 0:
        scheduler.unready += 1  # refused when the run is recorded
        chosen = highest
    return port.first_lane + w.lane_of[chosen]
