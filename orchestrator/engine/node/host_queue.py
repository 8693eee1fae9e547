"""Host queue of a source: waiting frames as rows of `made`, without descriptors.

A descriptor has what happens to a frame on its way. Until it begins, all that a source of mode
FRAMES gives one of its frames beside what its flow knows is when it was made and how long it is;
its number is the next one to be sent. So a descriptor is taken when the frame is sent, and it is
one that was given back lately.
"""

from __future__ import annotations

import numpy as np

from orchestrator.engine.frames.blank import blank
from orchestrator.engine.jit import fetch, inlined
from orchestrator.engine.node.pool import take
from orchestrator.engine.node.stamps import make_room
from orchestrator.engine.records import DATA, NONE


@inlined
def join(w, flow, now):  # type: ignore[no-untyped-def]
    """A frame of `flow.length` is made and is the last one in the host queue. False, and counted:
    no row is unused."""
    clock = w.clock[0]
    row = clock.unmade
    if row == NONE:
        clock.no_descriptor += 1
        return False
    made = w.made[row]
    clock.unmade = made.next
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
def leave(w, flow_index):  # type: ignore[no-untyped-def]
    """The first frame leaves the host queue: its descriptor; NONE, and counted: there is none."""
    flow, clock = w.flows[flow_index], w.clock[0]
    row = flow.head
    made = w.made[row]
    length, created = np.int64(made.length), made.created
    flow.head = made.next
    made.next = clock.unmade
    clock.unmade = row
    if flow.head != NONE:
        fetch(w.made[flow.head])  # it was made a full host queue ago, and is the next one to go
    index = take(w)
    if index != NONE:
        frame = w.frames[index]
        blank(frame, DATA, length, flow.priority, flow_index, flow.source, flow.destination)
        frame.sequence = flow.frames_sent
        frame.created = created
        frame.mark = flow.mark
        if w.stamps.shape[0] > 1:
            make_room(w, index, flow.stamps)
    return index
