"""Which frame a port sends next: PAUSE, then other control frames, then its flows or its queues."""

from __future__ import annotations

from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.agenda import enter_port
from orchestrator.engine.node.buffer import take_out
from orchestrator.engine.node.control import is_pause, pop_control
from orchestrator.engine.node.crossbar import left_output
from orchestrator.engine.node.lane import use_credit
from orchestrator.engine.node.late import catch_up, port_actor
from orchestrator.engine.node.link import timed, transmit
from orchestrator.engine.node.nic import send_next
from orchestrator.engine.node.pool import give_back
from orchestrator.engine.node.wake import wake_at
from orchestrator.engine.records import NEVER, NONE


@compiled
def lose(w, queue, index):  # type: ignore[no-untyped-def]
    """A frame was taken out of a queue only to be dropped: it has not left by the port."""
    queue.frames_out -= 1
    queue.bytes_out -= w.frames[index].length
    queue.frames_dropped_early += 1
    give_back(w, index)


@inlined
def send_from_queue(w, port_index, queue_index, now):  # type: ignore[no-untyped-def]
    """Serve a queue of a switch's port: one frame, then the service-rate limiter waits.

    Frames that the congestion point drops on their way out take no time: the next one follows.
    """
    queue = w.queues[queue_index]
    while queue.frames > 0:
        index = queue.head
        frame = w.frames[index]
        queue.head = frame.next
        dropped = take_out(w, queue_index, index, now)
        if queue.crossbar != 0:
            left_output(w, queue_index, index, now)
        if not dropped:
            w.ports[port_index].next_service = now + timed(queue, frame.length, queue.service_rate)
            transmit(w, port_index, index, now)
            return
        lose(w, queue, index)


@inlined
def ready_at(w, port, lane):  # type: ignore[no-untyped-def]
    """When the lane can send its next data frame; NEVER when it has none."""
    if lane.ready_head != NONE:
        return max(port.free_at, port.paused_until, lane.paused_until)
    if lane.queue != NONE and w.queues[lane.queue].frames > 0:
        return max(port.free_at, port.paused_until, lane.paused_until, port.next_service)
    return NEVER


@inlined
def send_data(w, port_index, now):  # type: ignore[no-untyped-def]
    """The next lane that can sends a frame; lanes take turns."""
    port = w.ports[port_index]
    lanes = w.clock[0].lanes
    place = port.turn
    for _ in range(lanes):
        lane = w.lanes[port.first_lane + place]
        place += 1
        if place == lanes:
            place = 0
        if ready_at(w, port, lane) <= now:
            port.turn = place
            sent, lost = port.bytes_out, port.frames_lost
            if lane.ready_head != NONE:
                send_next(w, port_index, lane, now)
            else:
                send_from_queue(w, port_index, lane.queue, now)
            if lane.granted != NEVER and port.frames_lost == lost:
                use_credit(w, port_index, lane, port.bytes_out - sent, now)
            return


@compiled
def serve(w, port_index, now):  # type: ignore[no-untyped-def]
    """Send what may be sent now, then wake for the next chance (or not, when nothing waits)."""
    port = w.ports[port_index]
    if now >= port.free_at:
        free = now >= port.paused_until
        if port.control_head != NONE and (free or is_pause(w.frames[port.control_head])):
            transmit(w, port_index, pop_control(w, port_index), now)
        elif free:
            send_data(w, port_index, now)
    schedule_port(w, port_index)


@inlined
def schedule_port(w, port_index):  # type: ignore[no-untyped-def]
    """Let a port wake for the next chance to send; one that is late, for control frames only."""
    port = w.ports[port_index]
    time = NEVER
    if port.control_head != NONE:
        time = port.free_at
        if not is_pause(w.frames[port.control_head]):
            time = max(time, port.paused_until)
    elif port.late == 0:
        for lane_index in range(port.first_lane, port.first_lane + w.clock[0].lanes):
            time = min(time, ready_at(w, port, w.lanes[lane_index]))
    if port.entries != 0:
        enter_port(w, port_index, time)
    else:
        wake_at(w, port_actor(w, port_index), time)


@compiled
def be_in_time(w, port_index, now):  # type: ignore[no-untyped-def]
    """From now on a port wakes for each frame, and its queue's algorithms see all that leave."""
    catch_up(w, port_index, now)
    port = w.ports[port_index]
    for lane_index in range(port.first_lane, port.first_lane + w.clock[0].lanes):
        queue_index = w.lanes[lane_index].queue
        if queue_index != NONE:
            w.queues[queue_index].deaf = 0
    if port.late != 0:
        port.late = 0
        schedule_port(w, port_index)
