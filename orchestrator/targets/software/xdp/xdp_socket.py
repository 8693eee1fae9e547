"""AF_XDP socket (linux/if_xdp.h): a queue of an interface, and four rings in shared memory."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import socket
import struct
import time

import numpy as np

from orchestrator.engine.datapath import xdp_ring as of
from orchestrator.engine.datapath.xdp_socket_io import (
    DONE,
    FILL,
    FRAME_OCTETS,
    HEADROOM,
    ROW_OCTETS,
    RX,
    TX,
)

AF_XDP, SOL_XDP = 44, 283
MMAP_OFFSETS, RX_RING, TX_RING, UMEM_REG, FILL_RING, DONE_RING, STATISTICS, OPTIONS = range(1, 9)
SHARED_UMEM, COPY, ZERO_COPY, USE_NEED_WAKEUP = 1, 2, 4, 8
"""Flags of a bind."""
RINGS = {  # option that makes it, offset to map it from, octets of an entry
    RX: (RX_RING, 0, FRAME_OCTETS),
    TX: (TX_RING, 0x80000000, FRAME_OCTETS),
    FILL: (FILL_RING, 0x100000000, ROW_OCTETS),
    DONE: (DONE_RING, 0x180000000, ROW_OCTETS),
}
OFFSETS = 128
"""Octets of `struct xdp_mmap_offsets`: for each ring those of its producer, consumer, entries and
flags."""
FREE_S, FREE_POLL_S = 2.0, 0.005
"""The kernel lets go of a queue some time after its last socket was closed."""

_library = ctypes.CDLL(None, use_errno=True)


def memory(rows: int, stride: int) -> np.ndarray:
    """Room for frames that sockets can share: uint8[rows, stride], on pages of its own.

    Row i begins HEADROOM octets behind the beginning of chunk i: its end lies in the headroom of
    the next one, and no frame reaches so far.
    """
    pages = mmap.mmap(-1, rows * stride + mmap.PAGESIZE)
    return np.frombuffer(pages, np.uint8, rows * stride, HEADROOM).reshape(rows, stride)


class XdpSocket:
    """A socket bound to a queue of an interface of the calling thread's namespace.

    It lends `octets` (of `memory`) to the kernel, or shares them with `other`, a socket that does.
    `entries` is the size of each ring, a power of two. Zero-copy is used where the driver has it,
    unless `copy`. Raises OSError.
    """

    def __init__(
        self,
        octets: np.ndarray,
        interface: int,
        queue: int = 0,
        other: XdpSocket | None = None,
        entries: int = 1024,
        copy: bool = False,
    ) -> None:
        self._socket = socket.socket(AF_XDP, socket.SOCK_RAW, 0)
        self._maps: list[mmap.mmap] = []
        self.rings = np.zeros((4, of.WORDS), np.int64)
        """The words of the rings, for `orchestrator.engine.datapath.xdp_ring`; of a copy of them
        once a thread has it: see `shows`."""
        try:
            if other is None:
                rows, stride = octets.shape
                start = octets.ctypes.data - HEADROOM
                registration = struct.pack("QQIIII", start, rows * stride, stride, 0, 0, 0)
                self._socket.setsockopt(SOL_XDP, UMEM_REG, registration)
            for option, _, _ in RINGS.values():
                self._socket.setsockopt(SOL_XDP, option, entries)
            offsets = struct.unpack("16Q", self._socket.getsockopt(SOL_XDP, MMAP_OFFSETS, OFFSETS))
            for ring, at in ((RX, 0), (TX, 4), (FILL, 8), (DONE, 12)):
                self._map(ring, offsets[at : at + 4], entries)
            if other is None:
                self._bind((COPY if copy else 0) | USE_NEED_WAKEUP, interface, queue, 0)
            else:
                self._bind(SHARED_UMEM, interface, queue, other.fileno())
        except BaseException:
            self.close()
            raise

    def _map(self, ring: int, offsets: tuple[int, ...], entries: int) -> None:
        producer, consumer, first, flags = offsets
        _, begins, octets = RINGS[ring]
        pages = mmap.mmap(
            *(self._socket.fileno(), first + entries * octets),
            flags=mmap.MAP_SHARED | mmap.MAP_POPULATE,
            prot=mmap.PROT_READ | mmap.PROT_WRITE,
            offset=begins,
        )
        self._maps.append(pages)
        base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        self.rings[ring, of.PRODUCER] = base + producer
        self.rings[ring, of.CONSUMER] = base + consumer
        self.rings[ring, of.ENTRIES] = base + first
        self.rings[ring, of.FLAGS] = base + flags
        self.rings[ring, of.SIZE] = entries

    def _bind(self, flags: int, interface: int, queue: int, shared: int) -> None:
        """Bind; wait where the queue is still another socket's that was closed just now."""
        address = struct.pack("HHIII", AF_XDP, flags, interface, queue, shared)
        end = time.monotonic() + FREE_S
        while _library.bind(self.fileno(), address, len(address)) != 0:
            code = ctypes.get_errno()
            if code != errno.EBUSY or time.monotonic() > end:
                raise OSError(code, os.strerror(code))
            time.sleep(FREE_POLL_S)

    def fileno(self) -> int:
        """Its descriptor."""
        return self._socket.fileno()

    @property
    def zero_copy(self) -> bool:
        """Return whether the driver uses the lent memory without copying."""
        return bool(struct.unpack("I", self._socket.getsockopt(SOL_XDP, OPTIONS, 4))[0] & 1)

    def statistics(self) -> tuple[int, int]:
        """Frames that reached the socket since it was opened, and those of them it had no room
        for: no row to receive into, none in its ring, or longer than a row."""
        dropped, _, _, full, *_ = struct.unpack(
            "6Q", self._socket.getsockopt(SOL_XDP, STATISTICS, 48)
        )
        ring = self.rings[RX]
        produced = ctypes.c_uint32.from_address(int(ring[of.PRODUCER])).value
        came = int(ring[of.AT]) + int(of.index_distance(produced, int(ring[of.AT])))
        return came + dropped + full, dropped + full

    def shows(self, rings: np.ndarray) -> None:
        """`rings` are its words from now on, int64[4, 8]: of a thread, which counts in them."""
        rings[:] = self.rings
        self.rings = rings

    def close(self) -> None:
        """Close the socket; its rings live until their last user ends."""
        self._socket.close()
        self._maps.clear()
