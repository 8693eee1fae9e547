"""Release of buffer space."""

from __future__ import annotations

from orchestrator.engine.jit import inlined


@inlined
def leave_room(queue, octets):  # type: ignore[no-untyped-def]
    """A frame of so many octets is not in a queue or a buffer any more."""
    queue.bytes -= octets
    queue.frames -= 1
    queue.bytes_out += octets
    queue.frames_out += 1
    if queue.frames == 0:
        queue.emptied += 1
