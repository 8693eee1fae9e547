"""Delay line behind a port's transmitter: a list of frames ordered by due time."""

from __future__ import annotations

from orchestrator.engine.jit import inlined
from orchestrator.engine.node.event_queue import LINES, wake_at
from orchestrator.engine.records import NEVER, NONE


@inlined
def leave_line(w, port_index):
    """Take the first frame out of the port's delay line; returns its index."""
    port = w.ports[port_index]
    index = port.line_head
    frame = w.frames[index]
    port.line_head = frame.next
    port.line_bytes -= frame.length
    return index


@inlined
def schedule_line(w, port_index):
    """Let the delay line wake for its first frame."""
    port = w.ports[port_index]
    if port.line_head == NONE:
        wake_at(w, LINES + port_index, NEVER)
    else:
        wake_at(w, LINES + port_index, w.frames[port.line_head].due + port.patience)
