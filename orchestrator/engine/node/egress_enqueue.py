"""Egress enqueue: a data frame enters the queue before an output port."""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.frames.frame_layout import TAG_OCTETS, VLAN
from orchestrator.engine.index_types import FrameIndex, PortIndex, QueueIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.kernel_answers import DROP, LANE
from orchestrator.engine.lfsr import mixed
from orchestrator.engine.node.buffer import call_arrival_kernel, count_mark, enter_buffer
from orchestrator.engine.node.buffer_occupancy import allocate_cells, free_cells
from orchestrator.engine.node.control_frames import push_control
from orchestrator.engine.node.crossbar import leave_input, on_output_departure
from orchestrator.engine.node.crossbar_grants import grant
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.egress_queue import append_frame
from orchestrator.engine.node.lane_flow_control import lane_index
from orchestrator.engine.node.lazy_egress import sync_egress
from orchestrator.engine.node.port_scheduler import serve
from orchestrator.engine.node.probe_handling import call_notification_point
from orchestrator.engine.node.shared_memory import buffer_limit
from orchestrator.engine.node.telemetry_stamping import reserve_stamps
from orchestrator.engine.node.transmitter import cached_wire_time, on_wire
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import CE, DROPS, HOST, NONE, TRIMMED, Queue


@inlined
def call_observers(w: World, queue_index: QueueIndex, index: FrameIndex, now: int) -> int:
    """Call the algorithms that observe the queue of an output for a data frame that arrives.

    Returns DROP, TRIM or LANE and a priority when its congestion point does that to it, or its
    watchdog drops all, and no other algorithm sees it; else 0.
    """
    queue = w.queues[queue_index]
    frame = w.frames[index]
    queue.frames_in += 1
    if queue.stance == DROPS:
        return DROP
    if queue.congestion_point != NONE:
        head = queue.head if queue.frames > 0 else NONE
        answer = call_arrival_kernel(w, queue_index, index, head, now)
        if answer != 0:
            return answer
    if queue.notification_point != NONE:
        mark = frame.mark
        call_notification_point(w, queue.notification_point, queue.port, index, now)
        if frame.mark & ~mark != 0:
            count_mark(w, queue, frame, mark)
    return 0


@compiled
def trim_frame(w: World, index: FrameIndex) -> None:
    """Of a data frame its header is left, which says how long it was."""
    frame = w.frames[index]
    length, sequence, created = frame.length, frame.sequence, frame.created
    mark, hops, octets = frame.mark, frame.hops, w.types[TRIMMED].octets
    entropy = frame.inner
    reset_descriptor(
        frame, TRIMMED, octets, frame.priority, frame.flow, frame.source, frame.destination
    )
    frame.sequence = sequence
    frame.created = created
    frame.mark = mark
    frame.hops = hops
    frame.offset = length
    frame.inner = entropy
    if w.stamps.shape[0] > 1:
        reserve_stamps(w, index, 0)


@compiled
def drop_or_trim(
    w: World,
    port_index: PortIndex,
    queue_index: QueueIndex,
    index: FrameIndex,
    answer: int,
    now: int,
) -> None:
    """The congestion point or watchdog of an output drops or trims a frame, which may have room
    elsewhere to give. What is left of a trimmed one goes on past the queue, as control frames do.
    """
    queue = w.queues[queue_index]
    if queue.crossbar != 0:
        on_output_departure(w, queue_index, index, now)
    if answer == DROP:
        queue.frames_dropped_early += 1
        give_back(w, index)
        return
    queue.frames_trimmed += 1
    trim_frame(w, index)
    push_control(w, port_index, index, now)


@compiled
def leave_lane(w: World, queue_index: QueueIndex, index: FrameIndex, priority: int) -> None:
    """A frame has another priority from here on: in its DSCP where that says the priority, else in
    the tags of its octets, where there are any."""
    queue, frame = w.queues[queue_index], w.frames[index]
    queue.frames_moved += 1
    frame.priority = priority
    if w.nodes[w.ports[queue.port].node].classifier != 0:
        frame.mark = (w.dscp_maps[0, priority] << 2) | (frame.mark & CE)
    elif w.octets.shape[0] > 1:
        tags = 1 if frame.kind == HOST else w.types[frame.kind].pcp_tags
        for tag in range(tags):
            place = VLAN + TAG_OCTETS * tag + 2
            w.octets[index, place] = (w.octets[index, place] & 0x1F) | (priority << 5)


@compiled
def change_lane(
    w: World,
    port_index: PortIndex,
    queue_index: QueueIndex,
    index: FrameIndex,
    priority: int,
    now: int,
) -> None:
    """The congestion point of an output sends a frame on in another lane of its port.

    The observers of that lane see it as any frame that arrives, but it stays there: no frame
    changes lanes twice at a port. No room was promised to it, and that promised
    to others is theirs.
    """
    leave_lane(w, queue_index, index, priority)
    other_index = w.lanes[lane_index(w, port_index, w.frames[index])].queue
    other = w.queues[other_index]
    answer = call_observers(w, other_index, index, now)
    if answer != 0 and answer < LANE:
        drop_or_trim(w, port_index, other_index, index, answer, now)
    elif other.bytes + other.reserved + w.frames[index].length > buffer_limit(
        w, other_index, index, now
    ):
        other.frames_dropped += 1
        if other.crossbar != 0:
            on_output_departure(w, other_index, index, now)
        give_back(w, index)
    else:
        append_to_lane(w, port_index, other_index, index, now)
    if w.queues[queue_index].crossbar != 0:
        grant(w, queue_index, now)


@compiled
def insert_into_egress(w: World, queue: Queue, index: FrameIndex) -> FrameIndex:
    """A frame takes the place and the room of the last one of a queue, which is as long and is
    returned: it is in no list any more."""
    last = queue.tail
    frame = w.frames[index]
    frame.next = NONE
    frame.entered = w.frames[last].entered
    if queue.frames == 1:
        queue.head = index
    else:
        w.frames[queue.before_tail].next = index
    queue.tail = index
    if queue.units > 0:
        free_cells(w, queue, last)
        allocate_cells(w, queue, index)
    return last


@compiled
def without_room(
    w: World, port_index: PortIndex, queue_index: QueueIndex, index: FrameIndex, now: int
) -> FrameIndex:
    """A frame finds its queue full: which frame is dropped, this one or the last one there.

    A frame leaves a full queue, and the next to come has its room. Were that all, then of sources
    at equal distances the same one would be the next to come for ever (phase effects: Floyd and
    Jacobson, 1991). The time that a switch takes to receive a frame and to find its port varies by
    about that of a frame, so what comes within it comes in any order: which of the frames of these
    flows is kept is drawn, each is as likely. A frame that was kept for longer, or is of another
    length, stays. What is drawn depends on the plan's seed, the queue and the two frames, and on
    nothing before: the oracle finds the same though it has no time to the ps.
    """
    if w.queues[queue_index].crossbar != 0:
        return index
    if wins_contended_slot(w, port_index, queue_index, index, now):
        return insert_into_egress(w, w.queues[queue_index], index)
    return index


@compiled
def wins_contended_slot(
    w: World, port_index: PortIndex, queue_index: QueueIndex, index: FrameIndex, now: int
) -> bool:
    """Draw whether a frame that finds its queue full takes the place of the last one there."""
    queue = w.queues[queue_index]
    if queue.order_key == 0 or queue.frames == 0:
        return False
    last, frame = w.frames[queue.tail], w.frames[index]
    if last.flow == frame.flow or last.length != frame.length:
        return False
    port = w.ports[port_index]
    span = cached_wire_time(queue, frame.length, queue.service_rate)
    if now - last.entered >= max(span, on_wire(port, frame.length + port.overhead)):
        return False
    if queue.contested != last.entered:
        queue.contested = last.entered
        queue.contenders = 1
    queue.contenders += 1
    lot = mixed(mixed(queue.order_key, frame.flow, frame.sequence), last.flow, last.sequence)
    return lot % queue.contenders == 0


@compiled
def replace_in_shared_memory(
    w: World,
    port_index: PortIndex,
    queue_index: QueueIndex,
    input_queue: QueueIndex,
    index: FrameIndex,
    now: int,
) -> bool:
    """Let a frame that finds shared memory or its output full contend with the output's last frame.

    Returns True if the frame took that place, with the room at its own input; the other frame left
    its input and is dropped. Headroom is not traded: its frames are lossless.
    """
    queue = w.queues[queue_index]
    if queue.frames == 0:
        return False
    held = w.frames[queue.tail].held
    if held == NONE or w.queues[held].headroom != 0 or w.queues[input_queue].headroom != 0:
        return False
    if not wins_contended_slot(w, port_index, queue_index, index, now):
        return False
    frame = w.frames[index]
    last = insert_into_egress(w, queue, index)
    entered = frame.entered
    leave_input(w, last, now)
    give_back(w, last)
    frame.held = input_queue
    frame.original = NONE
    w.nodes[w.ports[port_index].node].shared_bytes += frame.length
    enter_buffer(w, input_queue, index, now)
    frame.entered = entered
    return True


@inlined
def enqueue(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """A data frame enters the queue of a switch's output port: sample, then keep or drop it.

    What an output granted was promised room: a frame that waited for an earlier one of its flow
    meanwhile is kept even when others have taken it.
    """
    queue_index = w.lanes[lane_index(w, port_index, w.frames[index])].queue
    queue = w.queues[queue_index]
    sync_egress(w, port_index, now)
    answer = call_observers(w, queue_index, index, now)
    if answer != 0:
        if answer >= LANE:
            change_lane(w, port_index, queue_index, index, answer - LANE, now)
        else:
            drop_or_trim(w, port_index, queue_index, index, answer, now)
        return
    if queue.bytes + w.frames[index].length > queue.capacity:
        promised = queue.crossbar & w.ports[port_index].in_order
        if promised == 0:
            queue.frames_dropped += 1
            give_back(w, without_room(w, port_index, queue_index, index, now))
            return
    append_to_lane(w, port_index, queue_index, index, now)


@inlined
def append_to_lane(
    w: World, port_index: PortIndex, queue_index: QueueIndex, index: FrameIndex, now: int
) -> None:
    """A frame takes its place behind those of its lane, whose port may send it at once."""
    queue = w.queues[queue_index]
    queue.before_tail = queue.tail
    append_frame(w, queue, index)
    enter_buffer(w, queue_index, index, now)
    if queue.frames == 1:
        serve(w, port_index, now)


@compiled
def enqueue_outlined(w: World, port_index: PortIndex, index: FrameIndex, now: int) -> None:
    """`enqueue`, for those to whom a call is nothing."""
    enqueue(w, port_index, index, now)
