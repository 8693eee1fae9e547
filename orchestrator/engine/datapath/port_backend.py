"""Interface between the real-time loop and the backends that carry frames.

Two backends answer it: PACKET, batches of calls on raw sockets (`packet_socket_io`), and XDP, rings
that are shared with the kernel (`xdp_socket_io`). The contract:

- `begin` once; then, turn by turn, `poll_ports`, and `receive` where `is_readable`.
- Frame k of what `receive` took lies in row `incoming.slots[k]`, whole up to `incoming.lengths[k]`
  (which may be more than the row holds), with its VLAN tag; it came in through port
  `incoming.ports[k]` of its node. The row is the caller's. For each frame `arm` is called once,
  with a row that the next one may be received into: another, or the same.
- `post` for each frame that is to leave, its row not touched any more; `flush` sends what was
  posted for the wires of one node. Rows return to the world's pool when they can be used again.
- Frames of one port keep their order. Frames of several ports of a node come in the order in which
  they arrived (PACKET) or port by port within a turn (XDP). Where times of arrival are asked for
  (PACKET alone), `incoming.control` tells them, see `arrivals`; those of departure come by the
  socket's error queue, see `departures`.
- What cannot be sent is counted in `outgoing.state[UNSENT]`, never silently lost.
"""

from __future__ import annotations

from orchestrator.engine.datapath import packet_socket_io, xdp_socket_io
from orchestrator.engine.datapath.mmsg_batch import UNSENT
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.index_types import FrameIndex
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.world_arrays import World

PACKET, XDP = range(2)
"""Values of `Rig.backend`."""


@compiled
def begin(w: World, rig: Rig) -> None:
    """Give the ports rows to receive into."""
    if rig.backend[0] == XDP:
        xdp_socket_io.fill_rings(w, rig.rings)
    else:
        for k in range(rig.incoming.slots.size):
            packet_socket_io.arm(rig.incoming, k, take(w))


@compiled
def poll_ports(w: World, rig: Rig) -> int:
    """Number of sockets with frames, of nodes and then of hosts of programs; less than 0: -errno.

    `rig.polled` tells which, in the same order; XDP sockets are not in it.
    """
    if rig.backend[0] == PACKET:
        return packet_socket_io.poll_sockets(rig.polled)
    xdp_socket_io.service_rings(w, rig.rings, rig.outgoing)
    found = 0
    for node in range(rig.sockets.size):
        if xdp_socket_io.has_waiting_frame(rig.rings, node):
            found += 1
    if rig.host_sockets.size > 0:
        found += packet_socket_io.poll_sockets(rig.polled)
    return found


@inlined
def is_readable(rig: Rig, place: int) -> int:
    """True if the last `poll_ports` reported frames at this socket."""
    if rig.backend[0] == XDP and place < rig.sockets.size:
        return xdp_socket_io.has_waiting_frame(rig.rings, place)
    return packet_socket_io.is_socket_readable(rig.polled, place)


@inlined
def receive(rig: Rig, node: int) -> int:
    """Take what has arrived at a node, at most one batch; the number of frames, or -errno."""
    if rig.backend[0] == XDP:
        return xdp_socket_io.receive(rig.rings, rig.incoming, node)
    return packet_socket_io.receive(rig.incoming, rig.sockets[node], rig.first[node])


@inlined
def arm(rig: Rig, k: int, slot: int) -> None:
    """Give the port that frame k came from a row for another one."""
    if rig.backend[0] == XDP:
        xdp_socket_io.refill(rig.rings, rig.rings.origin[k], slot, rig.incoming.octets.shape[1])
    else:
        packet_socket_io.arm(rig.incoming, k, slot)


@inlined
def post(w: World, rig: Rig, wire: int, slot: FrameIndex, known: int, length: int) -> None:
    """Put a frame behind those that the next `flush` sends; zeros follow its `known` octets."""
    if rig.backend[0] == XDP:
        xdp_socket_io.post(w, rig.rings, rig.outgoing, wire, slot, known, length)
    elif not packet_socket_io.post(rig.outgoing, rig.wires[wire, 1], slot, known, length):
        rig.outgoing.state[UNSENT] += 1


@compiled
def flush(w: World, rig: Rig, node: int, first: int, last: int) -> None:
    """Send what was posted for the wires from `first` to before `last`, all of one node, and empty
    their outboxes."""
    if rig.backend[0] == XDP:
        for wire in range(first, last):
            if w.outbox_count[wire] > 0:
                xdp_socket_io.start_transmission(w, rig.rings, rig.outgoing, rig.rings.sender[wire])
                w.outbox_count[wire] = 0
        return
    packet_socket_io.flush(rig.outgoing, rig.sockets[node])
    for wire in range(first, last):
        for position in range(w.outbox_count[wire]):
            give_back(w, w.outbox[wire, position])
        w.outbox_count[wire] = 0
