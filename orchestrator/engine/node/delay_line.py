"""Delay line behind a port's transmitter: a list of frames ordered by due time."""

from __future__ import annotations

from orchestrator.engine.index_types import FrameIndex, PortIndex
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.kernel_answers import LOST
from orchestrator.engine.kernel_events import DELAY_LINE_DELAY
from orchestrator.engine.node import kernel_calls
from orchestrator.engine.node.actors import line_actor
from orchestrator.engine.node.event_queue import wake_at
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NEVER, NONE, Frame, Port


@inlined
def link_delay(w: World, port: Port, frame: Frame, now: int) -> int:
    """ps from a frame's last bit to its arrival; LOST (negative): its link loses the frame."""
    if port.up == 0 or port.line_bytes + frame.length > port.line_capacity:
        return LOST
    if port.delay_line == NONE:
        return port.delay
    return kernel_calls.call_frame_kernel(
        w, port.delay_line, DELAY_LINE_DELAY, port, frame, now, frame
    )


@compiled
def insert_by_due(w: World, port_index: PortIndex, index: FrameIndex) -> None:
    """Put a frame into the port's delay line behind all frames that are due by then."""
    port = w.ports[port_index]
    frame = w.frames[index]
    before, after = NONE, port.line_head
    if after != NONE and w.frames[port.line_tail].due <= frame.due:
        before, after = port.line_tail, NONE
    while after != NONE and w.frames[after].due <= frame.due:
        before, after = after, w.frames[after].next
    frame.next = after
    if before == NONE:
        port.line_head = index
        wake_at(w, line_actor(w, port_index), frame.due + port.patience)
    else:
        w.frames[before].next = index
    if after == NONE:
        port.line_tail = index
    port.line_bytes += frame.length


@inlined
def leave_line(w: World, port_index: PortIndex) -> FrameIndex:
    """Take the first frame out of the port's delay line; returns its index."""
    port = w.ports[port_index]
    index = port.line_head
    frame = w.frames[index]
    port.line_head = frame.next
    port.line_bytes -= frame.length
    return index


@inlined
def schedule_line(w: World, port_index: PortIndex) -> None:
    """Let the delay line wake for its first frame."""
    port = w.ports[port_index]
    if port.line_head == NONE:
        wake_at(w, line_actor(w, port_index), NEVER)
    else:
        wake_at(w, line_actor(w, port_index), w.frames[port.line_head].due + port.patience)
