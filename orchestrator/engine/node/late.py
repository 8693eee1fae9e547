"""Frames leave some ports without an event: what was sent meanwhile is worked out when it matters.

Where the algorithms of a port's queue have nothing to do for a frame that leaves it, and the frame
is only counted where it arrives (`engine.node.ahead`), its start of transfer is felt by those alone
who look at the queue or the port afterwards. So such a port (`late`) does not wake for it. Whoever
comes to look, a frame that arrives, a control frame, a PAUSE, a timer of the queue, a command, a
sample, first has it catch up: the frames that would have left by then do, one after the other, each
at the instant at which the port could have sent it.

Of events at one time the lower actor goes first. A start of transfer at the very time of who looks
has been before it if the port's actor has the lower number, and comes behind it otherwise.
"""

from __future__ import annotations

from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.link import timed, transmit
from orchestrator.engine.node.room import leave_room
from orchestrator.engine.node.wake import LINES
from orchestrator.engine.records import NONE


@inlined
def port_actor(w, port_index):  # type: ignore[no-untyped-def]
    """Actor number of a port: after the lines and the queues."""
    return LINES + w.ports.size + w.queues.size + port_index


@compiled
def send_until(w, port_index, until):  # type: ignore[no-untyped-def]
    """Let a late port send what it could start to send up to `until` (ps, inclusive)."""
    port = w.ports[port_index]
    lane = w.lanes[port.first_lane]
    queue = w.queues[lane.queue]
    while queue.frames > 0 and port.control_head == NONE:
        time = max(port.free_at, port.paused_until, lane.paused_until, port.next_service)
        if time > until:
            return
        index = queue.head
        frame = w.frames[index]
        queue.head = frame.next
        leave_room(queue, frame.length)
        port.next_service = time + timed(queue, frame.length, queue.service_rate)
        transmit(w, port_index, index, time)


@inlined
def catch_up(w, port_index, now):  # type: ignore[no-untyped-def]
    """Bring a port up to the event that is under way, where it is late."""
    if w.ports[port_index].late != 0:
        is_over = port_actor(w, port_index) < w.clock[0].actor
        send_until(w, port_index, now if is_over else now - 1)


@compiled
def catch_up_all(w, until):  # type: ignore[no-untyped-def]
    """Bring all late ports up to `until` (ps, inclusive)."""
    if w.clock[0].late != 0:
        for port_index in range(w.ports.size):
            if w.ports[port_index].late != 0:
                send_until(w, port_index, until)
