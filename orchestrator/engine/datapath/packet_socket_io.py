"""Packet socket I/O: non-blocking batches of frames to and from rows of octets, off the GIL.

One packet socket serves all ports of a node: the kernel tells the interface a frame came in by,
and takes the one to send it through.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.engine.datapath import mmsg_batch as at
from orchestrator.engine.datapath.libc import (
    EAGAIN,
    EINTR,
    ENOBUFS,
    last_error,
    poll,
    recvmmsg,
    sendmmsg,
)
from orchestrator.engine.datapath.mmsg_batch import Batch
from orchestrator.engine.index_types import PortIndex, int64
from orchestrator.engine.jit import compiled, inlined

MSG_DONTWAIT, MSG_TRUNC = 0x40, 0x20
VLAN_VALID = 1 << 4
"""TP_STATUS_VLAN_VALID of tpacket_auxdata: the kernel took a VLAN tag out of the frame."""
POLLIN = 1
SEND_TRIES = 10_000
"""Number of retries of a refused frame before `flush` gives it up: some 20 ms, 2 us each."""


def poll_words(sockets: Sequence[int]) -> np.ndarray:
    """One `struct pollfd` per descriptor as a word: descriptor, events and, in the top 16 bits,
    what `poll_sockets` found. Nothing is ever found at a descriptor of -1."""
    return np.array([socket & 0xFFFFFFFF | POLLIN << 32 for socket in sockets], np.int64)


@compiled
def poll_sockets(polled: np.ndarray) -> int:
    """Find out which of the sockets in `polled` (see `poll_words`) something waits in.

    One call for all of them: most have nothing most of the time, and a call for each of twenty is
    most of a turn of the loop. Returns how many have something, or -1.
    """
    return int64(poll(polled.ctypes.data, polled.size, 0))


@inlined
def is_socket_readable(polled: np.ndarray, place: int) -> bool:
    """True if the last `poll_sockets` reported frames or an error at this socket."""
    return (polled[place] >> 48) != 0


@inlined
def arm(batch: Batch, message: int, slot: int) -> None:
    """Let the next frame that arrives as number `message` of a batch go to row `slot`.

    The row is given in two parts with the place of a VLAN tag between them, for the kernel takes
    the tag out of every frame that it hands on, and `receive` puts it back.
    """
    row = batch.octets[slot].ctypes.data
    batch.slots[message] = slot
    batch.vectors[message, 0] = row
    batch.vectors[message, 1] = at.ADDRESS_OCTETS
    batch.vectors[message, 2] = row + at.ADDRESS_OCTETS + at.TAG_OCTETS
    batch.vectors[message, 3] = batch.octets.shape[1] - at.ADDRESS_OCTETS - at.TAG_OCTETS
    batch.headers[message, at.NAME_LENGTH] = at.SOCKADDR_OCTETS
    batch.headers[message, at.CONTROL_LENGTH] = at.CONTROL_OCTETS


@compiled
def receive(batch: Batch, socket: int, first_interface: int) -> int:
    """Take what has arrived, at most one batch. Returns the number of frames, or -errno.

    Frame k lies in row slots[k], came in through port ports[k] (its interface index less
    `first_interface`) and is lengths[k] long, which may be more than the row holds. Messages 0 to
    k must then be armed anew. 0: nothing is there.
    """
    count = int64(
        recvmmsg(
            socket,
            batch.headers.ctypes.data,
            batch.headers.shape[0],
            MSG_DONTWAIT | MSG_TRUNC,
            0,
        )
    )
    if count < 0:
        error = last_error(batch.scratch)
        return 0 if error in (EAGAIN, EINTR) else -error
    batch.state[at.CALLS] += 1
    for k in range(count):
        batch.ports[k] = (batch.names[k, 0] >> 32) - first_interface
        batch.lengths[k] = _restore_tag(batch, k, batch.headers[k, at.GOT] & 0xFFFFFFFF)
    return count


@inlined
def _restore_tag(batch: Batch, k: int, length: int) -> int:
    """Make row slots[k] what was on the wire; returns the frame's length.

    Words of the control message: 2 is status and length, 4 holds the tag (16 bits) and its type.
    """
    control = batch.control[k, at.STAMP_WORDS if batch.control[k, 1] == at.STAMP_KIND else 0 :]
    row = batch.octets[batch.slots[k]]
    tag = at.ADDRESS_OCTETS
    if control[2] & VLAN_VALID == 0:
        held = min(length, row.size - at.TAG_OCTETS)
        for octet in range(tag, held):
            row[octet] = row[octet + at.TAG_OCTETS]
        return length
    tag_type = (control[4] >> 16) & 0xFFFF
    row[tag] = tag_type >> 8
    row[tag + 1] = tag_type & 0xFF
    row[tag + 2] = (control[4] >> 8) & 0xFF
    row[tag + 3] = control[4] & 0xFF
    return length + at.TAG_OCTETS


@inlined
def post(batch: Batch, port: PortIndex, slot: int, known: int, length: int) -> bool:
    """Put a frame behind those that the next `flush` sends; False when the batch is full.

    The first `known` octets are those of row `slot`; zeros follow up to `length`. The row must
    stay as it is until then.
    """
    k = batch.state[at.QUEUED]
    if k == batch.headers.shape[0]:
        return False
    batch.slots[k] = slot
    batch.ports[k] = port
    batch.lengths[k] = length
    batch.headers[k, at.NAME] = batch.names[port].ctypes.data
    batch.headers[k, at.VECTORS] = 1 if known == length else 2
    batch.vectors[k, 0] = batch.octets[slot].ctypes.data
    batch.vectors[k, 1] = known
    batch.vectors[k, 3] = length - known
    batch.state[at.QUEUED] = k + 1
    return True


@compiled
def flush(batch: Batch, socket: int) -> int:
    """Send everything that was posted, in order. Returns the number of frames, or -errno of the
    last one that could not be sent.

    A frame that the kernel refuses for lack of space is offered again, and counted, as often as
    `send_retries` says. A frame that is refused then, or for another reason, which no waiting
    mends,
    is counted as unsent: the run is invalid. Those behind it are sent all the same, for they may
    be shorter or leave through other ports.
    """
    queued = batch.state[at.QUEUED]
    batch.state[at.QUEUED] = 0
    done = int64(0)
    tries = 0
    failed = int64(0)
    while done < queued:
        count = int64(
            sendmmsg(socket, batch.headers[done].ctypes.data, queued - done, MSG_DONTWAIT)
        )
        if count > 0:
            batch.state[at.CALLS] += 1
            restore_retries(batch, done, done + count)
            done += count
            tries = 0
            continue
        error = last_error(batch.scratch)
        if error == EINTR or (error in (EAGAIN, ENOBUFS) and tries < send_retries(batch, done)):
            tries += 1
            batch.state[at.RETRIES] += 1
            continue
        if tries >= SEND_TRIES:
            batch.refused[batch.ports[done]] = batch.lengths[done]
        batch.state[at.UNSENT] += 1
        failed = int64(error)
        done += 1
        tries = 0
    return queued if failed == 0 else -failed


@compiled
def send_retries(batch: Batch, k: int) -> int:
    """Number of retries for frame k: 0 if its port has refused a frame that was no longer
    as often as SEND_TRIES, and has taken none like it since.

    ENOBUFS is also what an interface says of which the peer drops the frame, as one whose MTU is
    smaller does: then no patience is enough, and all of it for each frame would stop the node.
    """
    return SEND_TRIES if batch.lengths[k] < batch.refused[batch.ports[k]] else 0


@compiled
def restore_retries(batch: Batch, first: int, last: int) -> None:
    """Allow retries again for ports that took a frame as long as one that they had refused."""
    for k in range(first, last):
        port = batch.ports[k]
        if batch.lengths[k] >= batch.refused[port]:
            batch.refused[port] = at.NOT_REFUSED
