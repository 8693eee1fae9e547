"""Capture files put together octet by octet, in either byte order, for the readers' tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

Record = tuple[int, int, bytes, int]
"""Seconds, fraction as in the file, kept octets, length on the wire."""


def pcap(
    records: Iterable[Record], order: str = "<", magic: int = 0xA1B2C3D4, linktype: int = 1
) -> bytes:
    """A pcap file, of Ethernet frames if nothing else is said."""
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, linktype)
    for seconds, fraction, octets, length in records:
        out += struct.pack(order + "IIII", seconds, fraction, len(octets), length) + octets
    return out


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def section(order: str = "<", options: bytes = b"", version: int = 1) -> bytes:
    return block(
        0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, version, 0, -1) + options, order
    )


def interface(
    order: str = "<", options: Sequence[tuple[int, bytes]] = (), snaplen: int = 0
) -> bytes:
    body = struct.pack(order + "HHI", 1, 0, snaplen)
    return block(1, body + b"".join(option(c, v, order) for c, v in options), order)


def enhanced(
    index: int, ticks: int, octets: bytes, order: str = "<", options: bytes = b"", length: int = -1
) -> bytes:
    head = struct.pack(
        order + "5I",
        index,
        ticks >> 32,
        ticks & 0xFFFFFFFF,
        len(octets),
        len(octets) if length < 0 else length,
    )
    return block(6, head + octets + bytes(-len(octets) % 4) + options, order)


def simple(octets: bytes, length: int, order: str = "<") -> bytes:
    return block(3, struct.pack(order + "I", length) + octets, order)
