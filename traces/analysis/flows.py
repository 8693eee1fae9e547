"""The table of flows and points of observation, filled batch by batch."""

from __future__ import annotations

import numpy as np

from traces.analysis.familiar import nothing_known
from traces.analysis.kernel import count_frames, rehash, spans
from traces.analysis.pending import nothing_pending, settle_all
from traces.analysis.records import (
    CNMS,
    CONTROLS,
    FIRST_CONTROL,
    FLOW,
    LLDPS,
    MATCHED,
    OVERFLOW,
    OVERFLOWN,
    PAUSES,
    POINT,
    PROBES,
    ROOMS,
    ROWS,
    WINDOW,
    WORDS,
)
from traces.analysis.room import word_with
from traces.analysis.series import Series
from traces.capture import Batch
from traces.dissect.details import Rows
from traces.dissect.headers import BLANK, ETHERNET, words_of
from traces.dissect.record import HEADERS, Kind

FIRST_ROWS = 256
MOST_FLOWS = 1 << 16
"""Flows that are told apart; those of further ones are counted together."""
TOLD = 512
"""Frames that are compared with familiar ones at a time."""
NO_ROOM = np.zeros(0, np.int64)
"""Places at which no frame tells that it has room for stamps."""


class Flows:
    """All flows of all points. A point is an interface of a file; points are numbered on."""

    def __init__(self, most: int = MOST_FLOWS) -> None:
        self._flows = np.zeros(FIRST_ROWS, FLOW)
        self.keys = np.zeros((FIRST_ROWS, WORDS), np.int64)
        self._seen = np.zeros((FIRST_ROWS, WINDOW // 64), np.int64)
        self._pending = nothing_pending(FIRST_ROWS)
        self._points = np.zeros(1, POINT)
        self.series = Series(2, FIRST_ROWS)
        self.several = False
        """Whether frames are to be noted for matching with other points."""
        self.headers = np.empty(1, HEADERS)
        """Of the last batch's control frames."""
        self._words = words_of(self.headers)
        self.known = nothing_known()
        """What `familiar` remembers."""
        self._slots = np.full(4 * FIRST_ROWS, -1, np.int64)
        self._count = np.array([OVERFLOW + 1, most, 0, 0, 0, 0] + [0] * CONTROLS, np.int64)
        self._control = np.zeros((CONTROLS, 2, 0), np.int64)
        self._rooms = np.zeros(0, np.int64)
        self._told, self._said = np.zeros((2, TOLD), np.int64)

    def __len__(self) -> int:
        """Rows in use, OVERFLOW included."""
        return int(self._count[ROWS])

    def _settle(self) -> None:
        settle_all(self._pending, len(self), self._flows, self._seen, self._points)

    @property
    def flows(self) -> np.ndarray:
        """FLOW[>= len(self)]."""
        self._settle()
        return self._flows

    @property
    def seen(self) -> np.ndarray:
        """Which of the latest numbers of each flow were there, a bit each:
        int64[>= len(self), WINDOW / 64]."""
        self._settle()
        return self._seen

    @property
    def points(self) -> np.ndarray:
        """POINT[n]."""
        self._settle()
        return self._points

    def add(self, batch: Batch, linktypes: np.ndarray, places: np.ndarray = NO_ROOM) -> np.ndarray:
        """Account for a batch whose interfaces are points; `linktypes` int64[points], `places`
        those of `stamps.Rooms`.

        Returns (time_ns, flow's row, sequence number) of the frames that carry one, int64[n, 3],
        when `several` is set.
        """
        times = batch.time_ns
        spans(times, batch.interface, self._told)
        low, high, last = self._told[:3].tolist()
        if low <= high:
            self.series.cover(low, high, len(self))
        if last >= len(self._points):
            more = np.zeros(last + 1 - len(self._points), POINT)
            self._points = np.concatenate([self._points, more])
        self._count[MATCHED:OVERFLOWN] = 0
        self._count[FIRST_CONTROL:] = 0
        if len(self.headers) <= len(batch):
            self.headers = np.empty(len(batch) + 1, HEADERS)
            self._words = words_of(self.headers)
            self._control = np.zeros((CONTROLS, 2, len(batch)), np.int64)
            self._rooms = np.zeros(len(batch), np.int64)
        rooms = word_with(places)
        matched = np.zeros((len(batch) if self.several else 0, 3), np.int64)
        begin = 0
        while begin < len(batch):
            begin = count_frames(
                begin,
                batch.octets,
                batch.offset,
                batch.captured,
                batch.original,
                times,
                batch.interface,
                linktypes == ETHERNET,
                self.headers,
                self._words,
                BLANK,
                self.known,
                self._points,
                self._slots,
                self.keys,
                self._flows,
                self._pending,
                self._seen,
                self._count,
                self.series.room,
                self.series.shift,
                self.series.first,
                self._control,
                matched,
                places,
                rooms,
                self._rooms,
                self._told,
                self._said,
            )
            if begin < len(batch):
                self._grow()
        return matched[: int(self._count[MATCHED])]

    def counted(self, kind: Kind) -> int:
        """Frames of a kind so far, at all points."""
        return int(self.points["frames"][:, kind].sum())

    def _places(self, sort: int) -> Rows:
        """Of control frames of a sort in the last batch, and of their headers."""
        batch, headers = self._control[sort, :, : int(self._count[FIRST_CONTROL + sort])]
        return batch, headers

    @property
    def lldp(self) -> bool:
        """Whether there were LLDP frames in the last batch."""
        return bool(self._count[LLDPS])

    @property
    def rooms(self) -> np.ndarray:
        """Where the last batch's frames are that may have room for stamps, int64[n]."""
        return self._rooms[: int(self._count[ROOMS])]

    @property
    def cnms(self) -> Rows:
        """Where the last batch's CNMs are, and their headers in `headers`."""
        return self._places(CNMS)

    @property
    def pauses(self) -> Rows:
        """The same of PAUSE and PFC."""
        return self._places(PAUSES)

    @property
    def probes(self) -> Rows:
        """The same of FECN's probes and echoes."""
        return self._places(PROBES)

    def _grow(self) -> None:
        rows = 2 * len(self._flows)
        self._flows = np.resize(self._flows, rows)
        self._flows[rows // 2 :] = 0
        self.keys = np.resize(self.keys, (rows, WORDS))
        self._seen = np.resize(self._seen, (rows, WINDOW // 64))
        before, self._pending = self._pending, nothing_pending(rows)
        self._pending[: rows // 2] = before
        self.series.grow(rows)
        self._slots = np.full(4 * rows, -1, np.int64)
        rehash(self._slots, self.keys, len(self))
