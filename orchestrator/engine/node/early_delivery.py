"""Early delivery: frames whose arrival is only counted are counted when they are sent.

Of a data frame that its source made by itself, a node that it was sent to keeps the count and the
latency, and nothing else happens there. Counts are looked at when a row of samples is taken, and
at no other time. So a frame that arrives before that is counted at once, as of the instant at which
it arrives, and needs no place in the line, no wake and no descriptor any more. What arrives later
waits in the line; so does every other frame, which may act where it comes.

Frames of a flow are counted in their order: those in the line, which were sent before, are first,
and while one there is of another kind none is counted ahead.
"""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, PortIndex
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.actors import COMMANDS_ACTOR, SAMPLER_ACTOR
from orchestrator.engine.node.delay_line import leave_line, schedule_line
from orchestrator.engine.node.descriptor_pool import give_back
from orchestrator.engine.node.event_queue import wake_time
from orchestrator.engine.node.latency_histogram import count_latency
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import DATA, FRAMES, NONE, Flow, Frame


@inlined
def next_observation(w: World) -> int:
    """Earliest time of the next reading of counts (ps): frames that arrive then are not in it."""
    return min(wake_time(w, COMMANDS_ACTOR), wake_time(w, SAMPLER_ACTOR))


@inlined
def is_count_only(w: World, frame: Frame) -> bool:
    """True if the arrival of a frame has no effect but counts of its flow."""
    if frame.kind != DATA or frame.flow == NONE:
        return False
    flow = w.flows[frame.flow]
    return flow.mode == FRAMES and flow.copies == 0


@inlined
def count_frame(w: World, flow: Flow, frame: Frame, now: int) -> None:
    """Count a data frame of a flow at its destination."""
    count_latency(w, flow.group, now - frame.created)
    flow.frames_received += 1
    flow.bytes_received += frame.length
    if frame.sequence < flow.latest:
        flow.frames_reordered += 1
    else:
        flow.latest = frame.sequence + 1


@inlined
def count_due_frame(w: World, index: FrameIndex) -> None:
    """Count a frame as of the instant at which it is due; its descriptor is free."""
    frame = w.frames[index]
    count_frame(w, w.flows[frame.flow], frame, frame.due)
    w.clock[0].delivered += 1
    give_back(w, index)


@compiled
def count_line(w: World, port_index: PortIndex) -> bool:
    """Count the frames in a line, up to the first one that is more than counted; True: all."""
    port = w.ports[port_index]
    while port.line_head != NONE and is_count_only(w, w.frames[port.line_head]):
        count_due_frame(w, leave_line(w, port_index))
    schedule_line(w, port_index)
    return port.line_head == NONE


@compiled
def count_at_send(w: World, port_index: PortIndex, index: FrameIndex) -> bool:
    """Count a frame that a port sends now, and that is due, if that is all that would happen.

    False: it has to go into the line.
    """
    port = w.ports[port_index]
    frame = w.frames[index]
    if frame.due >= next_observation(w) or not is_count_only(w, frame):
        return False
    if port.line_head != NONE and not count_line(w, port_index):
        return False
    port.last_due = frame.due
    count_due_frame(w, index)
    return True
