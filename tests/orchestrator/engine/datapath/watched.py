"""A kernel that acts at the instant at which an index is stored: run with NUMBA_DISABLE_JIT=1.

It takes all that it is handed at once, and writes over all that is given back to it at once. So
who hands an entry over before it is written, or reads one that is given back, meets NOTHING.
"""

from __future__ import annotations

import sys

from orchestrator.engine.datapath import xdp_ring, xdp_socket_io
from orchestrator.engine.datapath.xdp_socket_io import DONE, FILL, HEADROOM, RX, TX
from tests.orchestrator.engine.datapath.played import Kernel, Ring

NOTHING = -1
FRAMES = 40


class Watching:
    """Its frames come with lengths of 60 and up, one more each; those that were sent are kept."""

    def __init__(self) -> None:
        self.kernel = Kernel(size=4, rows=16)
        self.rings = self.kernel.sides[0]
        self.came = 0
        self.sent: list[int] = []
        self._store = xdp_ring.store_index

    def store(self, address: int, value: int) -> None:
        """In the place of `store_index`."""
        self._store(address, value)
        rx, tx, fill, done = self.rings
        while tx.waiting() and done.waiting() < len(done.entries):
            row, length = tx.get()
            assert row != NOTHING, "a frame was handed over before it was written"
            assert length != NOTHING, "a length was handed over before it was written"
            self.sent.append(length)
            done.put(row)
        while fill.waiting() and rx.waiting() < len(rx.entries) and self.came < FRAMES:
            (row,) = fill.get()
            assert row != NOTHING, "a row was handed over before it was written"
            rx.put(row + HEADROOM, 60 + self.came)
            self.came += 1
        for each in self.rings:
            spoil(each)


def spoil(of: Ring) -> None:
    """Write over every entry that nobody is to read."""
    size = len(of.entries)
    first = int(of.indices[1])
    held = {(first + place) % size for place in range(of.waiting())}
    for place in set(range(size)) - held:
        of.entries[place] = NOTHING


def receiving() -> None:
    """Every frame is read before its entry is given back, and rows go back whole."""
    watching = Watching()
    kernel = watching.kernel
    xdp_ring.store_index = watching.store
    xdp_socket_io.fill_rings(kernel.pool, kernel.xdp)
    lengths: list[int] = []
    while len(lengths) < FRAMES:
        count = xdp_socket_io.receive(kernel.xdp, kernel.batch, 0)
        assert count > 0, "no frame comes any more"
        for k in range(count):
            lengths.append(int(kernel.batch.lengths[k]))
            xdp_socket_io.refill(kernel.xdp, 0, kernel.batch.slots[k], kernel.octets.shape[1])
    assert lengths == list(range(60, 60 + FRAMES))
    assert watching.rings[FILL].waiting() == len(watching.rings[FILL].entries)
    assert watching.rings[RX].waiting() == 0


def sending() -> None:
    """Every frame is written before it is handed over, and its row read before that is back."""
    watching = Watching()
    kernel = watching.kernel
    xdp_ring.store_index = watching.store
    for number in range(FRAMES):
        kernel.pool.clock[0].free -= 1
        slot = int(kernel.pool.free[kernel.pool.clock[0].free])
        xdp_socket_io.post(kernel.pool, kernel.xdp, kernel.batch, 0, slot, 60, 60 + number)
        xdp_socket_io.reclaim_sent(kernel.pool, kernel.xdp, 0)
    assert watching.sent == list(range(60, 60 + FRAMES))
    assert sorted(kernel.pool.free.tolist()) == list(range(16)), "a row is lost or there twice"
    assert watching.rings[TX].waiting() == watching.rings[DONE].waiting() == 0


if __name__ == "__main__":
    {"receiving": receiving, "sending": sending}[sys.argv[1]]()
