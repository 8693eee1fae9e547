"""AF_XDP socket I/O: frames to and from rows of octets, compiled, off the GIL.

The rows of a world's octets *are* the memory that a thread's sockets share with the kernel (UMEM):
row i is chunk i, HEADROOM octets further, where the kernel puts what it receives. So the descriptor
that a frame has in a world is its chunk, and a frame that is forwarded stays where it is.

A socket is one queue of one interface, with four rings (see `ring`): FILL has the rows that the
kernel may receive into, RX those that hold a frame, TX those that it is to send, DONE those that it
has sent. A row is at each time in one ring, in a queue of the world or in its pool. VLAN tags are
where they were on the wire.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator.engine.datapath import mmsg_batch as at
from orchestrator.engine.datapath import xdp_ring as of
from orchestrator.engine.datapath.libc import (
    EAGAIN,
    EBUSY,
    EINTR,
    ENOBUFS,
    last_error,
    memmove,
    memset,
    recvfrom,
    sendto,
)
from orchestrator.engine.datapath.mmsg_batch import Batch
from orchestrator.engine.datapath.xdp_ring import load_entry, store_entry
from orchestrator.engine.index_types import FrameIndex, range
from orchestrator.engine.jit import compiled, inlined
from orchestrator.engine.node.descriptor_pool import give_back, take
from orchestrator.engine.node.world_arrays import World
from orchestrator.engine.records import NONE

HEADROOM = 256
"""XDP_PACKET_HEADROOM: octets of a chunk before the frame that the kernel puts there."""
RX, TX, FILL, DONE = range(4)
SOCKET, PORT, STOCK, SENT = range(4)
"""Words of `Rings.sockets`: descriptor; interface index less the least of its node's; rows that it
holds to receive into; frames handed to TX whose rows have not come back."""
FRAME_OCTETS, ROW_OCTETS = 16, 8
"""An entry of RX and TX (`struct xdp_desc`: address, length and options); of FILL and DONE."""
MSG_DONTWAIT = 0x40
TRIES = 10_000
"""Number of calls of the kernel for one burst of which it takes nothing: some 5 ms."""


class Rings(NamedTuple):
    """The sockets of one thread's nodes. `rings[s]` are those of socket s."""

    rings: np.ndarray  # int64[n, 4, 8]: see orchestrator.engine.datapath.xdp_ring
    sockets: np.ndarray  # int64[n, 4]: see SOCKET and the following
    first: np.ndarray  # int64[k + 1]: the sockets of node k are those from first[k] to first[k + 1]
    turn: np.ndarray  # int64[k]: the socket of node k to look into first
    sender: np.ndarray  # int64[wires]: the socket that a wire's frames leave through
    origin: np.ndarray  # int64[batch]: the socket that message k of a batch came from


def no_rings() -> Rings:
    """Of a thread that has no such socket."""
    none = np.zeros(0, np.int64)
    return Rings(
        np.zeros((0, 4, of.WORDS), np.int64), np.zeros((0, 4), np.int64), none, none, none, none
    )


@compiled
def fill_rings(w: World, xdp: Rings) -> None:
    """Give every socket the rows that it is to receive into."""
    for s in range(xdp.sockets.shape[0]):
        while xdp.sockets[s, STOCK] < xdp.rings[s, FILL, of.SIZE]:
            slot = take(w)
            if slot == NONE:
                return
            refill(xdp, s, slot, w.octets.shape[1])
            xdp.sockets[s, STOCK] += 1


@inlined
def refill(xdp: Rings, s: int, slot: int, stride: int) -> None:
    """Let the kernel receive into a row for socket s; as many rows as the ring holds are there."""
    ring = xdp.rings[s, FILL]
    store_entry(of.entry_address(ring, ring[of.AT], ROW_OCTETS), slot * stride)
    of.submit_until(ring, ring[of.AT] + 1)


@compiled
def has_waiting_frame(xdp: Rings, node: int) -> bool:
    """True if a frame waits in any socket of a node."""
    found = 0
    for s in range(xdp.first[node], xdp.first[node + 1]):
        found += of.filled_entries(xdp.rings[s, RX])
    return found > 0


@compiled
def receive(xdp: Rings, batch: Batch, node: int) -> int:
    """Take what has arrived at a node, at most one batch; the number of frames.

    As `syscalls.receive`: frame k lies in row slots[k], came in through port ports[k], is
    lengths[k] long; `refill` its socket, origin[k], with another row or the same. The sockets take
    turns in being first.
    """
    count = 0
    sockets = xdp.first[node + 1] - xdp.first[node]
    for nth in range(sockets):
        s = xdp.first[node] + (xdp.turn[node] + nth) % sockets
        ring = xdp.rings[s, RX]
        found = min(of.filled_entries(ring), batch.slots.size - count)
        if found == 0:
            continue
        index = ring[of.AT]
        for k in range(count, count + found):
            _read(batch, k, of.entry_address(ring, index, FRAME_OCTETS))
            batch.ports[k] = xdp.sockets[s, PORT]
            xdp.origin[k] = s
            index += 1
        of.release_until(ring, index)
        count += found
    if count > 0:
        xdp.turn[node] = (xdp.turn[node] + 1) % sockets
        batch.state[at.CALLS] += 1
    return count


@inlined
def _read(batch: Batch, k: int, entry: int) -> None:
    """Message k is the frame of an entry of RX; it is moved where a driver put it elsewhere."""
    stride = batch.octets.shape[1]
    address = load_entry(entry)
    slot = address // stride
    length = load_entry(entry + 8) & 0xFFFFFFFF
    inside = address - slot * stride - HEADROOM
    if inside != 0:
        row = batch.octets[slot].ctypes.data
        memmove(row, row + inside, length)
    batch.slots[k] = slot
    batch.lengths[k] = length


@inlined
def longest(octets: np.ndarray) -> int:
    """The longest frame that a row holds: the end of it lies in the next one's headroom."""
    return octets.shape[1] - HEADROOM


@compiled
def post(
    w: World, xdp: Rings, batch: Batch, wire: int, slot: FrameIndex, known: int, length: int
) -> None:
    """Put a frame behind those that the next `flush` of its wire sends, zeros behind the first
    `known` octets. One that cannot be is counted as unsent, and its row given back."""
    s = xdp.sender[wire]
    ring = xdp.rings[s, TX]
    if length <= longest(w.octets) and of.free_entries(ring) == 0:
        start_transmission(w, xdp, batch, s)
    if length > longest(w.octets) or of.free_entries(ring) == 0:
        batch.state[at.UNSENT] += 1
        give_back(w, slot)
        return
    row = w.octets[slot].ctypes.data
    if length > known:
        memset(row + known, 0, length - known)
    entry = of.entry_address(ring, ring[of.AT], FRAME_OCTETS)
    store_entry(entry, slot * w.octets.shape[1] + HEADROOM)
    store_entry(entry + 8, length)
    of.submit_until(ring, ring[of.AT] + 1)
    xdp.sockets[s, SENT] += 1


@compiled
def start_transmission(w: World, xdp: Rings, batch: Batch, s: int) -> None:
    """Have the kernel send what was handed to socket s, and take back the rows it is done with.

    One call sends some tens of frames. EBUSY: the interface dropped the last frame that was taken.
    EAGAIN, ENOBUFS: it could not take one more; it is called again, and frames that it does not
    take then wait for the next kick. Any other error means that the interface sends nothing at all
    (it is down, or gone): what waits is unsent.
    """
    ring = xdp.rings[s, TX]
    left = of.unconsumed(ring)
    tries = 0
    while left > 0 and tries < TRIES and of.needs_wakeup(ring):
        socket = np.int32(xdp.sockets[s, SOCKET])
        error = 0
        if sendto(socket, 0, 0, MSG_DONTWAIT, 0, 0) < 0:
            error = last_error(batch.scratch)
        batch.state[at.CALLS] += 1
        reclaim_sent(w, xdp, s)
        before, left = left, of.unconsumed(ring)
        if error == EBUSY:
            batch.state[at.UNSENT] += 1
        elif error not in (0, EAGAIN, EINTR, ENOBUFS):
            reclaim_unsent(w, xdp, batch, s)
            return
        elif left == before:
            tries += 1
            batch.state[at.RETRIES] += 1
    reclaim_sent(w, xdp, s)


@compiled
def reclaim_unsent(w: World, xdp: Rings, batch: Batch, s: int) -> None:
    """Take back what the kernel has not taken from socket s, and does not while it cannot send."""
    ring = xdp.rings[s, TX]
    left = of.unconsumed(ring)
    for index in range(ring[of.AT] - left, ring[of.AT]):
        give_back(w, load_entry(of.entry_address(ring, index, FRAME_OCTETS)) // w.octets.shape[1])
    of.submit_until(ring, ring[of.AT] - left)
    xdp.sockets[s, SENT] -= left
    batch.state[at.UNSENT] += left


@compiled
def reclaim_sent(w: World, xdp: Rings, s: int) -> None:
    """Give the rows of the frames that socket s has sent back to the pool."""
    ring = xdp.rings[s, DONE]
    count = of.filled_entries(ring)
    if count == 0:
        return
    index = ring[of.AT]
    for _ in range(count):
        give_back(w, load_entry(of.entry_address(ring, index, ROW_OCTETS)) // w.octets.shape[1])
        index += 1
    of.release_until(ring, index)
    xdp.sockets[s, SENT] -= count


@compiled
def service_rings(w: World, xdp: Rings, batch: Batch) -> None:
    """Maintain the sockets once per iteration: sent rows return to the pool, frames that the
    kernel did not take at once are offered again, and a driver that waits for rows is woken."""
    for s in range(xdp.sockets.shape[0]):
        if xdp.sockets[s, SENT] > 0:
            start_transmission(w, xdp, batch, s)
        if of.needs_wakeup(xdp.rings[s, FILL]):
            recvfrom(np.int32(xdp.sockets[s, SOCKET]), 0, 0, MSG_DONTWAIT, 0, 0)
