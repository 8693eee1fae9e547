"""A data frame enters the queue before an output port."""

from __future__ import annotations

from orchestrator.engine.frames.blank import blank
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.buffer import DROP, count_mark, meet_arriving, put
from orchestrator.engine.node.control import push_control
from orchestrator.engine.node.crossbar import left_output
from orchestrator.engine.node.lane import lane_index
from orchestrator.engine.node.pool import give_back
from orchestrator.engine.node.port import serve
from orchestrator.engine.node.probes import notify
from orchestrator.engine.node.stamps import make_room
from orchestrator.engine.records import DROPS, NONE, TRIMMED


@inlined
def see(w, queue_index, index, now):  # type: ignore[no-untyped-def]
    """A data frame comes to the queue of an output: the algorithms that watch it see it.

    Returns DROP or TRIM when its congestion point does that to it, or its watchdog drops all, and
    nobody else sees it; else 0.
    """
    queue = w.queues[queue_index]
    frame = w.frames[index]
    queue.frames_in += 1
    if queue.stance == DROPS:
        return DROP
    if queue.congestion_point != NONE:
        head = queue.head if queue.frames > 0 else NONE
        answer = meet_arriving(w, queue_index, index, head, now)
        if answer != 0:
            return answer
    if queue.notification_point != NONE:
        mark = frame.mark
        notify(w, queue.notification_point, queue.port, index, now)
        if frame.mark & ~mark != 0:
            count_mark(queue, frame)
    return 0


@compiled
def cut(w, index):  # type: ignore[no-untyped-def]
    """Of a data frame its header is left, which says how long it was."""
    frame = w.frames[index]
    length, sequence, created = frame.length, frame.sequence, frame.created
    mark, hops, octets = frame.mark, frame.hops, w.types[TRIMMED].octets
    blank(frame, TRIMMED, octets, frame.priority, frame.flow, frame.source, frame.destination)
    frame.sequence = sequence
    frame.created = created
    frame.mark = mark
    frame.hops = hops
    frame.offset = length
    if w.stamps.shape[0] > 1:
        make_room(w, index, 0)


@compiled
def keep_out(w, port_index, queue_index, index, answer, now):  # type: ignore[no-untyped-def]
    """The congestion point or watchdog of an output drops or trims a frame, which may have room
    elsewhere to give. What is left of a trimmed one goes on past the queue, as control frames do.
    """
    queue = w.queues[queue_index]
    if queue.crossbar != 0:
        left_output(w, queue_index, index, now)
    if answer == DROP:
        queue.frames_dropped_early += 1
        give_back(w, index)
        return
    queue.frames_trimmed += 1
    cut(w, index)
    push_control(w, port_index, index, now)


@inlined
def enqueue(w, port_index, index, now):  # type: ignore[no-untyped-def]
    """A data frame enters the queue of a switch's output port: sample, then keep or drop it.

    What an output granted was promised room: a frame that waited for an earlier one of its flow
    meanwhile is kept even when others have taken it.
    """
    queue_index = w.lanes[lane_index(w, port_index, w.frames[index])].queue
    queue = w.queues[queue_index]
    frame = w.frames[index]
    answer = see(w, queue_index, index, now)
    if answer != 0:
        keep_out(w, port_index, queue_index, index, answer, now)
        return
    if queue.bytes + frame.length > queue.capacity:
        promised = queue.crossbar & w.ports[port_index].in_order
        if promised == 0:
            queue.frames_dropped += 1
            give_back(w, index)
            return
    frame.next = NONE
    if queue.frames == 0:
        queue.head = index
    else:
        w.frames[queue.tail].next = index
    queue.tail = index
    put(w, queue_index, index, now)
    if queue.frames == 1:
        serve(w, port_index, now)


@compiled
def enqueue_apart(w, port_index, index, now):  # type: ignore[no-untyped-def]
    """`enqueue`, for those to whom a call is nothing."""
    enqueue(w, port_index, index, now)
