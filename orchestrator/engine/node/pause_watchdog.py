"""PAUSE watchdogs: handle the queue of a port that its neighbour pauses for too long.

A watchdog is called for every PAUSE and PFC that holds its queue's lane, and for its timer. Its
kernels set `queue.stance`; this module applies it, and `output` does so to arriving frames.
"""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import clear_message
from orchestrator.engine.index_types import PortIndex, QueueIndex, range
from orchestrator.engine.jit import compiled
from orchestrator.engine.kernel_events import WATCHDOG_HELD, WATCHDOG_TIMER
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.buffer import leave_buffer, schedule_queue
from orchestrator.engine.node.crossbar import on_output_departure
from orchestrator.engine.node.egress_queue import pop_frame
from orchestrator.engine.node.lane_flow_control import count_pause
from orchestrator.engine.node.port_scheduler import drop_dequeued, serve
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import DROPS, IGNORES, NEVER, NONE, PFC, SOONEST, Lane


@compiled
def drop_queued(w: World, queue_index: QueueIndex, now: int) -> None:
    """Drop all that lies in a queue."""
    queue = w.queues[queue_index]
    while queue.frames > 0:
        index = pop_frame(w, queue)
        leave_buffer(w, queue_index, index, now)
        if queue.crossbar != 0:
            on_output_departure(w, queue_index, index, now)
        drop_dequeued(w, queue, index)


@compiled
def apply_watchdog_state(w: World, queue_index: QueueIndex, lane: Lane, now: int) -> None:
    """Do what the watchdog of a queue wants, whose lane that is."""
    queue = w.queues[queue_index]
    if queue.stance == DROPS:
        drop_queued(w, queue_index, now)
    elif queue.stance == IGNORES:
        count_pause(w, queue.port, now)
        lane.paused_until = min(lane.paused_until, now)
        port = w.ports[queue.port]
        port.paused_until = min(port.paused_until, now)


@compiled
def notify_watchdogs(w: World, port_index: PortIndex, now: int) -> None:
    """A PAUSE or PFC came to a port: tell the watchdogs of the queues that it holds.

    Of a lane that it does not name the time stays the same.
    """
    port = w.ports[port_index]
    for row in range(port.first_lane, port.first_lane + w.clock[0].lanes):
        lane = w.lanes[row]
        if lane.queue == NONE or w.queues[lane.queue].watchdog == NONE:
            continue
        queue = w.queues[lane.queue]
        until = max(port.paused_until, lane.paused_until)
        if until == queue.held_until:
            continue
        queue.held_until = until
        if until > now:
            spare = w.frames[w.frames.size - 1]
            clear_message(spare, PFC)
            kernel_calls.call_time_kernel(
                w, queue.watchdog, WATCHDOG_HELD, queue, spare, now, spare
            )
        apply_watchdog_state(w, lane.queue, lane, now)
        schedule_queue(w, lane.queue)


@compiled
def wake_watchdog(w: World, queue_index: QueueIndex, now: int) -> None:
    """The timer of a watchdog is due."""
    queue = w.queues[queue_index]
    queue.watchdog_timer = NEVER
    spare = w.frames[w.frames.size - 1]
    clear_message(spare, PFC)
    kernel_calls.call_time_kernel(w, queue.watchdog, WATCHDOG_TIMER, queue, spare, now, spare)
    queue.watchdog_timer = max(queue.watchdog_timer, now + SOONEST)
    port = w.ports[queue.port]
    for row in range(port.first_lane, port.first_lane + w.clock[0].lanes):
        if w.lanes[row].queue == queue_index:
            apply_watchdog_state(w, queue_index, w.lanes[row], now)
    serve(w, queue.port, now)
