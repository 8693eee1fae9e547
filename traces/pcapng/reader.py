"""Reading pcapng: every interface, nanoseconds exact, damage named by its offset.

Covers what `traces.pcapng.writer` writes and any file like it (either byte order, any decimal time
resolution, several sections). What it cannot read faithfully it refuses instead of guessing.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NoReturn

import numpy as np

from orchestrator.errors import BadInput
from traces.pcapng import blocks
from traces.pcapng.capture import Capture, Interface, joined

SECTION_MAGIC = b"\x0a\x0d\x0d\x0a"
FIXED = {
    blocks.SECTION: 28,
    blocks.INTERFACE: 20,
    blocks.PACKET: 32,
    blocks.STATISTICS: 24,
}
"""Octets of a block without options and data: a shorter one is damaged."""
MAX_NS = 2**63 - 1
MAX_OFFSET_S = MAX_NS // 10**9 // 2


class _Reader:
    """One pass over the blocks; packets are only noted on the way and then taken in batches."""

    def __init__(self, source: str, data: bytes) -> None:
        self.source, self.data = source, data
        self.words = np.frombuffer(data, "<u4", len(data) // 4)  # all blocks are aligned to 4
        self.order = "<"
        self.interfaces: list[Interface] = []
        self.first = 0  # index of the section's first interface
        self.pending: list[int] = []  # offsets of packets since the last header block
        self.batches: list[Capture] = []

    def fail(self, offset: int, what: str) -> NoReturn:
        raise BadInput(self.source, f"offset {offset}: {what}")

    def run(self) -> Capture:
        data, end, at = self.data, len(self.data), 0
        if data[:4] != SECTION_MAGIC:
            self.fail(0, "not a pcapng file; it must begin with a section header (0A0D0D0A)")
        head, tail = struct.Struct("<II"), struct.Struct("<I")
        while at < end:
            if at + 12 > end:
                self.fail(at, f"the file ends inside a block ({end - at} of at least 12 octets)")
            if data[at : at + 4] == SECTION_MAGIC:
                self.section(at)
                head, tail = struct.Struct(self.order + "II"), struct.Struct(self.order + "I")
            kind, length = head.unpack_from(data, at)
            if length % 4 or length < FIXED.get(kind, 12):
                self.fail(at, f"a block of type {kind} cannot be {length} octets long")
            if at + length > end:
                self.fail(at, f"the file ends inside a block ({end - at} of {length} octets)")
            if tail.unpack_from(data, at + length - 4)[0] != length:
                self.fail(at, f"the block's two lengths differ (the first is {length})")
            if kind == blocks.PACKET:
                self.pending.append(at)
            elif kind == blocks.INTERFACE:
                self.take()
                self.describe(at, length)
            elif kind == blocks.STATISTICS:
                self.statistics(at, length)
            elif kind in (blocks.SIMPLE_PACKET, blocks.OBSOLETE_PACKET):
                self.fail(at, f"packet blocks of type {kind} are not read; enhanced ones (6) are")
            at += length
        self.take()
        return joined(self.interfaces, self.batches)

    def section(self, at: int) -> None:
        magic = self.data[at + 8 : at + 12]
        for order in "<>":
            if magic == struct.pack(order + "I", blocks.BYTE_ORDER):
                self.take()
                self.order, self.first = order, len(self.interfaces)
                return
        self.fail(at, f"the byte-order mark is {magic.hex()}, not 1a2b3c4d in either order")

    def options(self, at: int, end: int) -> dict[int, bytes]:
        """The options between two offsets; of repeated ones, the first."""
        found: dict[int, bytes] = {}
        while at + 4 <= end:
            code, size = struct.unpack_from(self.order + "HH", self.data, at)
            if code == blocks.END_OF_OPTIONS:
                break
            if at + 4 + size > end:
                self.fail(at, f"option {code} of {size} octets runs over the end of its block")
            found.setdefault(code, self.data[at + 4 : at + 4 + size])
            at += 4 + size + -size % 4
        return found

    def number(self, at: int, options: dict[int, bytes], code: int, form: str) -> int | None:
        value = options.get(code)
        if value is None:
            return None
        if len(value) != struct.calcsize(form):
            self.fail(at, f"option {code} has {len(value)} octets, not {struct.calcsize(form)}")
        return int(struct.unpack(self.order + form, value)[0])

    def describe(self, at: int, length: int) -> None:
        linktype, _, snaplen = struct.unpack_from(self.order + "HHI", self.data, at + 8)
        options = self.options(at + 16, at + length - 4)
        resolution = self.number(at, options, blocks.IF_TSRESOL, "B")
        if resolution is not None and resolution > 18:
            self.fail(at, f"time resolution {resolution:#04x} is not read; decimal ones to 18 are")
        offset_s = self.number(at, options, blocks.IF_TSOFFSET, "q") or 0
        if abs(offset_s) > MAX_OFFSET_S:
            self.fail(at, f"a time offset of {offset_s} s leads beyond the year 2262")
        name = options.get(blocks.IF_NAME, b"").decode("utf-8", "replace").rstrip("\0")
        self.interfaces.append(
            Interface(
                name=name or f"interface {len(self.interfaces)}",
                linktype=linktype,
                snaplen=snaplen,
                tsresol=6 if resolution is None else resolution,
                tsoffset_s=offset_s,
            )
        )

    def owner(self, at: int) -> int:
        (index,) = struct.unpack_from(self.order + "I", self.data, at + 8)
        if self.first + index >= len(self.interfaces):
            self.fail(at, f"interface {index} has not been described before it is used")
        return self.first + int(index)

    def statistics(self, at: int, length: int) -> None:
        interface = self.interfaces[self.owner(at)]
        options = self.options(at + 20, at + length - 4)
        interface.received = self.number(at, options, blocks.ISB_IFRECV, "Q")
        interface.dropped = self.number(at, options, blocks.ISB_IFDROP, "Q")

    def take(self) -> None:
        """Turn the packets noted since the last header block into arrays."""
        if not self.pending:
            return
        offsets = np.array(self.pending, np.int64)
        self.pending = []
        first = offsets // 4
        heads = self.fields(first[:, None] + np.arange(1, 7))
        size, owner, kept, lengths = heads[:, 0], heads[:, 1], heads[:, 4], heads[:, 5]
        for row in np.flatnonzero(owner >= len(self.interfaces) - self.first)[:1]:
            self.fail(offsets[row], f"interface {owner[row]} was not described before its use")
        for row in np.flatnonzero(kept + 32 > size)[:1]:
            self.fail(offsets[row], f"{kept[row]} octets do not fit a block of {size[row]}")
        octets = np.zeros((len(offsets), int(kept.max())), np.uint8)
        for count in np.unique(kept):
            rows = np.flatnonzero(kept == count)
            some = self.words[first[rows, None] + np.arange(7, 7 + (count + 3) // 4)]
            octets[rows, :count] = some.view(np.uint8)[:, :count]
        self.batches.append(
            Capture(
                interfaces=self.interfaces,
                interface=owner + self.first,
                times_ns=self.nanoseconds(heads[:, 2], heads[:, 3], owner + self.first, offsets),
                lengths=lengths,
                kept=kept,
                octets=octets,
                direction=self.directions(offsets, size, kept),
            )
        )

    def fields(self, index: np.ndarray) -> np.ndarray:
        """Words of the file as numbers, int64."""
        words = self.words[index]
        return (words if self.order == "<" else words.byteswap()).astype(np.int64)

    def directions(self, offsets: np.ndarray, size: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """int8[n] from epb_flags, which is read in bulk where it is a packet's first option."""
        found = np.zeros(len(offsets), np.int8)
        after = offsets + 28 + (kept + 3) // 4 * 4
        room = np.flatnonzero(after + 12 <= offsets + size)  # an option of 8 octets and the length
        code = self.fields(after[room] // 4)
        usual = code == (
            4 << 16 | blocks.EPB_FLAGS if self.order == "<" else blocks.EPB_FLAGS << 16 | 4
        )
        found[room[usual]] = self.fields(after[room[usual]] // 4 + 1) & 3
        for row in room[~usual]:
            options = self.options(int(after[row]), int(offsets[row] + size[row] - 4))
            flags = self.number(int(offsets[row]), options, blocks.EPB_FLAGS, "I")
            found[row] = (flags or 0) & 3
        return found

    def nanoseconds(
        self, high: np.ndarray, low: np.ndarray, owner: np.ndarray, offsets: np.ndarray
    ) -> np.ndarray:
        """Time stamps in ns, rounded down where the file counts finer than that."""
        ticks = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
        times = np.zeros(len(ticks), np.int64)
        for index in np.unique(owner):
            interface = self.interfaces[index]
            mine = np.flatnonzero(owner == index)
            some = ticks[mine]
            finer = interface.tsresol - 9
            room = MAX_NS - max(interface.tsoffset_s, 0) * 10**9
            limit = room // 10**-finer if finer < 0 else room * 10**finer
            if int(some.max()) > limit:
                self.fail(offsets[mine[some.argmax()]], "the time is beyond the year 2262")
            whole = some // np.uint64(10**finer) if finer > 0 else some * np.uint64(10**-finer)
            times[mine] = whole.astype(np.int64) + interface.tsoffset_s * 10**9
        return times


def read(path: str | os.PathLike[str]) -> Capture:
    """Read a whole pcapng file. Raises BadInput with the offset of what is damaged."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise BadInput(os.fspath(path), f"cannot be read ({error.strerror})") from error
    return _Reader(os.fspath(path), data).run()
