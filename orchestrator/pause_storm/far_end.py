"""Observer at the far end of a cable: counts received PAUSE and PFC frames on a local interface.

A packet socket that receives MAC control frames alone, into a ring that the kernel fills and stamps
(TPACKET_V2) and that is emptied now and then. Many NICs keep these frames to themselves; a veth, a
tap on the link or a switch's port under Linux shows them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct

import numpy as np

from orchestrator.calibration.packet_observer import (
    BLOCK,
    PACKET_RX_RING,
    PACKET_VERSION,
    SLOT,
    SO_TIMESTAMPNS,
    TPACKET_V2,
    USER,
    unpacked,
)
from orchestrator.engine.frames import frame_layout as at
from orchestrator.pause_storm.hold_accounting import FAR_END, account_all, close, new_ledger
from orchestrator.targets.software.raw_sockets import (
    PACKET_IGNORE_OUTGOING,
    PACKET_STATISTICS,
    SOL_PACKET,
)

SLOTS = 1 << 15
"""That may wait: 8 MB; at 100 Gb/s quanta some seconds."""


class FarEnd:
    """Receiver of MAC control frames on an interface from one sender. Make it before the storm
    begins.

    `row` and `hold_ns` are those of the hold; `notes` is where lapses are written down.
    """

    def __init__(self, interface: int, mac: str, row: int, hold_ns: int, notes: np.ndarray) -> None:
        self._source = np.frombuffer(bytes.fromhex(mac.replace(":", "")), np.uint8)
        self._row, self._hold_ns, self._notes = row, hold_ns, notes
        self.ledger = new_ledger(row + 1)
        self.dropped = 0
        self._next = 0
        self._raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            self._raw.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
            self._raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self._raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            request = struct.pack("4I", BLOCK, SLOTS * SLOT // BLOCK, SLOT, SLOTS)
            self._raw.setsockopt(SOL_PACKET, PACKET_RX_RING, request)
            self._memory = mmap.mmap(self._raw.fileno(), SLOTS * SLOT)
            self._slots = np.frombuffer(self._memory, np.uint8).reshape(SLOTS, SLOT)
            self._status = self._slots[:, :4].view("<u4")[:, 0]
            _subscribe_mac_control(self._raw, interface)
        except BaseException:
            self._raw.close()
            raise

    def take(self) -> None:
        """Account for all that has come since this was last done."""
        while True:
            ready = np.flatnonzero((self._status[self._next :] & USER) == 0)
            end = self._next + int(ready[0]) if len(ready) else SLOTS
            if end == self._next:
                return
            self._account(self._slots[self._next : end].copy())
            self._status[self._next : end] = 0
            self._next = end % SLOTS
            if end < SLOTS:
                return

    def _account(self, slots: np.ndarray) -> None:
        seen = unpacked(slots, 0, 0)
        mine = (seen.octets[:, at.SOURCE_MAC : at.SOURCE_MAC + 6] == self._source).all(axis=1)
        octets = seen.octets[mine]
        plain = octets[:, at.PAUSE_OPCODE_AT] == at.PAUSE_OPCODE >> 8
        own = octets[:, at.PAUSE_QUANTA_AT : at.PAUSE_QUANTA_AT + 2].any(axis=1)
        classes = octets[:, at.PFC_QUANTA_AT : at.PFC_QUANTA_AT + 16].any(axis=1)
        holds = np.where(plain, own, classes).astype(np.int64)
        times = np.ascontiguousarray(seen.times_ns[mine])
        account_all(*(self.ledger, self._row, holds, times, self._hold_ns, FAR_END, self._notes))

    def end(self) -> None:
        """Take the rest, close the books and the socket."""
        self.take()
        close(self.ledger, self._row)
        _, self.dropped = struct.unpack(
            "II", self._raw.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)[:8]
        )
        self.let_go()

    def let_go(self) -> None:
        """Close it."""
        del self._status, self._slots
        self._memory.close()
        self._raw.close()


def _subscribe_mac_control(raw: socket.socket, interface: int) -> None:
    """Hear MAC control frames of an interface from now on."""
    protocol = socket.htons(at.MAC_CONTROL_TYPE)
    address = struct.pack("HHiHBB8s", socket.AF_PACKET, protocol, interface, 0, 0, 0, b"")
    library = ctypes.CDLL(None, use_errno=True)
    if library.bind(raw.fileno(), address, len(address)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
