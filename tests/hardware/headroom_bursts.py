"""XOFF threshold and headroom of one port, from bursts that go on after XOFF.

PFC holds the queue of the device that a burst goes to, so that no frame leaves: what the device has
buffered is what was sent to it. Its XOFF comes behind one frame of the burst, its first drop is a
later one. The frames between both, and one that crosses the threshold or the end of the buffer in
part, are its headroom: to a frame, without a clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import numpy as np

from orchestrator.engine.frames.pfc_frame import quanta_of
from orchestrator.engine.records import PAUSE, PFC
from tests.hardware.device_figures import FRAME, MS
from tests.hardware.dscp_queues import numbers
from tests.hardware.grain import grain
from tests.hardware.holding import Hold, holds
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.dut_description import (
    DEVICE,
    HEADROOM_FILL_MS,
    HELD_PRIORITY,
    Device,
    Headroom,
)
from traces.pytest_plugin.run_outcome import Outcome

STEPS = ((1, 2, 0), (3, 4, 0), (1, 1, -2), (1, 1, 2), (5, 4, 0), (3, 2, 0), (2, 1, 0), (1, 1, -2))
"""Bursts: share of the headroom that is sent after XOFF (numerator, denominator), and frames more.
They grow until the device drops; the last one finds whether what was dropped left room behind."""


HOLD_MS, CYCLE_MS, LEAD_MS = 300, 500, 40
"""The queue is held for HOLD_MS of each CYCLE_MS; a burst begins LEAD_MS after the hold."""
MARGIN_PS = 5 * MS
"""Before a release, behind the last frame of a burst."""
FLOW_BESIDE, FLOW_OF_NIC1, FLOW_OF_NIC2 = 0, 1, 2
"""By source, then by name: beside, load1, load2."""


@dataclass(frozen=True)
class Filling:
    """One burst, in frames of `unit` octets: those of it, those sent until XOFF came, the place of
    the first one that was lost, and how many were."""

    number: int
    frames: int
    until_xoff: int | None
    first_lost: int | None
    lost: int
    lapse_ps: int = 0
    """For how long no XOFF held the port between the first one and the release."""
    is_resumed: bool = True
    """True if XON came once the queue had drained."""
    is_released: bool = False
    """True if XON came while the queue was held."""
    instead: str = ""
    """What came where XOFF did not."""

    @property
    def after_xoff(self) -> int | None:
        """Frames that the device took after XOFF until its first drop."""
        if self.until_xoff is None or self.first_lost is None:
            return None
        return self.first_lost - self.until_xoff


def unit(stated: Headroom, frame: int) -> int:
    """Octets that a frame of some octets without FCS takes in the device."""
    return frame if stated.cell is None else -(-(frame + 4) // stated.cell) * stated.cell


def frames_of(stated: Headroom, frame: int) -> list[int]:
    """Frames of each burst of STEPS."""
    octets = unit(stated, frame)
    return [
        (stated.xoff_threshold + stated.size * above // below) // octets + more
        for above, below, more in STEPS
    ]


def limit(stated: Headroom, frame: int) -> int:
    """Frames of a burst that must not lose any: a frame less than threshold and headroom take."""
    return (stated.xoff_threshold + stated.size) // unit(stated, frame) - 1


def threshold(fillings: Iterable[Filling]) -> float | None:
    """Frames until XOFF, the median of the bursts; None: there is no XOFF."""
    places = [one.until_xoff for one in fillings if one.until_xoff is not None]
    return median(places) if places else None


def headroom(fillings: Iterable[Filling]) -> float | None:
    """Frames from XOFF to the first drop, the median of the bursts that lost some after it."""
    places = [one.after_xoff for one in fillings if one.after_xoff is not None]
    return median(places) if places else None


def longest_after_xoff(fillings: Iterable[Filling]) -> int:
    """Frames that were sent after XOFF at most; 0: there is no XOFF."""
    rows = [one.frames - one.until_xoff for one in fillings if one.until_xoff is not None]
    return max(rows, default=0)


def without_xoff(fillings: Iterable[Filling], stated: Headroom, frame: int) -> list[Filling]:
    """Bursts longer than the threshold that no XOFF answered before their first lost frame."""
    due = stated.xoff_threshold // unit(stated, frame) + 1
    return [
        one
        for one in fillings
        if one.frames > due
        and (
            one.until_xoff is None
            or (one.first_lost is not None and one.first_lost < one.until_xoff)
        )
    ]


def lost_within(fillings: Iterable[Filling], stated: Headroom, frame: int) -> list[Filling]:
    """Bursts that lose frames although threshold and headroom take them."""
    most = limit(stated, frame)
    return [one for one in fillings if one.first_lost is not None and one.first_lost < most]


def pausing(frames: Frames, priority: int) -> tuple[np.ndarray, np.ndarray]:
    """When PFC frames that name a priority came (ps, int64[n]), and their quanta (int64[n])."""
    mine = frames.where((frames["kind"] == PFC) & (frames["mark"] >> priority & 1 == 1))
    quanta = [int(quanta_of(one.view(np.recarray), priority)) for one in mine.fields]
    return mine.times_ps, np.array(quanta, np.int64)


class Fillings:
    """Bursts of a run that PFC held as a whole, and why others say nothing."""

    def __init__(self, outcome: Outcome, device: Device, stated: Headroom) -> None:
        self.device, self.stated, self.octets = device, stated, unit(stated, FRAME)
        far, self._nic1 = outcome.capture(f"far.{DEVICE}"), outcome.capture(f"nic1.{DEVICE}")
        self._nic2 = outcome.capture(f"nic2.{DEVICE}")
        self.spans = holds(far.sent, device.quantum_ps, HELD_PRIORITY)
        self.came = far.data.received
        self.clock, self.reason = grain(outcome, "p99")
        self.rejected: list[str] = []
        found = [self._filling(number) for number in range(len(STEPS))]
        self.bursts = [one for one in found if one is not None]
        self.gap_ps = HEADROOM_FILL_MS * MS / max(frames_of(stated, FRAME))
        """From one frame of a burst to the next."""
        self.strange = self._strange()
        self.lost_beside = self._lost(self._nic1, FLOW_BESIDE)
        self.lost_nic2 = self._lost(self._nic2, FLOW_OF_NIC2)

    @property
    def tolerance(self) -> float:
        """Octets: a frame, and those that are sent while our side is late to see XOFF."""
        return self.octets * (1 + 2 * self.clock / self.gap_ps)

    @property
    def why(self) -> str:
        """Where `tolerance` comes from."""
        return f"to a frame of {self.octets} octets; {self.reason}"

    def _lost(self, at: Frames, flow: int) -> int:
        sent = at.data.sent
        mine, left = sent.where(sent["flow"] == flow), self.came.where(self.came["flow"] == flow)
        return len(set(mine["sequence"].tolist()) - set(left["sequence"].tolist()))

    def _filling(self, number: int) -> Filling | None:
        """The burst of a cycle; None: PFC did not hold all of it."""
        sent = self._nic1.data.sent
        went = sent.where(
            (sent["flow"] == FLOW_OF_NIC1) & (sent.times_ps // (CYCLE_MS * MS) == number)
        )
        if not len(went):
            self.rejected.append("nothing was sent")
            return None
        left = self.came.where(self.came["flow"] == FLOW_OF_NIC1)
        left = left.where(np.isin(left["sequence"], went["sequence"]))
        first, last = int(went.times_ps.min()), int(went.times_ps.max())
        span = next((one for one in self.spans if one.begin <= first <= one.end), None)
        if span is not None and last > span.end - MARGIN_PS and self._has_paused(span):
            went = went.where(went.times_ps < span.end - MARGIN_PS)
            left = left.where(np.isin(left["sequence"], went["sequence"]))
            last = int(went.times_ps.max())
        late = span is None or last > span.end - MARGIN_PS
        if span is None or late or first < span.begin + self.device.reaction_ps:
            self.rejected.append("it was not sent within one hold")
        elif len(left) and int(left.times_ps.min()) < span.end:
            early = left.times_ps[left.times_ps < span.end]
            self.rejected.append(
                f"the device sent {len(early)} of {len(left)} frames of it while PFC held the "
                f"queue, the first one {(int(early.min()) - span.begin) / MS:.3g} ms after XOFF"
            )
        else:
            return self._judged(number, went, left, span)
        return None

    def _has_paused(self, span: Hold) -> bool:
        """True if the device stopped nic1 by PAUSE in a hold, which no NIC of ours ignores."""
        plain = self._nic1.received.where(self._nic1.received["kind"] == PAUSE)
        return bool(((plain.times_ps > span.begin) & (plain.times_ps < span.end)).any())

    def _judged(self, number: int, went: Frames, left: Frames, span: Hold) -> Filling:
        times, quanta = pausing(self._nic1.received, HELD_PRIORITY)
        inside = (times > span.begin) & (times < span.end)
        mine = times[inside & (quanta > 0)]
        lost = np.flatnonzero(~np.isin(went["sequence"], left["sequence"]))
        xoff = int(mine.min()) if len(mine) else None
        after = (times > span.end) & (times < span.end + (CYCLE_MS - HOLD_MS) * MS)
        return Filling(
            number + 1,
            len(went),
            None if xoff is None else int((went.times_ps <= xoff).sum()),
            int(lost[0]) if len(lost) else None,
            len(lost),
            0 if xoff is None else self._lapse(xoff, span.end),
            xoff is None or bool((quanta[after] == 0).any()),
            bool((quanta[inside] == 0).any()),
            "" if xoff is not None else self._instead(span),
        )

    def _lapse(self, begin: int, end: int) -> int:
        """Ps between two instants in which no PFC of the device holds nic1."""
        held = 0
        for one in holds(self._nic1.received, self.device.quantum_ps, HELD_PRIORITY):
            held += max(min(one.end, end) - max(one.begin, begin), 0)
        return end - begin - held

    def _instead(self, span: Hold) -> str:
        """What came at our ports in a hold in place of XOFF for the priority that is full."""
        for name, frames in (("nic1", self._nic1.received), ("nic2", self._nic2.received)):
            inside = frames.where((frames.times_ps > span.begin) & (frames.times_ps < span.end))
            if (inside["kind"] == PAUSE).any():
                return f"the device sends PAUSE (802.3x) to {name} instead of PFC"
            for priority in range(8):
                if (pausing(inside, priority)[1] > 0).any():
                    return f"the device sends XOFF for priority {priority} to {name} instead"
        return "the device sends neither PFC nor PAUSE"

    def _strange(self) -> dict[str, int]:
        """Frames that pause what is below its threshold, by what they are."""
        found: dict[str, int] = {}
        for name, frames in (("nic1", self._nic1.received), ("nic2", self._nic2.received)):
            full = name == "nic1" or self.stated.ports == 2
            plain = frames.where(frames["kind"] == PAUSE)
            found[f"PAUSE (802.3x), which stops every priority, to {name}"] = len(plain)
            others = [one for one in range(8) if one != HELD_PRIORITY or not full]
            counts = {one: int((pausing(frames, one)[1] > 0).sum()) for one in others}
            named = numbers(one for one, count in counts.items() if count)
            found[f"PFC for priority {named} to {name}"] = max(counts.values())
        return {what: count for what, count in found.items() if count}
