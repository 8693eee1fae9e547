"""Transfers of frames from an input to an output of a crossbar, and the wakes at their end.

When a frame is granted it is known when its transfer begins, ends and reaches the output. So all of
that is recorded at once, and needs an event only if an algorithm observes it.

- The end of a transfer frees room at the input. While an input is calm (it does not pause its
  upstream neighbour, and its algorithms allow it), freeing its buffer has no side effect, so it is
  deferred until the buffer is next read: by a frame that arrives, a timer, a command, a sample.
- The arrival of a frame at an output which is late (`lazy_egress`) has no effect before the
  output is read. Frames from all inputs are merged into one list, in the order of the events
  that there would be: by time, and of one time by the input's number.
- A late output that a virtual output queue waits for wakes for each frame that leaves. One that
  would leave the moment that it arrives does so in an event of its input.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, InputIndex, QueueIndex
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.actors import goes_first, input_actor
from orchestrator.engine.node.buffer_occupancy import free_cells, release_octets
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NEVER, NONE, Frame


@compiled
def schedule_input(w: World, input_index: InputIndex) -> None:
    """Let the input wake for the end of a transfer or for a frame that reaches its output."""
    side = w.inputs[input_index]
    buffer = w.queues[side.first_queue]
    time = NEVER
    if side.moving_head != NONE and buffer.calm <= buffer.pausing:
        time = w.frames[side.moving_head].due - side.latency
    if side.fly_head != NONE:
        time = min(time, w.frames[side.fly_head].due)
    awaiting = side.awaits_head
    while awaiting != NONE:
        queue = w.queues[awaiting]
        if queue.fly_head != NONE and w.frames[queue.fly_head].side == input_index:
            time = min(time, w.frames[queue.fly_head].due)
        awaiting = queue.awaits_next
    wake_at(w, input_actor(w, input_index), time)


@compiled
def sync_input_until(w: World, input_index: InputIndex, until: int) -> None:
    """Free the room of frames of a calm input whose transfers end by `until` (ps, inclusive)."""
    side = w.inputs[input_index]
    while side.moving_head != NONE:
        index = side.moving_head
        frame = w.frames[index]
        if frame.due - side.latency > until:
            return
        side.moving_head = frame.behind
        queue = w.queues[frame.held]
        frame.held = NONE
        release_octets(queue, frame.length)
        if queue.units > 0:
            free_cells(w, queue, index)


@inlined
def sync_input(w: World, input_index: InputIndex, now: int) -> None:
    """Bring an input up to the event that is under way, where it does not wake by itself."""
    buffer = w.queues[w.inputs[input_index].first_queue]
    if buffer.calm > buffer.pausing:
        is_over = goes_first(input_actor(w, input_index), w.clock[0].actor)
        sync_input_until(w, input_index, now if is_over else now - 1)


@inlined
def is_before(one: Frame, other: Frame) -> bool:
    """True if one of two frames from different inputs reaches their output first."""
    return one.due < other.due or (one.due == other.due and one.side < other.side)


@compiled
def insert_in_transit(w: World, queue_index: QueueIndex, index: FrameIndex) -> None:
    """Put a frame among those on their way to a late output."""
    queue = w.queues[queue_index]
    frame = w.frames[index]
    frame.next = NONE
    if queue.fly_head == NONE:
        queue.fly_head = index
        queue.fly_tail = index
    elif not is_before(frame, w.frames[queue.fly_tail]):
        w.frames[queue.fly_tail].next = index
        queue.fly_tail = index
    elif is_before(frame, w.frames[queue.fly_head]):
        frame.next = queue.fly_head
        queue.fly_head = index
    else:
        before = queue.fly_head
        while not is_before(frame, w.frames[w.frames[before].next]):
            before = w.frames[before].next
        frame.next = w.frames[before].next
        w.frames[before].next = index


@compiled
def cancel_arrival_wakeup(w: World, queue_index: QueueIndex) -> None:
    """No input wakes for an output any more."""
    queue = w.queues[queue_index]
    if queue.awaited == NONE:
        return
    side = w.inputs[queue.awaited]
    queue.awaited = NONE
    if side.awaits_head == queue_index:
        side.awaits_head = queue.awaits_next
        return
    before = side.awaits_head
    while w.queues[before].awaits_next != queue_index:
        before = w.queues[before].awaits_next
    w.queues[before].awaits_next = queue.awaits_next


@compiled
def schedule_first_transit(w: World, queue_index: QueueIndex) -> None:
    """The input of the first frame on its way to a late output wakes when it gets there."""
    queue = w.queues[queue_index]
    input_index = w.frames[queue.fly_head].side
    if queue.awaited != input_index:
        cancel_arrival_wakeup(w, queue_index)
        side = w.inputs[input_index]
        queue.awaited = input_index
        queue.awaits_next = side.awaits_head
        side.awaits_head = queue_index
    schedule_input(w, input_index)
