"""Memory that the ports of a switch share: limits by buffer management, and headroom of ports.

A frame in shared memory counts at its input and at its output. Each of these buffers has its
`capacity` and, with buffer management, a `limit` below it that a kernel computes from the free
memory whenever a frame arrives. At an input a lossless frame above the limit, or for which the
memory has no room, lies in the headroom of its port. Headroom is no part of the shared memory: it
does not count in `shared_bytes`. A buffer gives its headroom back first, as switch chips do, so
that no frame needs a mark that says where it lies.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, PortIndex, QueueIndex
from orchestrator.engine.jit import compiled
from orchestrator.engine.kernel_events import BUFFER_LIMIT
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE


@compiled
def buffer_limit(w: World, queue_index: QueueIndex, index: FrameIndex, now: int) -> int:
    """Octets that a buffer may hold at a frame's arrival, or as it leaves."""
    queue = w.queues[queue_index]
    if queue.buffer_management == 0:
        return queue.capacity
    node = w.nodes[w.ports[queue.port].node]
    queue.free = max(node.shared_capacity - node.shared_bytes, 0)
    spare = w.frames[w.frames.size - 1]
    answer = kernel_calls.call_frame_kernel(
        w, queue.buffer_management - 1, BUFFER_LIMIT, queue, w.frames[index], now, spare
    )
    queue.limit = min(answer, queue.capacity)
    return queue.limit


@compiled
def has_output_room(
    w: World, port_index: PortIndex, priority: int, index: FrameIndex, now: int
) -> bool:
    """True if an output has room for a frame in the lane of a priority."""
    queue_index = w.lanes[w.ports[port_index].first_lane + w.lane_of[priority]].queue
    frame = w.frames[index]
    before, frame.priority = frame.priority, priority
    limit = buffer_limit(w, queue_index, index, now)
    frame.priority = before
    return w.queues[queue_index].bytes + frame.length <= limit


@compiled
def is_memory_full(w: World, queue_index: QueueIndex, octets: int) -> bool:
    """True if the memory of a buffer's switch has no room for so many octets more."""
    node = w.nodes[w.ports[w.queues[queue_index].port].node]
    return node.shared_bytes + octets > node.shared_capacity


@compiled
def exceeds_limit(w: World, queue_index: QueueIndex, index: FrameIndex, now: int) -> bool:
    """True if the buffer of an input has no room in shared memory for a frame that arrives."""
    queue = w.queues[queue_index]
    octets = w.frames[index].length
    return queue.bytes - queue.headroom + octets > buffer_limit(w, queue_index, index, now)


@compiled
def take_headroom(w: World, queue_index: QueueIndex, octets: int) -> bool:
    """Let a lossless lane of an input take headroom of its port. False: there is not so much, or
    the lane is lossy."""
    queue = w.queues[queue_index]
    side = w.inputs[queue.input]
    if queue.pause == NONE or side.headroom_bytes + octets > side.headroom_capacity:
        return False
    side.headroom_bytes += octets
    queue.headroom += octets
    return True


@compiled
def release_shared(w: World, queue_index: QueueIndex, index: FrameIndex, now: int) -> None:
    """A frame leaves shared memory: its octets are free again, those of headroom first.

    Where the input has a pause, its kernel `dequeue` sees the limit as it is then.
    """
    queue = w.queues[queue_index]
    octets = w.frames[index].length
    back = min(queue.headroom, octets)
    queue.headroom -= back
    w.inputs[queue.input].headroom_bytes -= back
    w.nodes[w.ports[queue.port].node].shared_bytes -= octets - back
    if queue.pause != NONE:
        buffer_limit(w, queue_index, index, now)
