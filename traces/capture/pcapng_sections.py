"""Parsers of pcapng blocks other than packets: sections, interfaces, statistics.

Layout after draft-ietf-opsawg-pcapng. A block is handed over whole; `at` is its place in the file.
"""

from __future__ import annotations

import struct

from traces.capture.capture_interface import (
    FINEST_BINARY,
    FINEST_DECIMAL,
    MAX_OFFSET_S,
    Interface,
    readable,
)
from traces.capture.capture_interface import printable as shown
from traces.capture.damage import Damaged

SECTION_MAGIC = b"\x0a\x0d\x0d\x0a"
BYTE_ORDER = 0x1A2B3C4D
SECTION_OCTETS = 28
COMMENT = 1
IF_NAME, IF_SPEED, IF_TSRESOL, IF_FCSLEN, IF_TSOFFSET = 2, 8, 9, 13, 14
IF_TXSPEED, IF_RXSPEED = 16, 17
ISB_IFRECV, ISB_IFDROP, ISB_OSDROP = 4, 5, 7
FCS_BITS = {16: 2, 32: 4, 64: 8}
"""Lengths of an FCS that can only be meant in bits, as early drafts had it, in octets."""
MOST_INTERFACES = 1 << 16
"""Interfaces of a file at most, so that a damaged one cannot fill the memory with them."""


def byte_order(begin: bytes, at: int) -> str:
    """The byte order of the section that begins with these 12 octets: "<" or ">"."""
    for order in "<>":
        if begin[8:12] == struct.pack(order + "I", BYTE_ORDER):
            return order
    raise Damaged(at, f"the byte-order mark is {begin[8:12].hex()}, not 1a2b3c4d in either order")


def check_version(block: bytes, order: str, at: int) -> None:
    """Refuse sections of another major version than 1."""
    (major,) = struct.unpack_from(order + "H", block, 12)
    if major != 1:
        raise Damaged(at, f"a pcapng section of version {major}; version 1 is read")


def comment(block: bytes, order: str, at: int) -> str:
    """The first comment of a section, safe to print; empty without one."""
    text = options(block, 24, order, at).get(COMMENT, b"")
    return shown(text.decode("utf-8", "replace"))


def options(block: bytes, begin: int, order: str, at: int) -> dict[int, bytes]:
    """The options of a block from octet `begin` on; of repeated ones, the first."""
    found: dict[int, bytes] = {}
    place, end = begin, len(block) - 4
    while place + 4 <= end:
        code, size = struct.unpack_from(order + "HH", block, place)
        if code == 0:
            break
        if place + 4 + size > end:
            raise Damaged(
                at + place, f"option {code} of {size} octets runs over the end of its block"
            )
        found.setdefault(code, block[place + 4 : place + 4 + size])
        place += 4 + size + -size % 4
    return found


def number(found: dict[int, bytes], code: int, form: str, at: int) -> int | None:
    """An option's number in the format `form` (with byte order); None when it is not there."""
    value = found.get(code)
    if value is None:
        return None
    if len(value) != struct.calcsize(form):
        raise Damaged(at, f"option {code} has {len(value)} octets, not {struct.calcsize(form)}")
    return int(struct.unpack(form, value)[0])


def interface(block: bytes, order: str, at: int, index: int) -> Interface:
    """The interface that a block describes, the `index`th of the file."""
    if index >= MOST_INTERFACES:
        raise Damaged(at, f"more than {MOST_INTERFACES} interfaces")
    linktype, _, snaplen = struct.unpack_from(order + "HHI", block, 8)
    found = options(block, 16, order, at)
    resolution = number(found, IF_TSRESOL, "B", at)
    if resolution is not None and not readable(resolution):
        raise Damaged(
            at,
            f"time resolution {resolution:#04x} is not read; "
            f"10^-{FINEST_DECIMAL} s and 2^-{FINEST_BINARY} s are the finest",
        )
    offset_s = number(found, IF_TSOFFSET, order + "q", at) or 0
    if abs(offset_s) > MAX_OFFSET_S:
        raise Damaged(at, f"a time offset of {offset_s} s leads beyond the year 2262")
    transmit = number(found, IF_TXSPEED, order + "Q", at) or None
    receive = number(found, IF_RXSPEED, order + "Q", at) or None
    fcs = number(found, IF_FCSLEN, "B", at) or 0
    name = shown(found.get(IF_NAME, b"").decode("utf-8", "replace").rstrip("\0"))
    return Interface(
        name=name or f"interface {index}",
        linktype=linktype,
        snaplen=snaplen,
        tsresol=6 if resolution is None else resolution,
        tsoffset_s=offset_s,
        fcs_octets=FCS_BITS.get(fcs, fcs),
        speed_bps=number(found, IF_SPEED, order + "Q", at)
        or max(transmit or 0, receive or 0)
        or None,
        transmit_bps=transmit,
        receive_bps=receive,
    )


def statistics(block: bytes, order: str, at: int, interfaces: list[Interface], first: int) -> None:
    """Note an interface's counters. `first` is the section's first interface."""
    (index,) = struct.unpack_from(order + "I", block, 8)
    if first + index >= len(interfaces):
        raise Damaged(at, f"interface {index} has not been described before it is used")
    found = options(block, 20, order, at)
    target = interfaces[first + index]
    for name, code in (
        ("received", ISB_IFRECV),
        ("dropped_by_interface", ISB_IFDROP),
        ("dropped_by_system", ISB_OSDROP),
    ):
        value = number(found, code, order + "Q", at)
        if value is not None:
            setattr(target, name, value)
