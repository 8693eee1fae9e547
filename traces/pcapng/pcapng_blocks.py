"""Block types and options of pcapng, and the encoding of small blocks."""

from __future__ import annotations

import struct

SECTION, INTERFACE, OBSOLETE_PACKET, SIMPLE_PACKET, STATISTICS, PACKET = (
    0x0A0D0D0A,
    1,
    2,
    3,
    5,
    6,
)
BYTE_ORDER = 0x1A2B3C4D
ETHERNET = 1
"""LINKTYPE_ETHERNET: destination address first, no FCS."""

END_OF_OPTIONS, COMMENT = 0, 1
SHB_HARDWARE, SHB_OS, SHB_USERAPPL = 2, 3, 4
IF_NAME, IF_TSRESOL, IF_TSOFFSET = 2, 9, 14
EPB_FLAGS = 2
INBOUND, OUTBOUND = 1, 2
"""The two low bits of epb_flags."""
ISB_STARTTIME, ISB_ENDTIME, ISB_IFRECV, ISB_IFDROP = 2, 3, 4, 5


def padded(octets: bytes) -> bytes:
    """`octets` filled with zeros to a multiple of 4."""
    return octets + bytes(-len(octets) % 4)


def option(code: int, value: bytes) -> bytes:
    """One option: code, true length, padded value."""
    return struct.pack("<HH", code, len(value)) + padded(value)


def text_option(code: int, text: str) -> bytes:
    """A text option, or nothing when `text` is empty."""
    return option(code, text.encode()) if text else b""


EPOCH = "tailback: time 0 of the run is at"
"""Prefix of a section's comment with time 0 of the run; nanoseconds since 1970 follow."""


def epoch_of(comment: str) -> int | None:
    """Time 0 of the run (ns since 1970) that a section's comment tells; None when it does not."""
    begin, _, number = comment.rpartition(" ")
    decimal = number.isascii() and number.isdecimal() and len(number) <= 19
    return int(number) if begin == EPOCH and decimal else None


def time_option(code: int, time_ns: int) -> bytes:
    """A time option: high word, low word, in units of the interface's resolution."""
    return option(code, struct.pack("<II", time_ns >> 32, time_ns & 0xFFFFFFFF))


def block(kind: int, body: bytes, options: bytes = b"") -> bytes:
    """A whole little-endian block; `options` without their end mark."""
    if options:
        options += option(END_OF_OPTIONS, b"")
    length = 12 + len(body) + len(options)
    return struct.pack("<II", kind, length) + body + options + struct.pack("<I", length)
