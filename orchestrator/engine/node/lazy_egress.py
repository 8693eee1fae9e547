"""Lazy egress: departures are computed on demand instead of one event per frame.

Where the algorithms of a port's queue have nothing to do for a frame that leaves it, and the frame
is only counted where it arrives (`engine.node.ahead`), its start of transfer has no effect before
the queue or the port is read. So such a port (`late`) does not wake for it. An event that reads
it, a frame that arrives, a control frame, a PAUSE, a timer of the queue, a command, a sample,
first has it catch up: the frames that would have left by then leave, one after the other, each
at the instant at which the port could have sent it.

Behind inputs (`engine.node.transfer`) frames reach such a port without an event as well. A request
for a grant reads it. A frame that leaves matters to virtual output queues that wait for a grant:
as long as one waits, the port wakes for each frame.

Of events at one time the lower actor goes first. A start of transfer at the very time of an event
precedes it if the port's actor has the lower number, and follows it otherwise; that a
frame reached the port, likewise by the actor of its input.
"""

from __future__ import annotations

from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.buffer_occupancy import release_octets
from orchestrator.engine.node.crossbar_transfer import input_actor, sync_input_until
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.event_queue import LINES
from orchestrator.engine.node.transmitter import cached_wire_time, transmit
from orchestrator.engine.records import LAZINESS_DISABLED, LAZY, NEVER, NONE


@inlined
def port_actor(w, port_index):
    """Actor number of a port: after the lines and the queues."""
    return LINES + w.ports.size + w.queues.size + port_index


@inlined
def send_lazy_head(w, port_index, queue, time):
    """The first frame of a late port's queue leaves."""
    index = queue.head
    frame = w.frames[index]
    queue.head = frame.next
    release_octets(queue, frame.length)
    w.ports[port_index].next_service = time + cached_wire_time(
        queue, frame.length, queue.service_rate
    )
    transmit(w, port_index, index, time)


@inlined
def free_at(port, lane):
    """Time at which a late port could send data, if there is some (ps)."""
    return max(port.free_at, port.paused_until, lane.paused_until, port.next_service)


@compiled
def send_lazily_until(w, port_index, until):
    """Let a late port send what it could start to send up to `until` (ps, inclusive)."""
    port = w.ports[port_index]
    lane = w.lanes[port.first_lane]
    queue = w.queues[lane.queue]
    while queue.frames > 0 and port.control_head == NONE:
        time = free_at(port, lane)
        if time > until:
            return
        send_lazy_head(w, port_index, queue, time)


@inlined
def arrive_at_lazy_output(w, queue):
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
    frame.next = NONE
    if queue.frames == 0:
        queue.head = index
    else:
        w.frames[queue.tail].next = index
    queue.tail = index
    queue.frames += 1
    queue.bytes += frame.length
    queue.bytes_max = max(queue.bytes_max, queue.bytes)
    frame.entered = frame.due


@inlined
def wakes_for_data(port, queue):
    """True if a late output behind inputs wakes for each frame that leaves it."""
    return queue.request_head != NONE or port.late == LAZINESS_DISABLED


@compiled
def forward_lazily_until(w, port_index, until, actor):
    """Let frames reach a late output behind inputs and leave it, all that would be before an event
    of `actor` at `until` (ps). What it wakes for it leaves alone."""
    port = w.ports[port_index]
    lane = w.lanes[port.first_lane]
    queue = w.queues[lane.queue]
    sends = port.control_head == NONE and not wakes_for_data(port, queue)
    while True:
        time = free_at(port, lane) if sends and queue.frames > 0 else NEVER
        if queue.fly_head != NONE and w.frames[queue.fly_head].due < time:
            first = w.frames[queue.fly_head]
            time = first.due
            if time > until or (time == until and input_actor(w, first.side) >= actor):
                return
            arrive_at_lazy_output(w, queue)
            if not sends or queue.frames != 1 or free_at(port, lane) > time:
                continue
        elif time > until or (time == until and port_actor(w, port_index) >= actor):
            return
        send_lazy_head(w, port_index, queue, time)


@inlined
def sync_egress(w, port_index, now):
    """Bring a port up to the event that is under way, where it is late."""
    late = w.ports[port_index].late
    if late == LAZY:
        is_over = port_actor(w, port_index) < w.clock[0].actor
        send_lazily_until(w, port_index, now if is_over else now - 1)
    elif late != 0:
        forward_lazily_until(w, port_index, now, w.clock[0].actor)


@compiled
def sync_all_egress(w, until):
    """Bring all late ports and calm inputs up to `until` (ps, inclusive)."""
    if w.clock[0].late != 0:
        for port_index in range(w.ports.size):
            late = w.ports[port_index].late
            if late == LAZY:
                send_lazily_until(w, port_index, until)
            elif late != 0:
                forward_lazily_until(w, port_index, until, NEVER)
        for input_index in range(w.inputs.size):
            buffer = w.queues[w.inputs[input_index].first_queue]
            if buffer.calm > buffer.pausing:
                sync_input_until(w, input_index, until)
