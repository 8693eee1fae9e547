"""Streams of captured frames of one port and direction, batch by batch, and their merging."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.engine.frames import captured_tables
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from traces.capture import NO_TIME, open_capture
from traces.oracle.reference_driver import MAC_OCTETS, gather

SNAP = 128
"""Octets that are kept of a control frame, to be compared one by one."""
ADDRESSES = MAC_OCTETS
"""Octets that are kept of a data frame: the MAC addresses, which no field has behind a router."""
INCOMING, OUTGOING = 1, 2


@dataclass
class CapturedFrames:
    """Some frames in order of time: `times_ns` int64[n] since the run began, `frames` FRAME[n],
    `octets` uint8[n, SNAP] (of data frames ADDRESSES), `numbers` int64[n] in their file, from 1."""

    times_ns: np.ndarray
    frames: np.ndarray
    octets: np.ndarray
    numbers: np.ndarray

    def __len__(self) -> int:
        return len(self.times_ns)

    def rows(self, begin: int, end: int) -> CapturedFrames:
        """Some of them."""
        some = slice(begin, end)
        return CapturedFrames(
            self.times_ns[some], self.frames[some], self.octets[some], self.numbers[some]
        )


@dataclass(frozen=True)
class StreamSource:
    """Source of a stream: a file, its interface, a direction. `port` is the plan's port that it
    stands for, which may be the other end of the link that was captured."""

    path: str
    interface: int
    direction: int
    port: str
    seen_at: str


def frame_stream(place: StreamSource, epoch_ns: int, until_ns: int) -> Iterator[CapturedFrames]:
    """The frames of a place up to a time (ns since the run began) or to the file's damage."""
    with open_capture(place.path) as stream:
        for batch in stream.batches():
            wanted = (batch.interface == place.interface) & (batch.direction == place.direction)
            wanted &= (batch.time_ns != NO_TIME) & (batch.time_ns - epoch_ns <= until_ns)
            picked = np.flatnonzero(wanted)
            if len(picked):
                frames = empty_descriptors(len(picked))
                octets = np.zeros((len(picked), SNAP), np.uint8)
                gather(
                    captured_tables(),
                    batch.octets,
                    batch.offset,
                    batch.captured,
                    batch.original,
                    picked,
                    frames,
                    octets,
                )
                times = batch.time_ns[picked] - epoch_ns
                yield CapturedFrames(times, frames, octets, batch.number + picked + 1)


class Reader:
    """A stream of which one takes as much as one needs."""

    def __init__(self, stream: Iterator[CapturedFrames]) -> None:
        self._stream = stream
        self.rest: CapturedFrames | None = None

    def ready(self, least: int = 1) -> int:
        """Read until so many frames are buffered, or to the end; returns the number buffered."""
        while self.rest is None or len(self.rest) < least:
            more = next(self._stream, None)
            if more is None:
                break
            self.rest = more if self.rest is None else joined([self.rest, more])
        return 0 if self.rest is None else len(self.rest)

    def take(self, count: int) -> CapturedFrames:
        """Remove and return the first buffered frames."""
        assert self.rest is not None
        taken, self.rest = self.rest.rows(0, count), self.rest.rows(count, len(self.rest))
        return taken


def joined(parts: Sequence[CapturedFrames]) -> CapturedFrames:
    """Several stretches as one."""
    return CapturedFrames(
        np.concatenate([part.times_ns for part in parts]),
        np.concatenate([part.frames for part in parts]).view(np.recarray),
        np.concatenate([part.octets for part in parts]),
        np.concatenate([part.numbers for part in parts]),
    )


def merged(readers: Sequence[Reader]) -> Iterator[tuple[CapturedFrames, np.ndarray]]:
    """All frames of some streams in order of time, with the stream of each (int64[n]).

    Of equal times the stream that is named first comes first: a simulator's order, where streams
    are in the order of the ports.
    """
    open_ones = dict(enumerate(readers))
    while open_ones:
        for index, reader in list(open_ones.items()):
            if reader.ready() == 0:
                del open_ones[index]
        if not open_ones:
            return
        rests = {index: reader.rest for index, reader in open_ones.items()}
        # behind this time another stream may still have something in its next batch
        safe = min(int(rest.times_ns[-1]) for rest in rests.values() if rest is not None)
        parts, owners = [], []
        for index, reader in open_ones.items():
            assert reader.rest is not None
            while int(reader.rest.times_ns[-1]) == safe:  # ties may go on in the next batch
                before = len(reader.rest)
                if reader.ready(before + 1) == before:
                    break
            count = int(np.searchsorted(reader.rest.times_ns, safe, side="right"))
            parts.append(reader.take(count))
            owners.append(np.full(count, index, np.int64))
        whole, owner = joined(parts), np.concatenate(owners)
        order = np.argsort(whole.times_ns, kind="stable")
        yield (
            CapturedFrames(
                whole.times_ns[order],
                whole.frames[order].view(np.recarray),
                whole.octets[order],
                whole.numbers[order],
            ),
            owner[order],
        )
