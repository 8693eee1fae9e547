"""What a node does with a frame that reached one of its ports."""

from __future__ import annotations

from orchestrator.jit import compiled, inlined
from orchestrator.node import kernels
from orchestrator.node.control import push_control, send_feedback, send_pause
from orchestrator.node.latency import count_latency
from orchestrator.node.link import LINES, quanta_time
from orchestrator.node.nic import hear
from orchestrator.node.pool import give_back
from orchestrator.node.port import serve
from orchestrator.node.records import CNM, NONE, PAUSE, SWITCH
from orchestrator.node.wake import wake_at

ARRIVING, HEAD = 1, 2
"""What a congestion point's kernel returns: the frame that is told. 0: none."""


@inlined
def count_pause(port, now):  # type: ignore[no-untyped-def]
    """Add the time that the port was held since this was last done."""
    held = min(now, port.paused_until) - port.pause_counted
    port.paused_ps += max(held, 0)
    port.pause_counted = now


@compiled
def obey_pause(w, port_index, index, now):  # type: ignore[no-untyped-def]
    """802.3x: stop for the quanta given, from now; 0 ends the pause (802.3 annex 31B)."""
    port = w.ports[port_index]
    count_pause(port, now)
    port.paused_until = now + quanta_time(w.frames[index].feedback, port.rate)
    port.pause_received += 1
    give_back(w, index)
    serve(w, port_index, now)


@compiled
def schedule_queue(w, queue_index):  # type: ignore[no-untyped-def]
    """Let the queue wake for the timers that its algorithms have set."""
    queue = w.queues[queue_index]
    wake_at(
        w,
        LINES + w.ports.size + queue_index,
        min(queue.congestion_point_timer, queue.pause_timer),
    )


@inlined
def enqueue(w, port_index, index, now):  # type: ignore[no-untyped-def]
    """A data frame enters the queue of a switch's output port: sample, then keep or drop it."""
    queue_index = w.ports[port_index].queue
    queue = w.queues[queue_index]
    frame = w.frames[index]
    spare = w.frames[w.frames.size - 1]
    queue.frames_in += 1
    if queue.congestion_point != NONE:
        told = kernels.on_frame(w, queue.congestion_point, queue, frame, now, spare)
        if told == ARRIVING or (told == HEAD and queue.frames == 0):
            send_feedback(w, queue_index, index, now)
        elif told == HEAD:
            send_feedback(w, queue_index, queue.head, now)
    if queue.bytes + frame.length > queue.capacity:
        queue.frames_dropped += 1
        give_back(w, index)
        return
    frame.next = NONE
    if queue.frames == 0:
        queue.head = index
    else:
        w.frames[queue.tail].next = index
    queue.tail = index
    queue.frames += 1
    queue.bytes += frame.length
    queue.bytes_max = max(queue.bytes_max, queue.bytes)
    if queue.pause != NONE and kernels.on_frame(w, queue.pause, queue, frame, now, spare) != 0:
        send_pause(w, queue_index, now)
    if queue.congestion_point_timer != queue.pause_timer:
        schedule_queue(w, queue_index)
    if queue.frames == 1:
        serve(w, port_index, now)


@inlined
def forward(w, node_index, index, now):  # type: ignore[no-untyped-def]
    """A switch sends a frame on: control frames past every queue, data through one."""
    frame = w.frames[index]
    way = w.routes[node_index, frame.destination]
    if way == NONE:
        w.nodes[node_index].unroutable += 1
        give_back(w, index)
    elif frame.kind == CNM:
        push_control(w, way, index, now)
    else:
        enqueue(w, way, index, now)


@inlined
def deliver(w, index, now):  # type: ignore[no-untyped-def]
    """A data frame is where it was sent to: count it."""
    frame = w.frames[index]
    if frame.flow != NONE:
        flow = w.flows[frame.flow]
        flow.frames_received += 1
        flow.bytes_received += frame.length
        count_latency(w, flow.group, now - frame.created)
    w.clock[0].delivered += 1
    give_back(w, index)


@inlined
def receive(w, port_index, index, now):  # type: ignore[no-untyped-def]
    """Hand a frame that arrived whole at `port_index` to its node."""
    frame = w.frames[index]
    frame.port = port_index
    node_index = w.ports[port_index].node
    if frame.kind == PAUSE:
        obey_pause(w, port_index, index, now)
    elif w.nodes[node_index].kind == SWITCH:
        forward(w, node_index, index, now)
    elif frame.kind == CNM:
        hear(w, node_index, index, now)
    else:
        deliver(w, index, now)
