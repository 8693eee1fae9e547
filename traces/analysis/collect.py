"""One pass over one or several captures, in bounded memory; what it gathers is for `summary`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from traces.analysis.flows import Flows
from traces.analysis.latency import Matcher
from traces.analysis.messages import Messages
from traces.analysis.pausing import Pausing
from traces.analysis.waiting import ENOUGH, Waiting
from traces.capture import NO_TIME, Batch, CaptureStream, open_capture
from traces.dissect import HEADERS, Kind, dissect, messages, pauses

MS = 10**6
STORM_NS = 10 * MS


@dataclass(frozen=True)
class Settings:
    """What the user may say about captures that does not stand in them."""

    rate_bps: int | None = None
    """Of all links. None: what each interface block says, if it does; else pause times stay
    unknown."""
    storm_ns: int = STORM_NS
    """A pause that lasts at least this long without a break is a storm."""


class Collected:
    """Everything that is known after the last frame. Points are numbered file by file."""

    def __init__(self, paths: Sequence[str | os.PathLike[str]], settings: Settings) -> None:
        self.settings = settings
        self.flows = Flows()
        self.matcher = Matcher()
        self.messages = Messages()
        self.pausing = Pausing(settings.storm_ns)
        self.streams: list[CaptureStream] = []
        self.points: dict[tuple[int, int], int] = {}
        """(file, interface) to point."""
        self._headers = np.empty(0, HEADERS)
        self._waiting_cnms, self._waiting_pauses = Waiting(), Waiting()
        try:
            for path in paths:
                self.streams.append(open_capture(path))
            self._run()
        finally:
            for stream in self.streams:
                stream.close()

    def _run(self) -> None:
        feeds: dict[int, Iterator[Batch]] = {
            index: stream.batches() for index, stream in enumerate(self.streams)
        }
        reached = dict.fromkeys(feeds, NO_TIME)
        self.flows.several = len(feeds) > 1
        while feeds:
            # the file that is furthest behind, so that sightings of a frame come close together
            index = min(feeds, key=lambda one: reached[one])
            batch = next(feeds[index], None)
            if batch is None:
                self._number(index)
                del feeds[index], reached[index]
            else:
                self._take(index, batch)
                reached[index] = max(reached[index], int(batch.time_ns.max()))
            if not feeds:
                self._messages()
                self._pauses()
            if self.flows.several:
                until = min(reached.values(), default=2**63 - 1)
                self.matcher.flush(until, self.flows.flows, self.flows.keys)

    def _number(self, index: int) -> None:
        """Number the points of a file, as far as its interfaces are known."""
        for interface in range(len(self.streams[index].interfaces)):
            self.points.setdefault((index, interface), len(self.points))

    def _take(self, index: int, batch: Batch) -> None:
        interfaces = self.streams[index].interfaces
        self._number(index)
        numbers = np.array([self.points[index, one] for one in range(len(interfaces))], np.int64)
        where = numbers[batch.interface] if len(self.points) > 1 else batch.interface
        self.flows.several = len(self.points) > 1 or self.flows.several
        if len(self._headers) < len(batch):
            self._headers = np.empty(len(batch), HEADERS)
        headers = dissect(batch, interfaces, self._headers)
        self.matcher.add(self.flows.add(batch, headers, where))
        control = self.flows.control
        if len(control):
            self._waiting_cnms.add(messages(batch, headers, control), where, headers)
            found = pauses(batch, headers, control)
            found = found[found["time_ns"] != NO_TIME]
            self._waiting_pauses.add(found, where, headers, batch.direction)
        if self._waiting_cnms.rows > ENOUGH:
            self._messages()
        if self._waiting_pauses.rows > ENOUGH:
            self._pauses()

    def _messages(self) -> None:
        if self._waiting_cnms.rows:
            self.messages.add(*self._waiting_cnms.take())

    def _pauses(self) -> None:
        if self._waiting_pauses.rows:
            found, where, headers, directions = self._waiting_pauses.take()
            plain, sources = headers["kind"] == Kind.PAUSE, headers["source"]
            self.pausing.add(found, plain, where, sources, directions, self.rates())

    def rates(self) -> dict[int, int]:
        """Rate of the link at each point, in bit/s, where it is known."""
        found = {}
        for (index, interface), point in self.points.items():
            said = self.streams[index].interfaces[interface].speed_bps
            rate = self.settings.rate_bps or said
            if rate:
                found[point] = rate
        return found
