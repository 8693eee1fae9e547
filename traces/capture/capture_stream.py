"""Capture file as a stream of batches, in memory independent of its length."""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from types import TracebackType

import numpy as np

from orchestrator.errors import BadInput
from traces.capture import pcap_header, pcapng_sections, scanner
from traces.capture.capture_interface import CLOCK_COLUMNS, ETHERNET, Interface, clock, printable
from traces.capture.damage import Damage, Damaged
from traces.capture.decompression import STANDARD_INPUT, Source, open_source
from traces.capture.frame_batch import Batch
from traces.capture.frame_flags import (
    FCS_OCTETS,
    MOST_CHECKED,
    apply_flags,
    end_with_fcs,
    find_unstated_fcs,
)
from traces.capture.link_headers import is_readable, to_ethernet
from traces.capture.pcap_records import PcapRecords

BUFFER = 1 << 20
"""Octets read at a time: few enough to stay in a core's cache until they are dissected."""
ROWS = 1 << 14
"""Frames of a batch at most."""


SUFFIXES = {".pcap", ".pcapng", ".cap", ".dmp", ".gz", ".zst", ".bz2", ".lz4", ".xz"}


def capture_name(path: str) -> str:
    """A file's name without what says its format: `leaf.spine.pcap.gz` is `leaf.spine`."""
    if path == STANDARD_INPUT:
        return "standard input"
    name = Path(path)
    while name.suffix in SUFFIXES and name.stem:
        name = name.with_suffix("")
    return name.name


class CaptureStream:
    """An open capture; a context manager. `interfaces` grows while it is read.

    `damage` is None as long as nothing was wrong. Batches can be taken once.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        buffer: int = BUFFER,
        rows: int = ROWS,
        rooms: int = 1,
        ethernet: bool = False,
    ):
        """`rooms`: as many batches stay valid, the latest one among them; `ethernet`: see
        `open_capture`."""
        self.path = os.fspath(path)
        self.interfaces: list[Interface] = []
        self.damage: Damage | None = None
        self.frames = 0
        """Frames handed out so far."""
        self.format = "pcapng"
        """Or "pcap"."""
        self.comment = ""
        """Of the first section, where it has one."""
        self._source: Source = open_source(path)
        self._buffers = deque(np.zeros(max(buffer, 64), np.uint8) for _ in range(rooms))
        self._columns = deque(
            (np.zeros((6, rows), np.int64), np.zeros(rows, np.int8)) for _ in range(rooms)
        )
        self._octets = self._buffers[0]
        self._handed_out = False
        """True if a batch lies in the octets."""
        self._end = 0
        self._origin = 0
        self._ended = False
        self._broken: Damage | None = None
        self._state = np.zeros(5, np.int64)
        self._rows, self._directions = self._columns[0]
        self._order = "<"
        self._first = 0
        self._clocks = np.zeros((1, CLOCK_COLUMNS), np.int64)
        self._snaplens = np.zeros(1, np.int64)
        self._tallies = np.zeros((1, scanner.TALLIES), np.int64)
        self._ethernet = ethernet
        self._pcap: pcap_header.Pcap | None = None
        self._checked: set[int] = set()
        """Interfaces whose first frames have been looked at for an FCS."""
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> CaptureStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self._source.close()

    @property
    def is_at_end(self) -> bool:
        """True if the last octet has been read."""
        return self._ended

    def _begin(self) -> None:
        """Read the first octets and detect the format. Raises BadInput for an unknown one."""
        try:
            self._fill(pcap_header.HEADER)
            begin = self._octets[: min(self._end, pcap_header.HEADER)].tobytes()
            if self._broken is not None and not begin:
                raise Damaged(self._broken.offset, self._broken.what)
            if pcap_header.is_pcap(begin):
                self._pcap = pcap_header.parse(begin, printable(capture_name(self.path)))
                self.format = "pcap"
                self._add_interface(self._pcap.interface)
                self._state[scanner.POSITION] = pcap_header.HEADER
                self._find_fcs(self._pcap)
            elif begin[:4] != pcapng_sections.SECTION_MAGIC:
                self._fill(pcap_header.MAGIC_OCTETS)
                begin = self._octets[: min(self._end, pcap_header.MAGIC_OCTETS)].tobytes()
                raise Damaged(0, pcap_header.refusal(begin))
        except Damaged as error:
            raise BadInput(self.path, str(error.damage)) from error

    def _find_fcs(self, pcap: pcap_header.Pcap) -> None:
        """Note an FCS that a pcap file does not state and its first frames show."""
        if pcap.interface.linktype != ETHERNET or pcap.interface.fcs_octets:
            return
        order, place = ">" if pcap.swapped else "<", pcap_header.HEADER
        frames: list[bytes] = []
        while len(frames) < MOST_CHECKED and place + scanner.PCAP_RECORD <= self._end:
            record = self._octets[place : place + scanner.PCAP_RECORD].tobytes()
            kept, length = struct.unpack_from(order + "II", record, 8)
            place += scanner.PCAP_RECORD + kept
            if place > self._end:
                break
            if kept == length:
                frames.append(self._octets[place - kept : place].tobytes())
        if end_with_fcs(frames):
            pcap.interface.fcs_octets, pcap.interface.fcs_unstated = FCS_OCTETS, True

    def _fill(self, wanted: int) -> None:
        """Read until `wanted` octets from the position on are there, or the end is reached."""
        position = int(self._state[scanner.POSITION])
        rest = self._octets[position : self._end].copy()
        size = max(wanted, self._octets.size)  # the same with any number of rooms
        if self._handed_out:
            self._buffers.rotate()
            self._handed_out = False
        if size > self._buffers[0].size:
            self._buffers[0] = np.zeros(size, np.uint8)
        self._octets = self._buffers[0]
        self._octets[: rest.size] = rest
        self._origin += position
        self._state[scanner.POSITION] = 0
        self._end = rest.size
        view = memoryview(self._octets)  # type: ignore[arg-type]
        while not self._ended and self._end < max(wanted, self._octets.size // 2):
            try:
                count = self._source.readinto(view[self._end :])
            except Damaged as error:
                self._broken, count = error.damage, 0
            self._ended = count == 0
            self._end += count

    @property
    def accepts_scanner(self) -> bool:
        """True if `batches` accepts a `find` function of the caller: records are the frames."""
        if self._pcap is None or self._pcap.swapped:
            return False
        return not (self._pcap.interface.fcs_octets or self._pcap.interface.has_ethernet_headers)

    def batches(
        self, find: Callable[[PcapRecords], int] | None = None
    ) -> Generator[Batch, None, None]:
        """All frames up to the end or the first damage, which `damage` then names.

        `find`, where it `can_be_found_in`, stands for `scan.scan_pcap`, and answers as that does;
        of a batch it may leave rows unwritten that the caller does not need.
        """
        while True:
            try:
                answer = self._scan() if find is None else find(self._records())
                if answer == scanner.HEADER and self._header():
                    continue
                self._check(answer)
            except Damaged as error:
                yield from self._batch()
                self.damage = error.damage
                return
            yield from self._batch()
            if answer != scanner.FULL and not self._more(int(self._state[scanner.DETAIL])):
                return

    def _more(self, wanted: int) -> bool:
        """Read on, for a record of `wanted` octets. False at the end or at damage."""
        place = self._origin + int(self._state[scanner.POSITION])
        self._fill(wanted)
        if self._end >= wanted:
            return True
        if self._broken is not None:
            self.damage = self._broken
        elif self._end:
            kind, least = ("record", scanner.PCAP_RECORD) if self._pcap else ("block", 12)
            size = f"at least {wanted}" if wanted == least else str(wanted)
            self.damage = Damage(
                place, f"the file ends inside a {kind} ({self._end} of {size} octets)"
            )
        return False

    def _records(self) -> PcapRecords:
        times, offsets, kept, lengths, owners, _ = self._rows
        columns = offsets, kept, lengths, times, owners
        unit = 0 if self._pcap is None else self._pcap.unit
        return PcapRecords(self._octets, self._end, self._state, unit, columns)

    def _scan(self) -> int:
        times, offsets, kept, lengths, owners, flags = self._rows
        if self._pcap is not None:
            header = self._pcap
            answer = scanner.scan_pcap(
                self._octets,
                self._state,
                self._end,
                header.swapped,
                header.unit,
                len(offsets),
                offsets,
                kept,
                lengths,
                times,
            )
        else:
            answer = scanner.scan_pcapng(
                self._octets,
                self._state,
                self._end,
                self._order == ">",
                self._first,
                self._clocks,
                self._snaplens,
                len(self.interfaces),
                offsets,
                kept,
                lengths,
                times,
                owners,
                flags,
                self._tallies,
            )
        return int(answer)

    def _check(self, answer: int) -> None:
        """Raise Damaged when the scan stopped at damage."""
        place = self._origin + int(self._state[scanner.POSITION])
        detail, value = int(self._state[scanner.DETAIL]), int(self._state[scanner.VALUE])
        what = {
            scanner.BAD_LENGTH: f"a block of type {detail} cannot be {value} octets long",
            scanner.BAD_TRAILER: f"the block's two lengths differ (the first is {value})",
            scanner.BAD_CAPLEN: f"a frame of {value} kept octets does not fit into its record",
            scanner.BAD_INTERFACE: f"interface {value} has not been described before it is used",
            scanner.BAD_OPTION: "an option runs over the end of its block",
        }.get(answer)
        if what is not None:
            raise Damaged(place, what)

    def _header(self) -> bool:
        """Take the block at the position. False when it is not wholly there; DETAIL is its size."""
        at = int(self._state[scanner.POSITION])
        place = self._origin + at
        begin = self._octets[at : at + 12].tobytes()
        size = int(self._state[scanner.DETAIL])
        if begin[:4] == pcapng_sections.SECTION_MAGIC:
            order = pcapng_sections.byte_order(begin, place)
            size = int.from_bytes(begin[4:8], "little" if order == "<" else "big")
            if size % 4 or not pcapng_sections.SECTION_OCTETS <= size <= scanner.MOST_BLOCK:
                raise Damaged(
                    place, f"a block of type {scanner.SECTION} cannot be {size} octets long"
                )
            if at + size > self._end:
                self._state[scanner.DETAIL] = size
                return False
            self._section(self._octets[at : at + size].tobytes(), order, place)
        else:
            block = self._octets[at : at + size].tobytes()
            if (
                int.from_bytes(block[:4], "little" if self._order == "<" else "big")
                == scanner.INTERFACE
            ):
                self._interface(block, place)
            else:
                pcapng_sections.statistics(block, self._order, place, self.interfaces, self._first)
        self._state[scanner.POSITION] += size
        return True

    def _section(self, block: bytes, order: str, place: int) -> None:
        if block[4:8] != block[-4:]:
            size = int.from_bytes(block[4:8], "little" if order == "<" else "big")
            raise Damaged(place, f"the block's two lengths differ (the first is {size})")
        pcapng_sections.check_version(block, order, place)
        if not self.interfaces:
            self.comment = pcapng_sections.comment(block, order, place)
        self._order, self._first = order, len(self.interfaces)

    def _interface(self, block: bytes, place: int) -> None:
        index = len(self.interfaces)
        found = pcapng_sections.interface(block, self._order, place, index)
        self._add_interface(found)
        if index == len(self._clocks):
            self._clocks = np.concatenate([self._clocks, np.zeros_like(self._clocks)])
            self._snaplens = np.concatenate([self._snaplens, np.zeros_like(self._snaplens)])
            self._tallies = np.concatenate([self._tallies, np.zeros_like(self._tallies)])
        self._clocks[index] = clock(found)
        self._snaplens[index] = found.snaplen

    def _add_interface(self, interface: Interface) -> None:
        wanted = self._ethernet and interface.linktype != ETHERNET
        interface.has_ethernet_headers = wanted and is_readable(interface.linktype)
        self.interfaces.append(interface)

    def _batch(self) -> Generator[Batch, None, None]:
        """The frames that the scan has found, if any."""
        count = int(self._state[scanner.COUNT])
        if count == 0:
            return
        times, offsets, kept, lengths, owners, flags = self._rows[:, :count]
        number, directions = self.frames, self._directions[:count]
        self.frames += count
        self._state[scanner.COUNT] = 0
        self._handed_out = True
        self._columns.rotate()
        self._rows, self._directions = self._columns[0]
        batch = Batch(
            octets=self._octets,
            offset=offsets,
            captured=kept,
            original=lengths,
            time_ns=times,
            interface=owners,
            direction=directions,
            number=number,
            origin=self._origin,
            described=len(self.interfaces),
        )
        if not self.accepts_scanner:
            if self._pcap is None:
                find_unstated_fcs(batch, flags, self.interfaces, self._checked)
            apply_flags(batch, flags, self.interfaces, self._tallies)
            if any(one.has_ethernet_headers for one in self.interfaces):
                linktypes = np.array([one.linktype for one in self.interfaces])
                to_ethernet(batch, linktypes)
        yield batch


def open_capture(
    path: str | os.PathLike[str], rooms: int = 1, ethernet: bool = False
) -> CaptureStream:
    """Open a capture, which is to be closed or used as a context manager.

    `path` may be a pipe, or "-" for standard input; gzip, bzip2, xz, LZ4 and zstd are undone. As
    many of its batches stay valid as it has `rooms`, the latest one among them. With `ethernet`,
    frames of Linux cooked captures and of raw IP get Ethernet headers in place of their own
    (`link_headers.to_ethernet`). Raises BadInput when the file cannot be opened or is neither pcap
    nor pcapng.
    """
    return CaptureStream(path, rooms=rooms, ethernet=ethernet)
