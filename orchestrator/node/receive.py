"""What a node does with a frame that reached one of its ports."""

from __future__ import annotations

from orchestrator.jit import compiled, inlined
from orchestrator.node import kernels
from orchestrator.node.buffer import put, tell
from orchestrator.node.control import push_control
from orchestrator.node.crossbar import admit, end_transfer, schedule_input
from orchestrator.node.lane import lane_index, obey_pause, obey_pfc
from orchestrator.node.latency import count_latency
from orchestrator.node.nic import heed
from orchestrator.node.pool import give_back
from orchestrator.node.port import serve
from orchestrator.node.records import CNM, NONE, PAUSE, PFC, SWITCH


@inlined
def enqueue(w, port_index, index, now):  # type: ignore[no-untyped-def]
    """A data frame enters the queue of a switch's output port: sample, then keep or drop it."""
    queue_index = w.lanes[lane_index(w, port_index, w.frames[index])].queue
    queue = w.queues[queue_index]
    frame = w.frames[index]
    spare = w.frames[w.frames.size - 1]
    queue.frames_in += 1
    if queue.congestion_point != NONE:
        told = kernels.on_frame(w, queue.congestion_point, queue, frame, now, spare)
        if told != 0:
            tell(w, queue_index, told, index, queue.head if queue.frames > 0 else NONE, now)
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
    put(w, queue_index, index, now)
    if queue.frames == 1:
        serve(w, port_index, now)


@compiled
def wake_input(w, input_index, now):  # type: ignore[no-untyped-def]
    """A transfer of an input ends, or a frame of it reaches its output, or both."""
    side = w.inputs[input_index]
    end_transfer(w, input_index, now)
    while side.fly_head != NONE and w.frames[side.fly_head].due <= now:
        index = side.fly_head
        frame = w.frames[index]
        side.fly_head = frame.next
        w.queues[w.lanes[lane_index(w, frame.port, frame)].queue].reserved -= frame.length
        enqueue(w, frame.port, index, now)
    schedule_input(w, input_index)


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
    elif w.ports[frame.port].input != NONE:
        admit(w, frame.port, index, way, now)
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


@compiled
def receive(w, port_index, index, now):  # type: ignore[no-untyped-def]
    """Hand a frame that arrived whole at `port_index` to its node."""
    frame = w.frames[index]
    frame.port = port_index
    node_index = w.ports[port_index].node
    if frame.kind == PAUSE:
        obey_pause(w, port_index, index, now)
        serve(w, port_index, now)
    elif frame.kind == PFC:
        obey_pfc(w, port_index, index, now)
        serve(w, port_index, now)
    elif w.nodes[node_index].kind == SWITCH:
        forward(w, node_index, index, now)
    elif frame.kind == CNM:
        heed(w, node_index, index, now)
    else:
        deliver(w, index, now)
