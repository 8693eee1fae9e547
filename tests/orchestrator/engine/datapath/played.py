"""A pool and rings in plain memory, whose other side, the kernel's, is played by the test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator.engine.datapath import mmsg_batch as memory
from orchestrator.engine.datapath import xdp_ring as of
from orchestrator.engine.datapath.xdp_socket_io import (
    DONE,
    FILL,
    FRAME_OCTETS,
    HEADROOM,
    RX,
    TX,
    Rings,
)
from orchestrator.engine.records import CLOCK


class Pool(NamedTuple):
    """As much of a world as ports need."""

    octets: np.ndarray
    clock: np.ndarray
    free: np.ndarray
    outbox: np.ndarray
    outbox_count: np.ndarray


def pool(octets: np.ndarray, wires: int = 1) -> Pool:
    """Every row of `octets` is unused; row 0 is taken first."""
    clock = np.zeros(1, CLOCK).view(np.recarray)
    clock[0].free = clock[0].frames_used = len(octets)
    free = np.arange(len(octets) - 1, -1, -1, dtype=np.int64)
    return Pool(octets, clock, free, np.zeros((wires, 256), np.int64), np.zeros(wires, np.int64))


class Ring:
    """One ring and the kernel's side of it. `begins` is what both indices begin at."""

    def __init__(self, size: int, entry_octets: int = 8, begins: int = 0) -> None:
        self.words = np.zeros(of.WORDS, np.int64)
        self.indices = np.full(2, begins & 0xFFFFFFFF, np.uint32)
        self.flags = np.zeros(1, np.uint32)
        self.entries = np.zeros((size, entry_octets // 8), np.int64)
        self.words[of.PRODUCER] = self.indices[0:].ctypes.data
        self.words[of.CONSUMER] = self.indices[1:].ctypes.data
        self.words[of.FLAGS] = self.flags.ctypes.data
        self.words[of.ENTRIES] = self.entries.ctypes.data
        self.words[of.SIZE] = size
        self.words[of.AT] = self.words[of.SEEN] = begins

    def waiting(self) -> int:
        """Entries between the indices, as the kernel sees them."""
        return (int(self.indices[0]) - int(self.indices[1])) % 2**32

    def put(self, *entry: int) -> None:
        """The kernel puts an entry, and hands it over."""
        assert self.waiting() < len(self.entries)
        self.entries[int(self.indices[0]) % len(self.entries)] = entry
        self.indices[0] = (int(self.indices[0]) + 1) % 2**32

    def get(self) -> list[int]:
        """The kernel takes an entry."""
        assert self.waiting() > 0
        entry = self.entries[int(self.indices[1]) % len(self.entries)].tolist()
        self.indices[1] = (int(self.indices[1]) + 1) % 2**32
        return entry


class Kernel:
    """Sockets of one node in plain memory, their pool and their batches."""

    def __init__(self, sockets: int = 1, size: int = 4, rows: int = 32, stride: int = 2048) -> None:
        whole = np.zeros(rows * stride + HEADROOM, np.uint8)
        self.whole = whole  # as the kernel addresses it
        self.octets = whole[HEADROOM:].reshape(rows, stride)
        self.pool = pool(self.octets, sockets)
        self.batch = memory.receiver(self.octets, 8)
        octets = {RX: FRAME_OCTETS, TX: FRAME_OCTETS, FILL: 8, DONE: 8}
        self.sides = [[Ring(size, octets[ring]) for ring in sorted(octets)] for _ in range(sockets)]
        self.xdp = Rings(
            rings=np.array([[ring.words for ring in rings] for rings in self.sides]),
            sockets=np.array([[-1, port, 0, 0] for port in range(sockets)], np.int64),
            first=np.array([0, sockets]),
            turn=np.zeros(1, np.int64),
            sender=np.arange(sockets),
            origin=np.zeros(8, np.int64),
        )

    @property
    def unused(self) -> int:
        """Rows in the pool."""
        return int(self.pool.clock[0].free)

    def arrives(self, socket: int, octets: bytes, at: int = HEADROOM) -> None:
        """The kernel receives a frame into a row that it was given, `at` octets behind it."""
        (row,) = self.sides[socket][FILL].get()
        self.whole[row + at : row + at + len(octets)] = list(octets)
        self.sides[socket][RX].put(row + at, len(octets))

    def sends(self, socket: int) -> bytes:
        """The kernel sends a frame, and gives its row back."""
        address, length = self.sides[socket][TX].get()
        octets = self.whole[address : address + length].tobytes()
        self.sides[socket][DONE].put(address)
        return octets
