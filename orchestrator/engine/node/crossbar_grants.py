"""Grants of a crossbar's outputs to virtual output queues, and the transfers that they begin.

When a frame is granted its whole transfer is timed at once (`crossbar_transfer`).
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, InputIndex, PortIndex, QueueIndex, VoqIndex
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.buffer import enter_buffer
from orchestrator.engine.node.crossbar_transfer import insert_in_transit, schedule_input
from orchestrator.engine.node.lazy_egress import (
    schedule_port_outlined,
    sync_egress,
    wakes_for_data,
)
from orchestrator.engine.node.transmitter import cached_wire_time
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE, Queue, Voq


@compiled
def transfer(w: World, input_index: InputIndex, index: FrameIndex, now: int) -> None:
    """A granted frame is transferred when its input has sent what was granted before."""
    side = w.inputs[input_index]
    frame = w.frames[index]
    side.free_at = max(side.free_at, now) + cached_wire_time(side, frame.length, side.rate)
    frame.due = side.free_at + side.latency
    frame.side = input_index
    frame.behind = NONE
    if side.moving_head == NONE:
        side.moving_head = index
    else:
        w.frames[side.moving_tail].behind = index
    side.moving_tail = index
    if w.ports[frame.port].late != 0:
        insert_in_transit(w, w.lanes[w.ports[frame.port].first_lane].queue, index)
    else:
        frame.next = NONE
        if side.fly_head == NONE:
            side.fly_head = index
        else:
            w.frames[side.fly_tail].next = index
        side.fly_tail = index
    schedule_input(w, input_index)


@compiled
def queue_for_grant(w: World, voq_index: VoqIndex) -> None:
    """A virtual output queue asks its output for a grant: it is the last one to get a turn."""
    voq = w.voqs[voq_index]
    queue = w.queues[voq.queue]
    voq.next = NONE
    if queue.request_head == NONE:
        queue.request_head = voq_index
    else:
        w.voqs[queue.request_tail].next = voq_index
    queue.request_tail = voq_index


@compiled
def grant(w: World, queue_index: QueueIndex, now: int) -> None:
    """Grant the virtual output queues that asked, in turn, while the output has room."""
    queue = w.queues[queue_index]
    while queue.request_head != NONE:
        voq_index = queue.request_head
        voq = w.voqs[voq_index]
        index = voq.head
        frame = w.frames[index]
        if queue.bytes + queue.reserved + frame.length > queue.capacity:
            return
        queue.request_head = voq.next
        queue.reserved += frame.length
        voq.head = frame.next
        if voq.head != NONE:
            queue_for_grant(w, voq_index)
        transfer(w, voq.input, index, now)


@inlined
def enter_input(
    w: World, queue: Queue, queue_index: QueueIndex, index: FrameIndex, now: int
) -> None:
    """A frame takes its room in the buffer of an input. While the buffer pauses its neighbour it is
    not calm: each end of a transfer matters."""
    enter_buffer(w, queue_index, index, now)
    if queue.pausing != 0:
        schedule_input(w, queue.input)


@inlined
def request_grant(w: World, voq: Voq, voq_index: VoqIndex, way: PortIndex, now: int) -> None:
    """A virtual output queue that was empty asks the port `way` for a grant.

    A lazy output wakes for frames that leave it while a queue waits for its grant.
    """
    sync_egress(w, way, now)
    queue_for_grant(w, voq_index)
    grant(w, voq.queue, now)
    port = w.ports[way]
    if port.late != 0 and wakes_for_data(port, w.queues[voq.queue]):
        schedule_port_outlined(w, way)
