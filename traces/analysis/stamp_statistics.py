"""Hop stamp statistics by the port that wrote the stamps: sums over a capture.

Few captures have any. Which frames have room is seen by one octet of each, where those are counted
anyway (`kernel.count_frames`); only these are held against the types that carry stamps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator.engine.frames import type_table
from orchestrator.engine.frames.telemetry_header import (
    HEAD_OCTETS,
    KILO,
    MOST_STAMPS,
    PORT,
    QUEUED,
    RATE,
    STAMP_OCTETS,
    WORDS,
)
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import DATA
from traces.analysis.control_batch import distinct_rows
from traces.capture import Batch

MOST_STAMPING = 1 << 12
"""Ports with a row of their own, over all points and both ways; of others stamps are counted."""
SUMS = np.dtype(
    [
        ("count", np.int64),
        ("queued_sum", np.float64),
        ("queued_low", np.int64),
        ("queued_high", np.int64),
        ("rate", np.int64),  # kbit/s, of the last one
        ("place_low", np.int64),  # of the stamp among those of its frame, from 1 on
        ("place_high", np.int64),
    ]
)
MOST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class StampingPort:
    """A port whose stamps were seen at a point: on data, or echoed on acknowledgements."""

    point: int
    echo: int
    port: int


class StampStatistics:
    """All stamps so far; `sums` SUMS[ports]."""

    def __init__(self) -> None:
        self.ports: list[StampingPort] = []
        self.sums = np.zeros(0, SUMS)
        self.others = 0
        """Stamps of ports without a row of their own."""
        self._index: dict[StampingPort, int] = {}
        self._rooms = StampSpaceFinder()
        self.places = self._rooms.stamp_offsets

    def add(self, batch: Batch, seen: np.ndarray) -> None:
        """Take the stamps in a batch whose interfaces are points; `seen` int64[n] are the rows that
        may have room."""
        which, found = self._rooms.rows(batch, seen)
        for number in np.unique(which).tolist():
            kind, rows = self._rooms.kinds[number], found[which == number]
            for hop in range(MOST_STAMPS):
                rows, words = stamps_at(batch, kind, rows, hop)
                if not len(rows):
                    break
                self._take(batch.interface[rows], int(kind != DATA), hop + 1, words)

    def _take(self, points: np.ndarray, echo: int, place: int, words: np.ndarray) -> None:
        found, member = distinct_rows([points.astype(np.int64), words[:, PORT]])
        known = np.array([self._row(StampingPort(p, echo, port)) for p, port in found.tolist()])
        where = known[member]
        self.others += int((where < 0).sum())
        words, where = words[where >= 0], where[where >= 0]
        sums, queued = self.sums, words[:, QUEUED]
        np.add.at(sums["count"], where, 1)
        np.add.at(sums["queued_sum"], where, queued)
        np.minimum.at(sums["queued_low"], where, queued)
        np.maximum.at(sums["queued_high"], where, queued)
        sums["rate"][where] = words[:, RATE]
        np.minimum.at(sums["place_low"], where, place)
        np.maximum.at(sums["place_high"], where, place)

    def _row(self, port: StampingPort) -> int:
        """Row of a port; -1 where there are too many."""
        if port not in self._index:
            if len(self.ports) >= MOST_STAMPING:
                return -1
            self._index[port] = len(self.ports)
            self.ports.append(port)
            more = np.zeros(1, SUMS)
            more["queued_low"] = more["place_low"] = MOST
            self.sums = np.concatenate([self.sums, more])
        return self._index[port]


class StampSpaceFinder:
    """Finds frames with room for stamps. `kinds` are the types that may have some."""

    def __init__(self) -> None:
        types = type_table()
        self.kinds: list[int] = np.flatnonzero(types.stamps).tolist()
        self._types = (
            *(types.stamps[self.kinds].astype(np.int64), types.needs[self.kinds].astype(np.int64)),
            *(types.mask[self.kinds], types.template[self.kinds]),
        )

    @property
    def stamp_offsets(self) -> np.ndarray:
        """Octets of a frame that are not 0 where it has room, int64[n]: of any of the types."""
        return np.unique(self._types[0])

    def rows(self, batch: Batch, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of `seen` that were captured in full: their index in `kinds`, and the row,
        int64[n] each."""
        which, rows = np.empty((2, len(seen) * len(self.kinds)), np.int64)
        frames = (batch.octets, batch.offset, batch.captured)
        count = _frames_with_space(*frames, seen, *self._types, which, rows)
        return which[:count], rows[:count]


@compiled
def _frames_with_space(octets, offset, captured, seen, stamps, needs, mask, template, which, rows):
    """Writes types and rows and says how many."""
    count = 0
    for row in seen:
        for number in range(len(stamps)):
            if captured[row] <= stamps[number]:
                continue
            begin = offset[row]
            rooms = np.int64(octets[begin + stamps[number]])
            whole = stamps[number] + HEAD_OCTETS + rooms * STAMP_OCTETS
            if rooms == 0 or rooms > MOST_STAMPS or whole > captured[row]:
                continue
            place = 0
            while place < needs[number]:
                differs = octets[begin + place] ^ template[number, place]
                if differs & mask[number, place] != 0:
                    break
                place += 1
            if place == needs[number]:
                which[count], rows[count] = number, row
                count += 1
    return count


def stamps_at(batch: Batch, kind: int, rows: np.ndarray, hop: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of `rows` with a stamp of hop 0, 1 .., and its words, int64[n, WORDS]."""
    begin = batch.offset[rows] + type_table()[kind].stamps
    there = np.minimum(batch.octets[begin], batch.octets[begin + 1]) > hop
    first = begin[there] + HEAD_OCTETS + hop * STAMP_OCTETS
    places = first[:, None] + np.arange(STAMP_OCTETS)
    words = np.ascontiguousarray(batch.octets[places]).view(">u4").astype(np.int64)
    return rows[there], words.reshape(-1, WORDS)


def rate_bps(sums: np.void) -> int:
    """The rate in the last stamp of a port."""
    return int(sums["rate"]) * KILO
