"""Message buffers of recvmmsg and sendmmsg calls, laid out as int64 words.

A batch has n messages. `struct mmsghdr` is 8 words, `struct iovec` 2, `struct sockaddr_ll` 3 (20
octets and padding). A control message with times of arrival, where a socket was asked for them, is
8 words, one with `struct tpacket_auxdata` 5. Little-endian, 64-bit.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from orchestrator.errors import Refused

MMSGHDR, IOVEC, SOCKADDR, CONTROL = 8, 2, 3, 13
NAME, NAME_LENGTH, VECTOR, VECTORS, CONTROL_AT, CONTROL_LENGTH, FLAGS, GOT = range(8)
"""Words of a `struct mmsghdr`; GOT is msg_len, what was received or sent."""
SOCKADDR_OCTETS, CONTROL_OCTETS = 20, 104
STAMP_WORDS = 8
STAMP_KIND = 1 | 37 << 32
"""Word 1 of a control message that tells times of arrival: SOL_SOCKET, SCM_TIMESTAMPING. It comes
before the other one."""
AF_PACKET = 17

ADDRESS_OCTETS = 12
"""Destination and source address: what lies before a VLAN tag."""
TAG_OCTETS = 4


class Batch(NamedTuple):
    """Messages for recvmmsg or sendmmsg; every address in it points into arrays it holds."""

    headers: np.ndarray  # int64[n, 8]: struct mmsghdr
    vectors: np.ndarray  # int64[n, 4]: two struct iovec each
    names: np.ndarray  # int64[m, 3]: struct sockaddr_ll; receiving: per message, sending: per port
    control: np.ndarray  # int64[n, 13]: control messages, of times and tpacket_auxdata
    slots: np.ndarray  # int64[n]: the row of `octets` that a message lies in
    lengths: np.ndarray  # int64[n]: octets of the frame on the wire, without FCS
    ports: np.ndarray  # int64[n]: port it came in through, or leaves through
    state: np.ndarray  # int64[4]: see QUEUED and the following
    refused: np.ndarray  # int64[m]: sending, per port: frames this long wait no more, see `flush`
    scratch: np.ndarray  # int64[1]
    octets: np.ndarray  # uint8[slots, stride]
    zeros: np.ndarray  # uint8[stride]: padding of frames that are sent


QUEUED, CALLS, RETRIES, UNSENT = range(4)
"""Words of `Batch.state`: messages waiting to be sent; system calls that moved frames; sends that
the kernel refused for lack of space and that were repeated; frames that could not be sent."""

NOT_REFUSED = 2**62
"""`Batch.refused` of a port that no frame was offered to in vain: longer than any frame."""

LONGEST = 9216
"""The longest frame that can be padded."""


def _batch(octets: np.ndarray, messages: int, names: int) -> Batch:
    if sys.byteorder != "little" or sys.maxsize < 2**32:
        raise Refused(
            "target software",
            "the compiled socket calls are written for 64-bit little-endian machines",
            "Use the target simulated here.",
        )
    if octets.dtype != np.uint8 or not octets.flags.c_contiguous:
        raise ValueError("octets must be a C-contiguous uint8 array")
    return Batch(
        headers=np.zeros((messages, MMSGHDR), np.int64),
        vectors=np.zeros((messages, 2 * IOVEC), np.int64),
        names=np.zeros((names, SOCKADDR), np.int64),
        control=np.zeros((messages, CONTROL), np.int64),
        slots=np.full(messages, -1, np.int64),
        lengths=np.zeros(messages, np.int64),
        ports=np.zeros(messages, np.int64),
        state=np.zeros(4, np.int64),
        refused=np.full(names, NOT_REFUSED, np.int64),
        scratch=np.zeros(1, np.int64),
        octets=octets,
        zeros=np.zeros(LONGEST, np.uint8),
    )


def receiver(octets: np.ndarray, messages: int) -> Batch:
    """A batch to receive into rows of `octets`; `arm` each message with a row before use."""
    batch = _batch(octets, messages, messages)
    rows = np.arange(messages)
    batch.headers[:, NAME] = batch.names.ctypes.data + rows * SOCKADDR * 8
    batch.headers[:, VECTOR] = batch.vectors.ctypes.data + rows * 2 * IOVEC * 8
    batch.headers[:, VECTORS] = 2
    batch.headers[:, CONTROL_AT] = batch.control.ctypes.data + rows * CONTROL * 8
    return batch


def sender(octets: np.ndarray, messages: int, interfaces: list[int]) -> Batch:
    """A batch to send rows of `octets`; port p leaves through the interface index interfaces[p]."""
    batch = _batch(octets, messages, len(interfaces))
    batch.names[:, 0] = AF_PACKET | (np.array(interfaces, np.int64) << 32)
    batch.headers[:, NAME_LENGTH] = SOCKADDR_OCTETS
    batch.headers[:, VECTOR] = batch.vectors.ctypes.data + np.arange(messages) * 2 * IOVEC * 8
    batch.vectors[:, 2] = batch.zeros.ctypes.data
    return batch
