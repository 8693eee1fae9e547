"""Port scheduler: serves PAUSE first, then other control frames, then flows or queues."""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, LaneIndex, PortIndex, QueueIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.kernel_events import SCHEDULER_SENT
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.buffer import leave_buffer
from orchestrator.engine.node.control_frames import pop_control
from orchestrator.engine.node.crossbar import on_output_departure
from orchestrator.engine.node.departure_time import control_departure, next_departure
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.egress_queue import pop_frame, send_popped
from orchestrator.engine.node.lane_flow_control import use_credit
from orchestrator.engine.node.lane_offer import (
    choose_flow,
    choose_lane,
    has_more,
    has_more_of_class,
    takes_own,
)
from orchestrator.engine.node.lazy_egress import schedule_port
from orchestrator.engine.node.nic_transmit import find_next_flow, send_ready_flow
from orchestrator.engine.node.transmitter import transmit
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NEVER, NONE, Lane, Port, Queue, Scheduler


@compiled
def drop_dequeued(w: World, queue: Queue, index: FrameIndex) -> None:
    """A frame was taken out of a queue only to be dropped: it has not left by the port."""
    queue.frames_out -= 1
    queue.bytes_out -= w.frames[index].length
    queue.frames_dropped_early += 1
    give_back(w, index)


@inlined
def send_from_queue(w: World, port_index: PortIndex, queue_index: QueueIndex, now: int) -> None:
    """Serve a queue of a switch's port: one frame, then the service-rate limiter waits.

    Frames that the congestion point drops on their way out take no time: the next one follows.
    """
    queue = w.queues[queue_index]
    while queue.frames > 0:
        index = pop_frame(w, queue)
        dropped = leave_buffer(w, queue_index, index, now)
        if queue.crossbar != 0:
            on_output_departure(w, queue_index, index, now)
        if not dropped:
            send_popped(w, port_index, queue, index, now)
            return
        drop_dequeued(w, queue, index)


@compiled
def is_own_turn(w: World, lane: Lane) -> int:
    """Take the turn of a lane with a ready flow; True if that flow sends, not the lane's queue."""
    own = takes_own(w, lane)
    if lane.queue != NONE and w.queues[lane.queue].frames > 0:
        lane.own_turn = 1 - lane.own_turn
    return own


@inlined
def send_from_lane(w: World, port_index: PortIndex, lane: Lane, now: int) -> None:
    """A lane of a free port that may send sends one frame."""
    port = w.ports[port_index]
    sent, lost = port.bytes_out, port.frames_lost
    if lane.ready_head != NONE and is_own_turn(w, lane):
        send_ready_flow(w, port_index, lane, now)
    else:
        send_from_queue(w, port_index, lane.queue, now)
    if lane.granted != NEVER and port.frames_lost == lost:
        use_credit(w, port_index, lane, port.bytes_out - sent, now)


@inlined
def next_lane(w: World, port: Port, now: int) -> LaneIndex:
    """The next lane of a port, by turns, that can send a frame; NONE: none can."""
    lanes = w.clock[0].lanes
    place = port.turn
    for _ in range(lanes):
        index = port.first_lane + place
        place += 1
        if place == lanes:
            place = 0
        if next_departure(w, port, w.lanes[index]) <= now:
            port.turn = place
            return index
    return NONE


@compiled
def send_flow_scheduled(w: World, port_index: PortIndex, now: int) -> None:
    """The next lane that can sends a frame: of its ready flows, the one that its scheduler chooses.

    Where a host forwards, frames of others in the lane's queue pass the scheduler by.
    """
    port = w.ports[port_index]
    chosen = next_lane(w, port, now)
    if chosen == NONE:
        return
    lane = w.lanes[chosen]
    if lane.ready_head == NONE or not takes_own(w, lane):
        send_from_lane(w, port_index, lane, now)
        return
    scheduler = w.schedulers[port.scheduler - 1 + chosen - port.first_lane]
    flow_index = choose_flow(w, scheduler, lane, now)
    before = port.bytes_out
    send_from_lane(w, port_index, lane, now)
    scheduler.sent = port.bytes_out - before
    if scheduler.sent > 0:  # 0: there was no descriptor
        if not has_more_of_class(w, port, lane, flow_index, now):
            scheduler.backlogged &= ~(1 << w.flows[flow_index].flow_class)
        report_sent(w, scheduler, now)


@compiled
def report_sent(w: World, scheduler: Scheduler, now: int) -> None:
    """Tell a scheduler that the frame of its choice was sent."""
    spare = w.frames[w.frames.size - 1]
    kernel_calls.call_time_kernel(
        w, scheduler.algorithm, SCHEDULER_SENT, scheduler, spare, now, spare
    )


@compiled
def send_scheduled(w: World, port_index: PortIndex, now: int) -> None:
    """The lane that a port's scheduler chooses sends a frame, if one may."""
    port = w.ports[port_index]
    if w.schedulers[port.scheduler - 1].of_flows != 0:
        send_flow_scheduled(w, port_index, now)
        return
    chosen = choose_lane(w, port, now)
    if chosen == NONE:
        return
    lane = w.lanes[chosen]
    before, flow_index = port.bytes_out, NONE
    if lane.ready_head != NONE and takes_own(w, lane):
        flow_index = find_next_flow(w, lane)[0]
    send_from_lane(w, port_index, lane, now)
    scheduler = w.schedulers[port.scheduler - 1]
    scheduler.sent = port.bytes_out - before
    if scheduler.sent > 0:  # 0: the congestion point dropped all that the lane had
        if not has_more(w, port, lane, flow_index, now):
            scheduler.backlogged &= ~(1 << scheduler.priority[chosen - port.first_lane])
        report_sent(w, scheduler, now)


@inlined
def send_data(w: World, port_index: PortIndex, now: int) -> None:
    """The next lane that can sends a frame: lanes take turns, unless the port has a scheduler."""
    port = w.ports[port_index]
    if port.scheduler != 0:
        send_scheduled(w, port_index, now)
        return
    chosen = next_lane(w, port, now)
    if chosen != NONE:
        send_from_lane(w, port_index, w.lanes[chosen], now)


@compiled
def serve(w: World, port_index: PortIndex, now: int) -> None:
    """Send what may be sent now, then wake for the next chance (or not, when nothing waits)."""
    port = w.ports[port_index]
    if port.control_head != NONE:
        if now >= control_departure(w, port):
            transmit(w, port_index, pop_control(w, port_index), now)
    elif now >= max(port.free_at, port.paused_until):
        send_data(w, port_index, now)
    schedule_port(w, port_index)
