"""Order of data frames at an end of a wire: a PSN that wraps is no frame behind a later one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from orchestrator.engine.datapath import link_counters as at
from orchestrator.engine.jit import compiled
from orchestrator.engine.records import DATA, FLOW, FRAME, NONE, ROCE_WRITE


class Rig(NamedTuple):
    """As much of a rig as the counters need."""

    latest: np.ndarray
    tally: np.ndarray


class World(NamedTuple):
    """As much of a world."""

    flows: np.recarray


@compiled
def count_all(w, rig, frames, end):
    """Count frames in their order at one end of wire 0."""
    for k in range(frames.size):
        at.count_order(w, rig, 0, frames[k], end)


@pytest.mark.parametrize("bits", [24, 62])
@pytest.mark.parametrize("end", [at.SENT, at.RECEIVED])
@pytest.mark.parametrize(
    ("steps", "late", "repeated"),
    [([0, 1, 2, 3], 0, 0), ([0, 2, 1, 3], 1, 0), ([0, 1, 1, 2], 0, 1), ([0, 1, 2, 0, 1, 2], 2, 1)],
)
def test_packets_are_in_order_across_a_wrap(
    steps: list[int], late: int, repeated: int, end: int, bits: int
) -> None:
    """Whether the frame has its count, as its source writes it, or 24 bits of that."""
    flows = np.zeros(1, FLOW).view(np.recarray)
    flows.roce = ROCE_WRITE
    frames = np.zeros(len(steps), FRAME).view(np.recarray)
    frames.kind = DATA
    frames.sequence = [((1 << 24) - 2 + step) & ((1 << bits) - 1) for step in steps]
    rig = Rig(np.full((2, 1, 1), NONE, np.int64), np.zeros((1, at.WORDS), np.int64))
    count_all(World(flows), rig, frames, end)
    assert rig.tally[0, end + at.SENT_LATE] == late
    assert rig.tally[0, end + at.SENT_REPEATED] == repeated
