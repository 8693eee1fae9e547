"""A data frame enters the queue before an output port."""

from __future__ import annotations

from orchestrator.engine.events import CP_ARRIVAL
from orchestrator.engine.frames.blank import nothing_said
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node import kernels
from orchestrator.engine.node.buffer import notify_source, put
from orchestrator.engine.node.lane import lane_index
from orchestrator.engine.node.pool import give_back
from orchestrator.engine.node.port import serve
from orchestrator.engine.node.probes import notify
from orchestrator.engine.records import CNM, NONE


@inlined
def see(w, queue_index, index, now):  # type: ignore[no-untyped-def]
    """A data frame comes to the queue of an output: the algorithms that watch it see it."""
    queue = w.queues[queue_index]
    frame = w.frames[index]
    spare = w.frames[w.frames.size - 1]
    queue.frames_in += 1
    if queue.congestion_point != NONE:
        nothing_said(spare, CNM)
        mark = frame.mark
        notified = kernels.on_frame(w, queue.congestion_point, CP_ARRIVAL, queue, frame, now, spare)
        if frame.mark != mark:
            frame.mark &= 0xFF  # TOS has no more
            queue.frames_marked += 1
        if notified != 0:
            notify_source(
                w, queue_index, notified, index, queue.head if queue.frames > 0 else NONE, now
            )
    if queue.notification_point != NONE:
        notify(w, queue.notification_point, queue.port, index, now)


@inlined
def enqueue(w, port_index, index, now):  # type: ignore[no-untyped-def]
    """A data frame enters the queue of a switch's output port: sample, then keep or drop it.

    What an output granted was promised room: a frame that waited for an earlier one of its flow
    meanwhile is kept even when others have taken it.
    """
    queue_index = w.lanes[lane_index(w, port_index, w.frames[index])].queue
    queue = w.queues[queue_index]
    frame = w.frames[index]
    see(w, queue_index, index, now)
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
