"""Hop stamps (INT): a record of each port in a data frame, echoed by its acknowledgement.

Where they begin in a frame is the frame type's to say (`orchestrator.engine.frames`), so that types
that plugins bring are read as well. Words are as on the wire: docs/settled/frames.md.
"""

from __future__ import annotations

from typing import Any

import dpkt  # type: ignore[import-untyped]
import numpy as np

from orchestrator.engine.frames import FOREIGN, captured_tables, decode
from orchestrator.engine.frames.captured_codec import header_shape
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.frames.frame_codec import matches_type
from orchestrator.engine.frames.roce_frame_types import ROCE_TYPES
from orchestrator.engine.frames.telemetry_header import KILO, MOST_STAMPS, STAMP_OCTETS


class Stamp(dpkt.Packet):
    """Stamp of one port: queued octets, or the signal where a frame keeps one stamp; octets sent;
    ns; kbit/s; its address index."""

    __hdr__ = (
        ("queued", "I", 0),
        ("sent", "I", 0),
        ("time_ns", "I", 0),
        ("rate_kbps", "I", 0),
        ("port", "I", 0),
    )

    @property
    def rate_bps(self) -> int:
        """The rate in bit/s."""
        return int(self.rate_kbps) * KILO


class Stamps(dpkt.Packet):
    """The room for stamps: `stamped` ports have stamped, `stamps` are those that are there; `data`
    is what follows the room."""

    __hdr__ = (("room", "B", 0), ("stamped", "B", 0))
    stamps: list[Stamp]
    data: Any

    def unpack(self, buf: bytes) -> None:
        dpkt.Packet.unpack(self, buf)
        size = self.room * STAMP_OCTETS
        if self.room > MOST_STAMPS or len(self.data) < size:
            raise dpkt.UnpackError(f"room for {self.room} stamps in {len(self.data)} octets")
        there = min(self.room, self.stamped)
        places = range(0, there * STAMP_OCTETS, STAMP_OCTETS)
        self.stamps = [Stamp(self.data[at : at + STAMP_OCTETS]) for at in places]
        self.data = self.data[size:]

    def __bytes__(self) -> bytes:
        said = b"".join(bytes(stamp) for stamp in self.stamps)
        return self.pack_hdr() + said.ljust(self.room * STAMP_OCTETS, b"\0") + bytes(self.data)

    def __len__(self) -> int:
        return 2 + self.room * STAMP_OCTETS + len(self.data)


def stamps(octets: bytes, length: int | None = None) -> Stamps | None:
    """The stamps in a frame, Ethernet header first; None where it has no room for any.

    `length` is that on the wire where `octets` are only the beginning of the frame.
    """
    row = np.frombuffer(octets, np.uint8)
    long = len(octets) if length is None else length
    kind = decode(row, long, empty_descriptors(1)[0])
    types = captured_tables()[int(header_shape(row, len(octets)))]
    begin = 0 if kind == FOREIGN else int(types[kind].stamps)
    if any(matches_type(types[each.kind], row, long, len(row)) for each in ROCE_TYPES):
        begin = 0
    if begin == 0 or len(octets) <= begin or octets[begin] == 0:
        return None
    try:
        return Stamps(octets[begin:])
    except dpkt.UnpackError:
        return None
