"""Queue of an output as a list of frames: one way in, one way out, for eager and lazy ports alike.

The algorithms that observe the queue are called by the callers (`engine.node.buffer`).
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, PortIndex
from orchestrator.engine.jit import inlined
from orchestrator.engine.node.transmitter import cached_wire_time, transmit
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE, Queue


@inlined
def append_frame(w: World, queue: Queue, index: FrameIndex) -> None:
    """Put a frame behind the others of a queue; the caller then counts it."""
    w.frames[index].next = NONE
    if queue.frames == 0:
        queue.head = index
    else:
        w.frames[queue.tail].next = index
    queue.tail = index


@inlined
def pop_frame(w: World, queue: Queue) -> FrameIndex:
    """Take the first frame out of a queue; the caller then counts it. Returns its index."""
    index = queue.head
    queue.head = w.frames[index].next
    return index


@inlined
def send_popped(w: World, port_index: PortIndex, queue: Queue, index: FrameIndex, now: int) -> None:
    """Send a frame that was the first of a queue; then the service-rate limiter waits."""
    w.ports[port_index].next_service = now + cached_wire_time(
        queue, w.frames[index].length, queue.service_rate
    )
    transmit(w, port_index, index, now)
