"""Time order of captured frames: counts frames that went back in time, and sorts within a window.

Files of several receive queues, interfaces or merged captures are not in order of time. Order is
restored among WINDOW frames at a time, whatever the batches in which a file is read.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace

import numpy as np

from orchestrator.engine.jit import compiled
from traces.capture.frame_batch import NO_TIME, Batch

WINDOW = 1 << 14
"""Frames among which the earliest is next: a frame may be as many places too late in a file."""
LATEST, BACKWARD = range(2)


@compiled
def note_order(times, order):
    """Count times before the latest one so far: `order` int64[2] has LATEST, BACKWARD."""
    latest, backward = order[0], order[1]
    for index in range(times.size):
        time = times[index & 0x7FFFFFFF]
        if time < latest:
            backward += time != NO_TIME
        else:
            latest = time
    order[0], order[1] = latest, backward


def new_order() -> np.ndarray:
    """`order` of `note_order` before the first frame."""
    return np.array([NO_TIME, 0], np.int64)


def _concatenated(batches: list[Batch]) -> Batch:
    """One batch with the octets of its frames, and no others, in a buffer of its own. Its `number`
    is the first one's, `described` the last's."""
    octets = []
    for one in batches:
        ends = np.cumsum(one.captured)
        places = np.repeat(one.offset - (ends - one.captured), one.captured)
        octets.append(one.octets[places + np.arange(len(places))])
    names = ("captured", "original", "time_ns", "interface", "direction")
    joined = {name: np.concatenate([getattr(one, name) for one in batches]) for name in names}
    return Batch(
        octets=np.concatenate(octets),
        offset=np.cumsum(joined["captured"]) - joined["captured"],
        number=batches[0].number,
        origin=0,
        described=batches[-1].described,
        **joined,
    )


def _picked(batch: Batch, rows: np.ndarray | slice) -> Batch:
    names = ("offset", "captured", "original", "time_ns", "interface", "direction")
    return replace(batch, **{name: getattr(batch, name)[rows] for name in names})


def _in_order(batch: Batch) -> Batch:
    """A batch sorted by time; a frame without a time stays behind the one before it."""
    times = batch.time_ns
    rows = np.arange(len(times))
    known = np.maximum.accumulate(np.where(times != NO_TIME, rows, 0))
    return _picked(batch, np.argsort(times[known], kind="stable"))


def _chunks(batches: Iterable[Batch], frames: int) -> Iterator[list[Batch]]:
    """The same frames, so many together; copies, since a batch is valid up to the next only."""
    together: list[Batch] = []
    count = 0
    for batch in batches:
        begin = 0
        while begin < len(batch):
            some = min(frames - count, len(batch) - begin)
            together.append(_concatenated([_picked(batch, slice(begin, begin + some))]))
            begin += some
            count += some
            if count == frames:
                yield together
                together, count = [], 0
    if together:
        yield together


def sorted_batches(batches: Iterable[Batch], window: int = WINDOW) -> Generator[Batch, None, None]:
    """Batches in order of time, as far as `window` frames restore it.

    The result depends on the frames alone, not on how batches divide them.
    """
    waiting: list[Batch] = []
    for chunk in _chunks(batches, window):
        together = _in_order(_concatenated(waiting + chunk))
        ready = len(together) - window
        if ready > 0:
            yield _picked(together, slice(0, ready))
        waiting = [_concatenated([_picked(together, slice(max(ready, 0), None))])]
    yield from waiting
