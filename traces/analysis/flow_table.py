"""Flow table: flows and capture points, filled batch by batch."""

from __future__ import annotations

import numpy as np

from traces.analysis.deferred_counts import apply_all_pending, empty_pending
from traces.analysis.flow_cache import empty_flow_cache
from traces.analysis.flow_records import (
    BACKWARD,
    CNMS,
    CONTROLS,
    FIRST_CONTROL,
    FLOW,
    LATEST_NS,
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
from traces.analysis.frame_accounting import LAST, UNCOUNTED, count_frames, rehash, time_span
from traces.analysis.stamp_space import stamp_word
from traces.analysis.time_bins import TimeBins
from traces.capture import NO_TIME, Batch, scanner
from traces.capture.pcap_records import PcapRecords
from traces.capture.time_order import new_order, note_order
from traces.dissect.control_fields import Rows
from traces.dissect.header_parser import BLANK, ETHERNET, words_of
from traces.dissect.header_record import HEADERS, Kind

FIRST_ROWS = 256
MOST_FLOWS = 1 << 16
"""Flows with a row of their own; frames of further flows are counted together."""
CACHE_BATCH = 512
"""Frames that are compared with the flow cache at a time."""
NO_STAMP_SPACE = np.zeros(0, np.int64)
"""Stamp offsets of frame types without stamp space."""
NOTHING_MATCHED = np.zeros((0, 3), np.int64)
NO_STATE = np.zeros(5, np.int64)
"""Of a scan, where all records have been found."""


class FlowTable:
    """All flows of all points. A point is an interface of a file; points are numbered on."""

    def __init__(self, most: int = MOST_FLOWS) -> None:
        self._flows = np.zeros(FIRST_ROWS, FLOW)
        self.keys = np.zeros((FIRST_ROWS, WORDS), np.int64)
        self._seen = np.zeros((FIRST_ROWS, WINDOW // 64), np.int64)
        self._pending = empty_pending(FIRST_ROWS)
        self._points = np.zeros(1, POINT)
        self._series = TimeBins(2, FIRST_ROWS)
        self.several = False
        """True if frames are recorded for matching with other points."""
        self.headers = np.empty(1, HEADERS)
        """Of the last batch's control frames."""
        self._words = words_of(self.headers)
        self.known = empty_flow_cache()
        """The flow cache."""
        self._slots = np.full(4 * FIRST_ROWS, -1, np.int64)
        self._count = np.array(
            [OVERFLOW + 1, most, 0, 0, 0, 0, *new_order()] + [0] * CONTROLS, np.int64
        )
        self._control = np.zeros((CONTROLS + 1, 2, 0), np.int64)
        self._rooms = np.zeros(0, np.int64)
        self._summaries, self._packet_numbers = np.zeros((2, CACHE_BATCH), np.int64)

    def __len__(self) -> int:
        """Rows in use, OVERFLOW included."""
        return int(self._count[ROWS])

    def _apply_pending(self) -> None:
        apply_all_pending(self._pending, len(self), self._flows, self._seen, self._points)

    @property
    def flows(self) -> np.ndarray:
        """FLOW[>= len(self)]."""
        self._apply_pending()
        return self._flows

    @property
    def seen(self) -> np.ndarray:
        """Window of received sequence numbers of each flow, a bit each: int64[>= len(self), WINDOW
        / 64]."""
        self._apply_pending()
        return self._seen

    @property
    def points(self) -> np.ndarray:
        """POINT[n]."""
        self._apply_pending()
        return self._points

    @property
    def series(self) -> TimeBins:
        """Octets and CE-marked frames of each flow over time."""
        self._extend_bins(LAST, NO_TIME)
        return self._series

    def _extend_bins(self, low_ns: int, high_ns: int) -> None:
        """Have bins for all times so far, and for those from `low_ns` to `high_ns`."""
        timed = self.points[self._points["timed"] > 0]
        if len(timed):
            low_ns = min(low_ns, int(timed["first_ns"].min()))
            high_ns = max(high_ns, int(timed["last_ns"].max()))
        if low_ns <= high_ns:
            self._series.cover(low_ns, high_ns, len(self))

    def _prepare_batch(self, frames: int, last: int) -> None:
        """Be ready for a batch of so many frames, of points up to `last`."""
        if last >= len(self._points):
            more = np.zeros(last + 1 - len(self._points), POINT)
            self._points = np.concatenate([self._points, more])
        self._count[MATCHED:OVERFLOWN] = 0
        self._count[FIRST_CONTROL:] = 0
        if len(self.headers) <= frames:
            self.headers = np.empty(frames + 1, HEADERS)
            self._words = words_of(self.headers)
            self._control = np.zeros((CONTROLS + 1, 2, frames), np.int64)
            self._rooms = np.zeros(frames, np.int64)

    def add(
        self, batch: Batch, linktypes: np.ndarray, places: np.ndarray = NO_STAMP_SPACE
    ) -> np.ndarray:
        """Account for a batch whose interfaces are points; `linktypes` int64[points], `places`
        those of `stamps.Rooms`.

        Returns (time_ns, flow's row, sequence number) of the frames that carry one, int64[n, 3],
        when `several` is set.
        """
        time_span(batch.time_ns, batch.interface, self._summaries)
        low, high, last = self._summaries[:3].tolist()
        if low <= high:
            self._series.cover(low, high, len(self))
        self._prepare_batch(len(batch), last)
        matched = np.zeros((len(batch) if self.several else 0, 3), np.int64)
        columns = batch.offset, batch.captured, batch.original, batch.time_ns, batch.interface
        self._count_all(0, batch.octets, columns, linktypes, places, matched)
        return matched[: int(self._count[MATCHED])]

    def find(
        self,
        pcap: PcapRecords,
        linktypes: np.ndarray,
        places: np.ndarray = NO_STAMP_SPACE,
    ) -> int:
        """Find the next records of a file that is the only one, and account for their frames, as
        `add` would for a batch of them; answers as `scan.scan_pcap` does, in `pcap.state` too.

        Rows are written only of frames that `cnms`, `rooms` and the like name.
        """
        self._prepare_batch(len(pcap.columns[0]), 0)
        state, begin = pcap.state, 0
        if self._series.begun:
            begin = self._count_some(
                0, pcap.octets, pcap.columns, linktypes, places, NOTHING_MATCHED, pcap
            )
            if state[scanner.ANSWER] != UNCOUNTED:
                return int(state[scanner.ANSWER])
        # all the rest is found first, so that it is known which times there are
        offset, captured, original, times, _ = pcap.columns
        octets, end, unit = pcap.octets, pcap.end, pcap.unit
        answer = scanner.scan_pcap(
            octets, state, end, False, unit, len(times), offset, captured, original, times
        )
        found = int(state[scanner.COUNT])
        columns = tuple(column[:found] for column in pcap.columns)
        note_order(times[begin:found], self._count[LATEST_NS:FIRST_CONTROL])
        time_span(times[begin:found], columns[4][begin:], self._summaries)
        low, high, _ = self._summaries[:3].tolist()
        self._extend_bins(low, high)
        self._count_all(begin, pcap.octets, columns, linktypes, places, NOTHING_MATCHED)
        return int(answer)

    def _count_all(
        self,
        begin: int,
        octets: np.ndarray,
        columns: tuple[np.ndarray, ...],
        linktypes: np.ndarray,
        places: np.ndarray,
        matched: np.ndarray,
    ) -> None:
        """Account for frames whose records have been found, from row `begin` on."""
        frames = len(columns[0])
        while begin < frames:
            begin = self._count_some(begin, octets, columns, linktypes, places, matched)
            if begin < frames:
                self._grow()

    def _count_some(
        self,
        begin: int,
        octets: np.ndarray,
        columns: tuple[np.ndarray, ...],
        linktypes: np.ndarray,
        places: np.ndarray,
        matched: np.ndarray,
        pcap: PcapRecords | None = None,
    ) -> int:
        """Account for as many frames as there is room for; returns the next row."""
        return int(
            count_frames(  # type: ignore[call-arg]  # mypy cannot count what * unpacks
                begin,
                octets,
                *columns,
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
                self._series.room,
                self._series.shift,
                self._series.first,
                self._control,
                matched,
                places,
                stamp_word(places),
                self._rooms,
                self._summaries,
                self._packet_numbers,
                *((0, NO_STATE, 0) if pcap is None else (pcap.unit, pcap.state, pcap.end)),
            )
        )

    @property
    def backward(self) -> int:
        """Frames of a file whose records `find` found that are earlier than one before them."""
        return int(self._count[BACKWARD])

    def counted(self, kind: Kind) -> int:
        """Frames of a kind so far, at all points."""
        return int(self.points["frames"][:, kind].sum())

    def _control_rows(self, sort: int) -> Rows:
        """Rows of control frames of a sort in the last batch, and of their headers."""
        batch, headers = self._control[sort, :, : int(self._count[FIRST_CONTROL + sort])]
        return batch, headers

    @property
    def lldps(self) -> np.ndarray:
        """Rows of the LLDP frames of the last batch, int64[n]."""
        return self._control[CONTROLS, 0, : int(self._count[LLDPS])]

    @property
    def rooms(self) -> np.ndarray:
        """Rows of the last batch's frames that may have stamp space, int64[n]."""
        return self._rooms[: int(self._count[ROOMS])]

    @property
    def cnms(self) -> Rows:
        """Rows of the last batch's CNMs, and of their headers in `headers`."""
        return self._control_rows(CNMS)

    @property
    def pauses(self) -> Rows:
        """Rows of the last batch's PAUSE and PFC frames, and of their headers."""
        return self._control_rows(PAUSES)

    @property
    def probes(self) -> Rows:
        """Rows of the last batch's FECN probes and echoes, and of their headers."""
        return self._control_rows(PROBES)

    def _grow(self) -> None:
        rows = 2 * len(self._flows)
        self._flows = np.resize(self._flows, rows)
        self._flows[rows // 2 :] = 0
        self.keys = np.resize(self.keys, (rows, WORDS))
        self._seen = np.resize(self._seen, (rows, WINDOW // 64))
        before, self._pending = self._pending, empty_pending(rows)
        self._pending[: rows // 2] = before
        self._series.grow(rows)
        self._slots = np.full(4 * rows, -1, np.int64)
        rehash(self._slots, self.keys, len(self))
