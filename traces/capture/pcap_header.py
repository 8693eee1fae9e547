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

ACCEPTED = "pcap or pcapng is expected, plain or compressed by gzip, bzip2, xz, LZ4 or zstd"
ARCHIVES = {
    b"PK\x03\x04": "zip archive",
    b"PK\x05\x06": "zip archive",
    b"7z\xbc\xaf\x27\x1c": "7z archive",
    b"Rar!\x1a\x07": "rar archive",
    b"!<arch>\n": "ar archive",
}
TAR_MAGIC, TAR_MAGIC_AT = b"ustar", 257
CAPTURES = {
    b"snoop\0\0\0": "snoop",
    b"btsnoop\0": "btsnoop",
    b"GMBU": "Network Monitor",
    b"RTSS": "Network Monitor",
    b"XCP\0": "NetXRay",
    b"TRSNIFF data    \x1a": "Sniffer",
}
"""Other formats of captures that editcap of Wireshark reads."""
MAGIC_OCTETS = 512
"""Octets by which a file of another format is recognised."""


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


def refusal(begin: bytes) -> str:
    """Sentence about a file that is neither pcap nor pcapng, by its first MAGIC_OCTETS octets."""
    for magic, name in ARCHIVES.items():
        if begin.startswith(magic):
            return f"a {name}, not a capture; unpack it: {ACCEPTED}"
    if begin[TAR_MAGIC_AT:].startswith(TAR_MAGIC):
        return f"a tar archive, not a capture; unpack it: {ACCEPTED}"
    for magic, name in CAPTURES.items():
        if begin.startswith(magic):
            return (
                f"a capture of format {name}, which is not read; `editcap -F pcapng` converts it: "
                f"{ACCEPTED}"
            )
    return (
        "not a pcap or pcapng file; it must begin with a1b2c3d4 or a1b23c4d in either byte order, "
        "or with 0a0d0d0a"
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
