"""DSCP-to-queue map of a switch, measured by PFC.

PFC for one priority holds the queue of that priority. A frame that entered the device while it was
held, and leaves behind the release, waited in that queue; a frame that leaves before the release
waits elsewhere. Our port sends the release and receives the frames, so that their order decides and
no clock does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.hardware.holding import Hold
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.dut_description import QueueMap

LEAST_FRAMES = 4
"""Of a DSCP in a hold: fewer say nothing."""


@dataclass
class Waits:
    """Frames of one DSCP that were sent while PFC held a priority: `held` and `passed` by priority,
    `lost` of all holds, `rewritten` that left with another DSCP."""

    held: dict[int, int] = field(default_factory=dict)
    passed: dict[int, int] = field(default_factory=dict)
    lost: int = 0
    rewritten: dict[int, int] = field(default_factory=dict)

    def add(self, priority: int, sent: Frames, left: Frames, hold: Hold) -> None:
        """Count what was sent within a hold, by what left the device."""
        mine = left.where(np.isin(left["sequence"], sent["sequence"]))
        late = int((mine.times_ps > hold.end).sum())
        self.held[priority] = self.held.get(priority, 0) + late
        self.passed[priority] = self.passed.get(priority, 0) + len(mine) - late
        self.lost += len(set(sent["sequence"].tolist()) - set(mine["sequence"].tolist()))

    def frames(self, priority: int) -> int:
        """Frames that tell whether PFC for a priority holds them."""
        return self.held.get(priority, 0) + self.passed.get(priority, 0)

    def queues(self) -> list[int]:
        """Priorities whose PFC holds more than half of the frames."""
        return sorted(one for one, held in self.held.items() if held > self.passed[one])


Measured = dict[int, Waits]
"""By DSCP."""


def numbers(those: Iterable[int]) -> str:
    """Numbers in order, with ranges: "0-2, 5"."""
    spans: list[list[int]] = []
    for one in sorted(those):
        if spans and one == spans[-1][1] + 1:
            spans[-1][1] = one
        else:
            spans.append([one, one])
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in spans)


def place(queues: Sequence[int], tested: Sequence[int]) -> str:
    """Where frames wait that PFC for these priorities holds."""
    if queues:
        return f"queue {queues[0]}" if len(queues) == 1 else f"queues {numbers(queues)}"
    if len(tested) == 8:
        return "no queue that PFC holds"
    return f"no queue that PFC holds (of {numbers(tested)})"


def wrong(measured: Measured, stated: QueueMap, tested: Sequence[int]) -> dict[int, str]:
    """A sentence for each DSCP whose frames wait elsewhere than stated, or do not leave.
    `tested`: priorities for which PFC is enabled; a queue of another one cannot be told."""
    found = {}
    for dscp, queue in stated.queues().items():
        if dscp not in measured:
            continue
        one = measured[dscp]
        queues = one.queues()
        if not any(map(one.frames, tested)):
            found[dscp] = (
                f"frames of DSCP {dscp} do not leave the device; the description says queue {queue}"
            )
        elif queues != [queue] * (queue in tested):
            found[dscp] = (
                f"DSCP {dscp} waits in {place(queues, tested)}; the description says {queue}"
            )
    return found


def rewritten(measured: Measured) -> dict[int, str]:
    """A sentence for each DSCP that the device changes."""
    return {
        dscp: f"DSCP {dscp} leaves as DSCP {numbers(one.rewritten)}"
        for dscp, one in measured.items()
        if one.rewritten
    }


def described(measured: Measured, tested: Sequence[int]) -> str:
    """The map in one sentence: the DSCPs of each queue."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for dscp, one in measured.items():
        groups.setdefault(tuple(one.queues()), []).append(dscp)
    rows = sorted(groups.items(), key=lambda row: (not row[0], row[0]))
    return "; ".join(f"{place(queues, tested)}: DSCP {numbers(dscps)}" for queues, dscps in rows)
