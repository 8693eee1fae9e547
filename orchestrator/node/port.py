"""Which frame a port sends next: PAUSE, then other control frames, then its flows or its queue."""

from __future__ import annotations

from orchestrator.jit import compiled, inlined
from orchestrator.node.buffer import take_out
from orchestrator.node.control import pop_control
from orchestrator.node.crossbar import left_output
from orchestrator.node.link import LINES, timed, transmit
from orchestrator.node.nic import send_next
from orchestrator.node.records import NEVER, NONE, PAUSE
from orchestrator.node.wake import wake_at


@inlined
def send_from_queue(w, port_index, now):  # type: ignore[no-untyped-def]
    """Serve the queue of a switch's port: one frame, then the service-rate limiter waits."""
    queue_index = w.ports[port_index].queue
    queue = w.queues[queue_index]
    index = queue.head
    frame = w.frames[index]
    queue.head = frame.next
    queue.next_service = now + timed(queue, frame.length, queue.service_rate)
    take_out(w, queue_index, index, now)
    if queue.crossbar != 0:
        left_output(w, queue_index, index, now)
    transmit(w, port_index, index, now)


@compiled
def serve(w, port_index, now):  # type: ignore[no-untyped-def]
    """Send what may be sent now, then wake for the next chance (or not, when nothing waits)."""
    port = w.ports[port_index]
    if now >= port.free_at:
        paused = now < port.paused_until
        if port.control_head != NONE and (not paused or w.frames[port.control_head].kind == PAUSE):
            transmit(w, port_index, pop_control(w, port_index), now)
        elif not paused:
            if port.ready_head != NONE:
                send_next(w, port_index, now)
            elif port.queue != NONE:
                queue = w.queues[port.queue]
                if queue.frames > 0 and now >= queue.next_service:
                    send_from_queue(w, port_index, now)
    time = NEVER
    if port.control_head != NONE:
        time = port.free_at
        if w.frames[port.control_head].kind != PAUSE:
            time = max(time, port.paused_until)
    elif port.ready_head != NONE:
        time = max(port.free_at, port.paused_until)
    elif port.queue != NONE:
        queue = w.queues[port.queue]
        if queue.frames > 0:
            time = max(port.free_at, port.paused_until, queue.next_service)
    wake_at(w, LINES + w.ports.size + w.queues.size + port_index, time)
