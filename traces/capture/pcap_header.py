"""Parser of the pcap file header."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from traces.capture.capture_interface import Interface
from traces.capture.damage import Damaged

HEADER = 24
"""Octets before the first record."""
MICROSECONDS, NANOSECONDS = 0xA1B2C3D4, 0xA1B23C4D
MODIFIED = 0xA1B2CD34
"""Alexey Kuznetzov's variant, whose records are longer; written by some old Linux tools."""
LINKTYPE = 0x03FFFFFF
FCS_PRESENT, FCS_SHIFT = 1 << 26, 28


@dataclass(frozen=True)
class Pcap:
    """Fields of the header: byte order, ns per unit of the records' second word, interface."""

    swapped: bool
    unit: int
    interface: Interface


def is_pcap(begin: bytes) -> bool:
    """True if a file begins with a pcap magic number."""
    return any(
        begin[:4] in (struct.pack("<I", magic), struct.pack(">I", magic))
        for magic in (MICROSECONDS, NANOSECONDS, MODIFIED)
    )


def parse(begin: bytes, name: str) -> Pcap:
    """Read the header; the interface is called `name`. Raises Damaged."""
    for order in "<>":
        (magic,) = struct.unpack_from(order + "I", begin)
        if magic == MODIFIED:
            raise Damaged(0, "a modified pcap file (a1b2cd34); a1b2c3d4 and a1b23c4d are read")
        if magic in (MICROSECONDS, NANOSECONDS):
            break
    if len(begin) < HEADER:
        raise Damaged(0, f"the file ends inside its header ({len(begin)} of {HEADER} octets)")
    # the time zone is ignored, as every reader does: all writers leave it 0
    major, _, _, _, snaplen, link = struct.unpack_from(order + "HHiIII", begin, 4)
    if major != 2:
        raise Damaged(4, f"pcap of version {major}; version 2 is read")
    return Pcap(
        swapped=order == ">",
        unit=1 if magic == NANOSECONDS else 1000,
        interface=Interface(
            name=name,
            linktype=link & LINKTYPE,
            snaplen=snaplen,
            tsresol=9 if magic == NANOSECONDS else 6,
            fcs_octets=(link >> FCS_SHIFT) * 2 if link & FCS_PRESENT else 0,
        ),
    )
