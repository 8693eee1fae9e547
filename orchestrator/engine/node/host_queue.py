"""Host queue of a source: waiting frames as rows of `made`, without descriptors.

A descriptor has what happens to a frame on its way. Until it begins, all that a source of mode
FRAMES gives one of its frames beside what its flow knows is when it was made and how long it is;
its number is the next one to be sent. So a descriptor is taken when the frame is sent, and it is
one that was given back lately.
"""

from __future__ import annotations

from orchestrator.engine.frames.descriptor_reset import reset_descriptor
from orchestrator.engine.index_types import FlowIndex, FrameIndex, int64
from orchestrator.engine.jit import inlined, prefetch
from orchestrator.engine.node.descriptor_pool import take
from orchestrator.engine.node.telemetry_stamping import reserve_stamps
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import DATA, NONE, Flow


@inlined
def enter_host_queue(w: World, flow: Flow, now: int) -> bool:
    """A frame of `flow.length` is made and is the last one in the host queue. False, and counted:
    no row is unused."""
    clock = w.clock[0]
    row = clock.unmade
    if row == NONE:
        row = clock.made_used
        if row == w.made.size:
            clock.no_descriptor += 1
            return False
        clock.made_used = row + 1
    else:
        clock.unmade = w.made[row].next
    made = w.made[row]
    made.created = now
    made.next = NONE
    made.length = flow.length
    if flow.head == NONE:
        flow.head = row
    else:
        w.made[flow.tail].next = row
    flow.tail = row
    return True


@inlined
def leave_host_queue(w: World, flow_index: FlowIndex) -> FrameIndex:
    """The first frame leaves the host queue: its descriptor; NONE, and counted: there is none."""
    flow, clock = w.flows[flow_index], w.clock[0]
    row = flow.head
    made = w.made[row]
    length, created = int64(made.length), made.created
    flow.head = made.next
    made.next = clock.unmade
    clock.unmade = row
    if flow.head != NONE:
        prefetch(w.made[flow.head])  # it was made a full host queue ago, and is the next one to go
    index = take(w)
    if index != NONE:
        frame = w.frames[index]
        reset_descriptor(
            frame, DATA, length, flow.priority, flow_index, flow.source, flow.destination
        )
        frame.sequence = flow.frames_sent
        frame.created = created
        frame.mark = flow.mark
        if w.stamps.shape[0] > 1:
            reserve_stamps(w, index, flow.stamps)
    return index
