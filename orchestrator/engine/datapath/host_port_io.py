"""Host ports: move frames between programs' namespaces and the host queues of their NICs.

A host port has a socket of its own, which is read only while every flow of its node has room for
what is read: programs are held back by the kernel, as by the queue of a real interface, and lose
nothing before the socket's buffer is full.
"""

from __future__ import annotations

from orchestrator.engine.datapath import mmsg_batch as at
from orchestrator.engine.datapath import packet_socket_io
from orchestrator.engine.datapath.libc import EAGAIN, EINTR, last_error, recvmmsg
from orchestrator.engine.datapath.mmsg_batch import Batch
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.frames import frame_layout
from orchestrator.engine.frames.address_index import UNKNOWN
from orchestrator.engine.frames.host_frames import address_host, destination_of
from orchestrator.engine.index_types import FlowIndex, int64, range
from orchestrator.engine.jit import compiled
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.host_interface import receive_from_program
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE

HOST_BATCH = 8


@compiled
def has_host_queue_space(w: World, rig: Rig, host: int) -> bool:
    """True if every flow of a host's programs has room for a batch of full frames."""
    for place in range(rig.host_flows.shape[1]):
        row = rig.host_flows[host, place]
        if row != NONE:
            flow = w.flows[row]
            if flow.bytes > flow.capacity // 2:
                return False
    return True


@compiled
def flow_to(w: World, rig: Rig, host: int, destination: int) -> FlowIndex:
    """The flow that a host's packets to a destination take; NONE where the plan has none."""
    for place in range(rig.host_flows.shape[1]):
        row = rig.host_flows[host, place]
        if row != NONE and w.flows[row].destination == destination:
            return row
    return NONE


@compiled
def receive_from_programs(w: World, rig: Rig, host: int, now: int) -> int:
    """Queue a batch of what a host's programs have sent. Returns their number, or -errno.

    The frames lie in their rows with room for a tag behind the addresses, see `syscalls.arm`.
    """
    batch = rig.host_incoming
    count = recvmmsg(
        rig.host_sockets[host],
        batch.headers.ctypes.data,
        batch.headers.shape[0],
        packet_socket_io.MSG_DONTWAIT | packet_socket_io.MSG_TRUNC,
        0,
    )
    if count < 0:
        error = last_error(batch.scratch)
        return 0 if error in (EAGAIN, EINTR) else -error
    for k in range(count):
        index = batch.slots[k]
        octets = w.octets[index]
        length = (batch.headers[k, at.GOT] & 0xFFFFFFFF) + frame_layout.TAG_OCTETS
        destination = UNKNOWN
        if length <= octets.size:
            destination = destination_of(octets, length - frame_layout.TAG_OCTETS)
        row = NONE if destination == UNKNOWN else flow_to(w, rig, host, destination)
        fresh = NONE if row == NONE else take(w)
        if fresh == NONE:
            rig.host_strays[host] += 1
            packet_socket_io.arm(batch, k, index)
            continue
        packet_socket_io.arm(batch, k, fresh)
        flow = w.flows[row]
        length = address_host(octets, flow.source, destination, flow.priority, length)
        receive_from_program(w, row, index, length, int64(octets[frame_layout.IP + 1]), now)
    return count


@compiled
def send_to_programs(w: World, rig: Rig) -> None:
    """Send what has arrived for programs to their namespaces, without the tag."""
    wires = rig.wires.shape[0]
    for host in range(rig.host_sockets.size):
        wire = wires + host
        waiting = w.outbox_count[wire]
        if waiting == 0:
            continue
        batch = rig.host_outgoing
        for position in range(waiting):
            index = w.outbox[wire, position]
            post_untagged(batch, index, w.frames[index].length)
        packet_socket_io.flush(batch, rig.host_sockets[host])
        for position in range(waiting):
            give_back(w, w.outbox[wire, position])
        w.outbox_count[wire] = 0


@compiled
def post_untagged(batch: Batch, slot: int, length: int) -> None:
    """Put a frame of row `slot` behind those that the next `flush` sends, its tag left out."""
    k = batch.state[at.QUEUED]
    row = batch.octets[slot].ctypes.data
    rest = at.ADDRESS_OCTETS + at.TAG_OCTETS
    batch.lengths[k] = length - at.TAG_OCTETS
    batch.headers[k, at.NAME] = batch.names[0].ctypes.data
    batch.headers[k, at.VECTORS] = 2
    batch.vectors[k, 0] = row
    batch.vectors[k, 1] = at.ADDRESS_OCTETS
    batch.vectors[k, 2] = row + rest
    batch.vectors[k, 3] = length - rest
    batch.state[at.QUEUED] = k + 1
