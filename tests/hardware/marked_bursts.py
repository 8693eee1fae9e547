"""ECN marks over queue length, from bursts that filled a held queue and then drained.

While PFC holds a queue, a burst of n frames enters it: the i-th, counted from 0, finds i frames
before it. When the queue is released they leave in the same order, and n - 1 - i frames are behind
the i-th. So its place in the burst is the length of the queue that a switch marks it by, at enqueue
or at dequeue, without a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from traces.figures.marking_figure import wilson
from traces.pytest_plugin.dut_description import Marking

BINS = 8
"""Of the queue's length between Kmin and Kmax."""
LEVEL = 1e-4
"""Chance that a right device misses one of the figures that are drawn."""
ENQUEUE, DEQUEUE = "enqueue", "dequeue"


@dataclass(frozen=True)
class Marks:
    """Frames of held bursts: `place` int64[m] of each in its burst, `count` int64[m] frames of that
    burst, `marked` bool[m]; frames have `frame` octets each."""

    place: np.ndarray
    count: np.ndarray
    marked: np.ndarray
    frame: int

    def at(self) -> str | None:
        """When the device marks: the half of the bursts with more marks tells. None: no marks."""
        if not self.marked.any():
            return None
        first = self.marked[2 * self.place < self.count].sum()
        return DEQUEUE if 2 * first > self.marked.sum() else ENQUEUE

    def first_half(self) -> float:
        """Share of the marks that lie in the first half of their burst."""
        return float(self.marked[2 * self.place < self.count].sum() / self.marked.sum())

    def lengths(self, at: str) -> np.ndarray:
        """Queue length for each frame, int64[m] octets, without the frame itself."""
        frames = self.place if at == ENQUEUE else self.count - 1 - self.place
        return frames * self.frame


def chance(lengths: np.ndarray, stated: Marking) -> np.ndarray:
    """Chance of a mark at some queue lengths, float64[m]: 0 up to Kmin, Pmax at Kmax, then 1."""
    share = np.clip((lengths - stated.kmin) / (stated.kmax - stated.kmin), 0.0, 1.0)
    return np.where(lengths > stated.kmax, 1.0, share * float(stated.pmax))


def tail(chances: np.ndarray, count: int) -> float:
    """Chance that independent draws are as far from their mean as `count`, on either side: twice
    the smaller tail of the exact (Poisson binomial) distribution."""
    exact = np.ones(1)
    for each in chances.tolist():
        exact = np.convolve(exact, [1.0 - each, each])
    below, above = exact[: count + 1].sum(), exact[count:].sum()
    return float(min(1.0, 2 * min(below, above)))


class Bin(NamedTuple):
    """Frames whose queue length is in [low, high) octets, and the share that should be marked."""

    low: int
    high: int
    frames: int
    marked: int
    stated: float
    likely: bool

    def __str__(self) -> str:
        least, most = wilson(np.array([float(self.marked)]), np.array([float(self.frames)]))
        return (
            f"{self.low / 1e3:.4g} to {self.high / 1e3:.4g} KB: {self.marked} of {self.frames} "
            f"frames marked, {self.marked / self.frames:.1%} (95 %: {least[0]:.1%} to "
            f"{most[0]:.1%}), {self.stated:.1%} configured"
        )


def bins(marks: Marks, at: str, stated: Marking) -> list[Bin]:
    """Equal parts of the range from Kmin to Kmax, those that have frames."""
    lengths = marks.lengths(at)
    expected = chance(lengths, stated)
    edges = np.linspace(stated.kmin, stated.kmax, BINS + 1).astype(int)
    found = []
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        mine = (lengths >= low) & (lengths < high)
        if not mine.any():
            continue
        count, marked = int(mine.sum()), int(marks.marked[mine].sum())
        likely = tail(expected[mine], marked) >= LEVEL / BINS
        found.append(Bin(low, high, count, marked, float(expected[mine].mean()), likely))
    return found


class Ramp(NamedTuple):
    """All frames from Kmin to Kmax: share marked, share by the curve, and how far the first may be
    from the second by chance (4 standard deviations)."""

    frames: int
    seen: float
    stated: float
    tolerance: float


def ramp(marks: Marks, at: str, stated: Marking) -> Ramp:
    """The share of frames that are marked between both thresholds."""
    lengths = marks.lengths(at)
    mine = (lengths >= stated.kmin) & (lengths <= stated.kmax)
    expected, count = chance(lengths, stated)[mine], int(mine.sum())
    spread = float(np.sqrt((expected * (1 - expected)).sum()))
    seen = float(marks.marked[mine].mean())
    return Ramp(count, seen, float(expected.mean()), 4 * spread / count)


def below_kmin(marks: Marks, at: str, stated: Marking) -> int:
    """Marked frames whose queue is shorter than Kmin by more than a frame: a switch may count the
    frame itself."""
    return int(marks.marked[marks.lengths(at) < stated.kmin - marks.frame].sum())


def above_kmax(marks: Marks, at: str, stated: Marking) -> int:
    """Frames without a mark whose queue is longer than Kmax by more than a frame."""
    return int((~marks.marked[marks.lengths(at) > stated.kmax + marks.frame]).sum())


def described(marks: Marks, at: str) -> str:
    """The marks in one sentence: when, and from which queue length on."""
    if not marks.marked.any():
        return f"none of {len(marks.marked)} frames is marked"
    lengths = marks.lengths(at)
    least = int(lengths[marks.marked].min())
    clear = lengths[~marks.marked]
    most = f"up to {int(clear.max()) / 1e3:.4g} KB some are not" if len(clear) else "all are"
    return (
        f"the device marks at {at}, from {least / 1e3:.4g} KB on, and {most}; "
        f"{int(marks.marked.sum())} of {len(marks.marked)} frames"
    )
