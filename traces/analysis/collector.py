"""One pass over one or several captures, in bounded memory; `summary` reads its results."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Container, Generator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from traces.analysis.clock_offsets import ClockComparison, Correction
from traces.analysis.cnm_statistics import CongestionMessages
from traces.analysis.control_batch import ENOUGH, ControlBatch
from traces.analysis.copied_frames import CopiedFrames
from traces.analysis.dcbx import Neighbours
from traces.analysis.flow_table import FlowTable
from traces.analysis.latency_matching import Matcher
from traces.analysis.pause_spells import PauseTracker
from traces.analysis.probe_statistics import ProbeStatistics
from traces.analysis.rotated_files import rotations
from traces.analysis.stamp_statistics import StampStatistics
from traces.capture import NO_TIME, Batch, CaptureStream, open_capture
from traces.capture.pcap_records import PcapRecords
from traces.capture.read_ahead import BUFFERS, batches_of, uses_single_core
from traces.capture.time_order import BACKWARD, new_order, note_order, sorted_batches
from traces.dissect import CNM_RECORD, PAUSE_RECORD, PROBE_RECORD, messages, pauses, probes

MS = 10**6
STORM_NS = 10 * MS


@dataclass(frozen=True)
class Settings:
    """Options of an analysis that captures do not contain."""

    rate_bps: int | None = None
    """Of all links. None: what each interface block says, if it does; else pause times stay
    unknown."""
    storm_ns: int = STORM_NS
    """A pause that lasts at least this long without a break is a storm."""
    cores: int | None = None
    """At most so many are used, of those there are when None is said. What is found is the same."""


LONG_SNAPLEN = 1 << 14
"""Snap length, in octets, from which on no frame of a link is cut."""


class CapturePass:
    """Tables of a pass after the last frame. Points are numbered file by file."""

    def __init__(
        self,
        paths: Sequence[str | os.PathLike[str]],
        settings: Settings,
        unordered: Container[int] = (),
        corrections: Mapping[int, Correction] | None = None,
    ) -> None:
        """`unordered`: files whose frames are sorted by time, within a window; `corrections` of
        clocks, by file."""
        self.settings = settings
        self.unordered = unordered
        self.corrections = corrections or {}
        self.clocks = ClockComparison()
        self.groups = rotations(paths)
        """Files of one capture each, in order of time."""
        self.clock_of = {file: group[0] for group in self.groups for file in group}
        """File to the first file of its capture, which has the same clock."""
        self._position = [0] * len(paths)
        """By first file: place in its group of the file that is read."""
        self._orders = [new_order() for _ in paths]
        self.flows = FlowTable()
        self.copies = CopiedFrames()
        self.cut: Counter[int] = Counter()
        """Frames of a point that were not captured whole."""
        self._cuts: dict[int, bool] = {}
        """True for a file that has such frames in its first batch, or a short snap length."""
        self.matcher = Matcher()
        self.messages = CongestionMessages()
        self.pausing = PauseTracker(settings.storm_ns)
        self.probes = ProbeStatistics()
        self.neighbours = Neighbours()
        self.stamped = StampStatistics()
        self.streams: list[CaptureStream] = []
        self.points: dict[tuple[int, int], int] = {}
        """(file, interface) to point."""
        self.point_count = 0
        """Points so far; files of one capture share theirs."""
        self._linktypes = np.zeros(0, np.int64)
        """By point."""
        self._cnms, self._pauses = ControlBatch(CNM_RECORD), ControlBatch(PAUSE_RECORD)
        self._probes = ControlBatch(PROBE_RECORD)
        self._counted = False
        """True if the frames of a batch are accounted for when it arrives."""
        self._numbers: list[np.ndarray] = [np.zeros(0, np.int64)] * len(paths)
        try:
            for path in paths:
                self.streams.append(
                    open_capture(path, BUFFERS if len(paths) == 1 else 1, ethernet=True)
                )
            self._run()
        finally:
            for stream in self.streams:
                stream.close()

    def _run(self) -> None:
        alone = (
            len(self.groups) == len(self.streams) == 1
        )  # a thread for each of several would wait for the others
        with contextlib.ExitStack() as open_feeds:
            feeds = {
                group[0]: open_feeds.enter_context(contextlib.closing(self._chain(group, alone)))
                for group in self.groups
            }
            self._process_batches(feeds)
        self._flush_control_frames()

    def _chain(self, group: list[int], alone: bool) -> Generator[Batch, None, None]:
        """Batches of the files of one capture, one file behind the other."""
        for position, index in enumerate(group):
            self._position[group[0]] = position
            with contextlib.closing(self._feed(index, self.streams[index], alone)) as feed:
                correction = self.corrections.get(self.clock_of[index])
                for batch in feed:
                    if correction is not None:
                        timed = batch.time_ns != NO_TIME
                        batch.time_ns[timed] = correction.apply(batch.time_ns[timed])
                    yield batch
            self._number(index, len(self.streams[index].interfaces))

    def _feed(self, index: int, stream: CaptureStream, alone: bool) -> Generator[Batch, None, None]:
        """Batches of a file, sorted where it is known not to be in order of time."""
        if index in self.unordered:
            return self._ordered(index, stream)
        return self._batches(stream) if alone else self._noted(index, stream.batches())

    def _noted(
        self, index: int, batches: Generator[Batch, None, None]
    ) -> Generator[Batch, None, None]:
        """Batches as they are, with the order of their times noted."""
        with contextlib.closing(batches):  # its thread ends before the file is closed
            for batch in batches:
                note_order(batch.time_ns, self._orders[index])
                yield batch

    def _ordered(self, index: int, stream: CaptureStream) -> Generator[Batch, None, None]:
        """Sorted batches of a file; what the window left unsorted is noted."""
        return self._noted(index, sorted_batches(stream.batches()))

    def backward(self, index: int) -> int:
        """Frames of a file that are earlier than one before them, after sorting if it was."""
        return int(self._orders[index][BACKWARD]) + (self.flows.backward if self._counted else 0)

    def _batches(self, stream: CaptureStream) -> Generator[Batch, None, None]:
        """Batches of the only file. On one core the frames of pcap are accounted for where their
        records are found."""
        if uses_single_core(stream, self.settings.cores) and stream.accepts_scanner:
            self._counted = True
            return stream.batches(self._find)
        return self._noted(0, batches_of(stream, self.settings.cores))

    def _find(self, records: PcapRecords) -> int:
        self._number(0, 1)
        return self.flows.find(records, self._linktypes, self.stamped.places)

    def _process_batches(self, feeds: dict[int, Generator[Batch, None, None]]) -> None:
        """Take all batches; `feeds` by file."""
        reached = dict.fromkeys(feeds, NO_TIME)
        self.flows.several = len(feeds) > 1
        while feeds:
            # the file that is furthest behind, so that sightings of a frame come close together
            index = min(feeds, key=lambda one: reached[one])
            batch = next(feeds[index], None)
            if batch is None:
                del feeds[index], reached[index]
            else:
                group = next(group for group in self.groups if group[0] == index)
                self._process_batch(group[self._position[index]], batch)
                if len(feeds) > 1 or self.flows.several:
                    reached[index] = max(reached[index], int(batch.time_ns.max()))
            if self.flows.several:
                until = min(reached.values(), default=2**63 - 1)
                linked = len(self.groups) > 1
                links = self.matcher.flush(until, self.flows.keys, len(self.flows), linked)
                if len(links):
                    self.clocks.add(links, self.flows.keys, self.flows.flows, self.point_clocks())

    def point_clocks(self) -> np.ndarray:
        """The clock of each point: the first file of its capture, int64[points]."""
        clocks = np.zeros(self.point_count, np.int64)
        for (file, _), point in self.points.items():
            clocks[point] = self.clock_of[file]
        return clocks

    def _number(self, index: int, now: int) -> np.ndarray:
        """The points of a file's first `now` interfaces, int64[now]."""
        numbers = self._numbers[index]
        known = len(numbers)
        if known < now:
            more = np.zeros(now - known, np.int64)
            for place, interface in enumerate(range(known, now)):
                shared = self.points.get((self.clock_of[index], interface))
                point = self.point_count if shared is None else shared
                self.point_count = max(self.point_count, point + 1)
                self.points[index, interface] = more[place] = point
            types = [one.frame_linktype for one in self.streams[index].interfaces[known:now]]
            wider = np.zeros(self.point_count, np.int64)
            wider[: len(self._linktypes)] = self._linktypes
            wider[more] = types
            self._linktypes = wider
            self._numbers[index] = np.concatenate([numbers, more])
        return self._numbers[index]

    def _process_batch(self, index: int, batch: Batch) -> None:
        numbers = self._number(index, batch.described)
        if self.point_count > 1 or len(self.points) > 1:
            self.flows.several = self.point_count > 1
            batch.interface = numbers[batch.interface]  # from here on, points
        self.copies.add(batch, self.point_count)
        self._count_cut_frames(index, batch)
        if not self._counted:
            self.matcher.add(self.flows.add(batch, self._linktypes, self.stamped.places))
        if len(self.flows.lldps):
            self.neighbours.add(batch, self.flows.lldps)
        if len(self.flows.rooms):
            self.stamped.add(batch, self.flows.rooms)
        headers, cnms, stops = self.flows.headers, self.flows.cnms, self.flows.pauses
        if len(cnms[0]):
            self._cnms.add(messages(batch, headers, cnms))
        if len(stops[0]):
            found = pauses(batch, headers, stops)
            self._pauses.add(found[found["time_ns"] != NO_TIME])
        if len(self.flows.probes[0]):
            self._probes.add(probes(batch, headers, self.flows.probes))
        if max(self._cnms.count, self._pauses.count, self._probes.count) > ENOUGH:
            self._flush_control_frames()

    def _count_cut_frames(self, index: int, batch: Batch) -> None:
        """Count frames that were not captured whole, in a file that is known to have some."""
        if index not in self._cuts:
            lengths = [one.snaplen for one in self.streams[index].interfaces]
            short = any(0 < length < LONG_SNAPLEN for length in lengths)
            self._cuts[index] = short or bool((batch.captured < batch.original).any())
        if self._cuts[index]:
            points = batch.interface[batch.captured < batch.original]
            numbers, counts = np.unique(points, return_counts=True)
            self.cut.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))

    def _flush_control_frames(self) -> None:
        """Handle the control frames that wait."""
        if self._cnms.count:
            self.messages.add(self._cnms.take())
        if self._pauses.count:
            self.pausing.add(self._pauses.take(), self.rates())
        if self._probes.count:
            self.probes.add(self._probes.take())

    def rate(self, file: int, interface: int) -> int | None:
        """Rate of an interface's link in bit/s, where it is known."""
        return self.settings.rate_bps or self.streams[file].interfaces[interface].speed_bps

    def rates(self) -> dict[int, int]:
        """Rate of each point's link in bit/s, where it is known."""
        found = {point: self.rate(*where) for where, point in self.points.items()}
        return {point: rate for point, rate in found.items() if rate}
