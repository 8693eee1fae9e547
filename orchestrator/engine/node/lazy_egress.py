"""Lazy egress: departures are computed on demand instead of one event per frame.

Where the algorithms of a port's queue have nothing to do for a frame that leaves it, and the frame
is only counted where it arrives (`early_delivery`), its start of transfer has no effect before
the queue or the port is read. So such a port (`late`) does not wake for it. An event that reads
it, a frame that arrives, a control frame, a PAUSE, a timer of the queue, a command, a sample,
first has it catch up: the frames that would have left by then leave, one after the other, each
at the instant at which the port could have sent it.

Behind inputs (`crossbar_transfer`) frames reach such a port without an event as well. A request
for a grant reads it. A frame that leaves matters to virtual output queues that wait for a grant:
as long as one waits, the port wakes for each frame.
"""

from __future__ import annotations

from orchestrator.engine.index_types import ActorIndex, PortIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.actors import goes_first, input_actor, port_actor
from orchestrator.engine.node.buffer_occupancy import occupy_octets, release_octets
from orchestrator.engine.node.crossbar_transfer import (
    schedule_first_transit,
    sync_input_until,
)
from orchestrator.engine.node.departure_time import (
    control_departure,
    next_departure,
    queue_departure,
)
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.egress_queue import append_frame, pop_frame, send_popped
from orchestrator.engine.node.event_queue import wake_at, wake_time
from orchestrator.engine.node.local_timers import set_port_timer
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import LAZINESS_DISABLED, LAZY, NEVER, NONE, Port, Queue


@inlined
def send_lazy_head(w: World, port_index: PortIndex, queue: Queue, time: int) -> None:
    """The first frame of a late port's queue leaves."""
    index = pop_frame(w, queue)
    release_octets(queue, w.frames[index].length)
    send_popped(w, port_index, queue, index, time)


@compiled
def send_lazily_until(w: World, port_index: PortIndex, until: int) -> None:
    """Let a late port send what it could start to send up to `until` (ps, inclusive)."""
    port = w.ports[port_index]
    lane = w.lanes[port.first_lane]
    queue = w.queues[lane.queue]
    while queue.frames > 0 and port.control_head == NONE:
        time = queue_departure(port, lane)
        if time > until:
            return
        send_lazy_head(w, port_index, queue, time)


@inlined
def arrive_at_lazy_output(w: World, queue: Queue) -> None:
    """The first frame on its way to a late output is there: it is kept or dropped."""
    index = queue.fly_head
    frame = w.frames[index]
    if frame.held != NONE:
        sync_input_until(w, frame.side, frame.due)
    queue.fly_head = frame.next
    queue.reserved -= frame.length
    queue.frames_in += 1
    if queue.bytes + frame.length > queue.capacity:
        queue.frames_dropped += 1
        give_back(w, index)
        return
    append_frame(w, queue, index)
    occupy_octets(queue, frame, frame.due)


@inlined
def wakes_for_data(port: Port, queue: Queue) -> bool:
    """True if a late output behind inputs wakes for each frame that leaves it."""
    return queue.request_head != NONE or port.late == LAZINESS_DISABLED


@compiled
def forward_lazily_until(w: World, port_index: PortIndex, until: int, actor: ActorIndex) -> None:
    """Let frames reach a late output behind inputs and leave it, all that would be before an event
    of `actor` at `until` (ps). What it wakes for it leaves alone."""
    port = w.ports[port_index]
    lane = w.lanes[port.first_lane]
    queue = w.queues[lane.queue]
    sends = port.control_head == NONE and not wakes_for_data(port, queue)
    while True:
        time = queue_departure(port, lane) if sends and queue.frames > 0 else NEVER
        if queue.fly_head != NONE and w.frames[queue.fly_head].due < time:
            first = w.frames[queue.fly_head]
            time = first.due
            if time > until or (
                time == until and not goes_first(input_actor(w, first.side), actor)
            ):
                return
            arrive_at_lazy_output(w, queue)
            if not sends or queue.frames != 1 or queue_departure(port, lane) > time:
                continue
        elif time > until or (time == until and not goes_first(port_actor(w, port_index), actor)):
            return
        send_lazy_head(w, port_index, queue, time)


@inlined
def sync_egress(w: World, port_index: PortIndex, now: int) -> None:
    """Bring a port up to the event that is under way, where it is late."""
    late = w.ports[port_index].late
    if late == LAZY:
        is_over = goes_first(port_actor(w, port_index), w.clock[0].actor)
        send_lazily_until(w, port_index, now if is_over else now - 1)
    elif late != 0:
        forward_lazily_until(w, port_index, now, w.clock[0].actor)


@compiled
def sync_all_egress(w: World, until: int) -> None:
    """Bring all late ports and calm inputs up to `until` (ps, inclusive)."""
    if w.clock[0].late != 0:
        for port_index in range(w.ports.size):
            late = w.ports[port_index].late
            if late == LAZY:
                send_lazily_until(w, port_index, until)
            elif late != 0:
                forward_lazily_until(w, port_index, until, NEVER)  # type: ignore[arg-type]
        for input_index in range(w.inputs.size):
            buffer = w.queues[w.inputs[input_index].first_queue]
            if buffer.calm > buffer.pausing:
                sync_input_until(w, input_index, until)


@compiled
def first_to_leave(w: World, port_index: PortIndex) -> int:
    """Wake time of a late output behind inputs for data; NEVER when no queue waits for it, or it
    has no frame. For a frame that leaves the moment that it arrives, its input wakes instead."""
    port = w.ports[port_index]
    lane = w.lanes[port.first_lane]
    queue = w.queues[lane.queue]
    if not wakes_for_data(port, queue) or (queue.frames == 0 and queue.fly_head == NONE):
        return NEVER
    time = queue_departure(port, lane)
    if queue.frames == 0 and time <= w.frames[queue.fly_head].due:
        schedule_first_transit(w, lane.queue)
        return NEVER
    return time


@inlined
def schedule_port(w: World, port_index: PortIndex) -> None:
    """Let a port wake for the next chance to send; one that is late, only for observable sends."""
    port = w.ports[port_index]
    time = NEVER
    if port.control_head != NONE:
        time = control_departure(w, port)
    elif port.late == 0:
        for lane_index in range(port.first_lane, port.first_lane + w.clock[0].lanes):
            time = min(time, next_departure(w, port, w.lanes[lane_index]))
    elif port.late != LAZY:
        time = first_to_leave(w, port_index)
    if port.entries != 0:
        set_port_timer(w, port_index, time)
    else:
        wake_at(w, port_actor(w, port_index), time)


@compiled
def schedule_port_outlined(w: World, port_index: PortIndex) -> None:
    """`schedule_port`, for callers to which the cost of a call is negligible."""
    schedule_port(w, port_index)


@inlined
def wake_port_by(w: World, port_index: PortIndex, time: int) -> None:
    """Let a port wake at `time` (ps) unless it wakes sooner."""
    port = w.ports[port_index]
    if port.entries != 0:
        set_port_timer(w, port_index, min(w.agenda[port.agenda].wake, time))
    else:
        actor = port_actor(w, port_index)
        wake_at(w, actor, min(wake_time(w, actor), time))
