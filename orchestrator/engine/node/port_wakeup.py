"""Wake-up of ports: time at which a port can send next."""

from __future__ import annotations

from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.control_frames import is_pause
from orchestrator.engine.node.crossbar_transfer import schedule_first_transit
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.lazy_egress import free_at, port_actor, wakes_for_data
from orchestrator.engine.node.local_timers import set_port_timer
from orchestrator.engine.records import LAZY, NEVER, NONE


@inlined
def ready_at(w, port, lane):
    """Time at which the lane can send its next data frame; NEVER when it has none."""
    if lane.ready_head != NONE:
        return max(port.free_at, port.paused_until, lane.paused_until)
    if lane.queue != NONE and w.queues[lane.queue].frames > 0:
        return max(port.free_at, port.paused_until, lane.paused_until, port.next_service)
    return NEVER


@compiled
def first_to_leave(w, port_index):
    """Wake time of a late output behind inputs for data; NEVER when no queue waits for it, or it
    has no frame. For a frame that leaves the moment that it arrives, its input wakes instead."""
    port = w.ports[port_index]
    lane = w.lanes[port.first_lane]
    queue = w.queues[lane.queue]
    if not wakes_for_data(port, queue) or (queue.frames == 0 and queue.fly_head == NONE):
        return NEVER
    time = free_at(port, lane)
    if queue.frames == 0 and time <= w.frames[queue.fly_head].due:
        schedule_first_transit(w, lane.queue)
        return NEVER
    return time


@inlined
def schedule_port(w, port_index):
    """Let a port wake for the next chance to send; one that is late, only for observable sends."""
    port = w.ports[port_index]
    time = NEVER
    if port.control_head != NONE:
        time = port.free_at
        if not is_pause(w.frames[port.control_head]):
            time = max(time, port.paused_until)
    elif port.late == 0:
        for lane_index in range(port.first_lane, port.first_lane + w.clock[0].lanes):
            time = min(time, ready_at(w, port, w.lanes[lane_index]))
    elif port.late != LAZY:
        time = first_to_leave(w, port_index)
    if port.entries != 0:
        set_port_timer(w, port_index, time)
    else:
        wake_at(w, port_actor(w, port_index), time)


@compiled
def schedule_port_outlined(w, port_index):
    """`schedule_port`, for callers to which the cost of a call is negligible."""
    schedule_port(w, port_index)
