"""Packet observer: frames of an interface with the kernel's timestamps.

A packet socket with a ring that is read only after the measurement (TPACKET_V2,
linux/if_packet.h): the kernel writes the first octets and the time of each frame into memory, and a
full ring drops later frames, counted. So observation takes no core from the observed data path.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
import time
from dataclasses import dataclass

import numpy as np

from orchestrator.engine.frames import frame_layout
from orchestrator.errors import RunFailed
from orchestrator.targets.software.raw_sockets import (
    ETH_P_ALL,
    PACKET_IGNORE_OUTGOING,
    PACKET_STATISTICS,
    SOL_PACKET,
)

PACKET_RX_RING, PACKET_VERSION, TPACKET_V2 = 5, 10, 1
SO_TIMESTAMPNS = 35
SLOT, BLOCK = 256, 65_536
USER, VLAN_VALID = 1, 1 << 4
"""Bits of tp_status."""
OUTGOING = 4
"""sll_pkttype of what the interface itself sends."""
SNAP = 128
OFFSET_TRIES = 200


def ring(frames: int, *, outgoing: bool = False, interface: int = 0) -> socket.socket:
    """A packet socket with a ring for so many frames, of one interface of the calling thread's
    network namespace or of all (0); `outgoing`: also of what is sent through them."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    return receiving(raw, frames, outgoing=outgoing, interface=interface)


def receiving(
    raw: socket.socket, frames: int, *, outgoing: bool = False, interface: int = 0
) -> socket.socket:
    """A packet socket that was not bound so far, with such a ring; it is closed when that fails."""
    try:
        raw.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V2)
        raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        if not outgoing:
            raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        per_block = BLOCK // SLOT
        blocks = -(-frames // per_block)
        request = struct.pack("4I", BLOCK, blocks, SLOT, blocks * per_block)
        raw.setsockopt(SOL_PACKET, PACKET_RX_RING, request)
        _bind(raw, interface)
    except BaseException:
        raw.close()
        raise
    return raw


def _bind(raw: socket.socket, interface: int) -> None:
    """Bind it. (Python's own `bind` wants an interface's name, which means something only in
    the socket's own namespace.)"""
    protocol = socket.htons(ETH_P_ALL)
    address = struct.pack("HHiHBB8s", socket.AF_PACKET, protocol, interface, 0, 0, 0, b"")
    library = ctypes.CDLL(None, use_errno=True)
    if library.bind(raw.fileno(), address, len(address)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


@dataclass(frozen=True)
class Offset:
    """CLOCK_REALTIME less CLOCK_MONOTONIC, and by how much that may be wrong (ns)."""

    ns: int
    apart_ns: int

    @classmethod
    def now(cls) -> Offset:
        """Read as closely together as can be."""
        best = cls(0, 1 << 62)
        for _ in range(OFFSET_TRIES):
            before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
            apart = (after - before + 1) // 2
            if apart < best.apart_ns:
                best = cls(real - (before + after) // 2, apart)
        return best


@dataclass(frozen=True)
class ObservedFrames:
    """Frames in the order in which the kernel had them.

    `times_ns` int64[n] by CLOCK_MONOTONIC; `lengths` int64[n] with the VLAN tag, without FCS;
    `outgoing` bool[n]; `octets` uint8[n, SNAP] with the tag where it was on the wire.
    """

    times_ns: np.ndarray
    lengths: np.ndarray
    outgoing: np.ndarray
    octets: np.ndarray
    dropped: int

    def only(self, wanted: np.ndarray) -> ObservedFrames:
        """Those frames that are wanted, bool[n]."""
        return ObservedFrames(
            self.times_ns[wanted],
            self.lengths[wanted],
            self.outgoing[wanted],
            self.octets[wanted],
            self.dropped,
        )

    def word(self, at: int, octets: int) -> np.ndarray:
        """int64[n]: the big-endian number that lies at an offset."""
        found = np.zeros(len(self.octets), np.int64)
        for place in range(at, at + octets):
            found = (found << 8) | self.octets[:, place]
        return found

    @property
    def data(self) -> ObservedFrames:
        """Data frames of tailback."""
        magic = self.word(frame_layout.MAGIC, 4) == frame_layout.MAGIC_WORD
        return self.only(magic & (self.word(frame_layout.TYPE, 2) == frame_layout.IPV4_TYPE))

    @property
    def notifications(self) -> ObservedFrames:
        """CNMs."""
        return self.only(self.word(frame_layout.TYPE, 2) == frame_layout.CNM_TYPE)

    @property
    def pauses(self) -> ObservedFrames:
        """PAUSE frames; they have no tag."""
        kind = self.word(frame_layout.VLAN, 2) == frame_layout.MAC_CONTROL_TYPE
        return self.only(kind & (self.word(frame_layout.VLAN + 2, 2) == frame_layout.PAUSE_OPCODE))

    @property
    def sequence(self) -> np.ndarray:
        """Of data frames, int64[n]."""
        return self.word(frame_layout.SEQUENCE, 8)

    @property
    def created_ps(self) -> np.ndarray:
        """Times at which the sources created them, int64[n]."""
        return self.word(frame_layout.CREATED, 8)


class Observer:
    """A ring that is being filled. Create it before sources send, `take` it when all is quiet."""

    def __init__(self, raw: socket.socket, frames: int) -> None:
        self._raw = raw
        self._slots = -(-frames // (BLOCK // SLOT)) * (BLOCK // SLOT)
        self._memory = mmap.mmap(raw.fileno(), self._slots * SLOT)

    def take(self, offset_ns: int) -> ObservedFrames:
        """Frames received; `offset_ns`: CLOCK_REALTIME less CLOCK_MONOTONIC. Closes the socket."""
        slots = np.frombuffer(self._memory, np.uint8).reshape(self._slots, SLOT)
        status = slots[:, 0:4].copy().view("<u4")[:, 0]
        count = int(np.argmin(status & USER)) if not (status & USER).all() else self._slots
        octets = slots[:count].copy()
        del slots
        _, dropped = struct.unpack("II", self._raw.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)[:8])
        self._memory.close()
        self._raw.close()
        return unpacked(octets, offset_ns, dropped)


def unpacked(slots: np.ndarray, offset_ns: int, dropped: int) -> ObservedFrames:
    """Frames from the slots of a ring, uint8[n, SLOT]: struct tpacket2_hdr, sockaddr_ll, octets."""
    if not len(slots):
        none = np.zeros(0, np.int64)
        return ObservedFrames(none, none, none.astype(bool), np.zeros((0, SNAP), np.uint8), dropped)
    header = slots[:, :32].copy()
    words = header.view("<u4").astype(np.int64)
    status, length, seconds, nanoseconds = words[:, 0], words[:, 1], words[:, 4], words[:, 5]
    start = header[:, 12:14].copy().view("<u2")[:, 0].astype(np.int64)
    if start.min() < 32 or start.max() > SLOT - SNAP:
        raise RunFailed("calibrate: the kernel's ring has frames where they are not expected")
    octets = np.zeros((len(slots), SNAP), np.uint8)
    for place in set(start.tolist()):  # a frame that leaves and one that comes differ
        mine = start == place
        octets[mine] = slots[mine, place : place + SNAP]
    tags = header[:, 24:26].copy().view("<u2")[:, 0]
    tagged = (status & VLAN_VALID) != 0
    if tagged.any():  # the kernel took the tag out, and reports it with the frame
        rows = octets[tagged]
        put = np.zeros_like(rows)
        put[:, : frame_layout.VLAN] = rows[:, : frame_layout.VLAN]
        put[:, frame_layout.VLAN : frame_layout.VLAN + 2] = (
            frame_layout.VLAN_TYPE >> 8,
            frame_layout.VLAN_TYPE & 0xFF,
        )
        put[:, frame_layout.VLAN + 2] = tags[tagged] >> 8
        put[:, frame_layout.VLAN + 3] = tags[tagged] & 0xFF
        put[:, frame_layout.VLAN + 4 :] = rows[:, frame_layout.VLAN : -frame_layout.TAG_OCTETS]
        octets[tagged] = put
    return ObservedFrames(
        times_ns=seconds * 10**9 + nanoseconds - offset_ns,
        lengths=length + np.where(tagged, frame_layout.TAG_OCTETS, 0),
        outgoing=slots[:, 42] == OUTGOING,
        octets=octets,
        dropped=dropped,
    )
