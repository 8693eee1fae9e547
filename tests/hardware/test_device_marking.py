"""ECN marking of a device's queue of priority 3: thresholds, probability, enqueue or dequeue.

PFC holds that queue while a burst fills it, so that the place of a frame in its burst is the length
of the queue that the device marks it by (`marked_bursts`). Counts alone decide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.engine.records import CE
from orchestrator.plan import Plan
from tests.hardware.device_figures import FRAME, MS, OURS, PLAN, Figure, must, none
from tests.hardware.holding import holds
from tests.hardware.marked_bursts import (
    DEQUEUE,
    ENQUEUE,
    Marks,
    above_kmax,
    below_kmin,
    bins,
    described,
    ramp,
)
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.dut_description import DEVICE, HELD_PRIORITY, Device, Marking
from traces.pytest_plugin.run_outcome import Outcome
from traces.pytest_plugin.target_runner import Lab

BURSTS = 8
"""ECN-capable ones; two further ones are not ECN-capable."""
HOLD_MS, CYCLE_MS, LEAD_MS, FILL_MS = 200, 400, 40, 100
"""The queue is held for HOLD_MS of each CYCLE_MS; a burst begins LEAD_MS after the hold, and all of
it is sent within FILL_MS."""
FILL = 1.5
"""Of Kmax: the queue at the end of a burst."""
MARGIN_PS = 5 * MS
"""Before a release, behind the last frame of a burst."""
BURSTS_OF = {"load1": range(BURSTS), "load2": range(BURSTS, BURSTS + 2)}
"""Bursts of each traffic entry, by the number of their hold."""
FLOW_OF_NIC1 = 0
RED = "RED with ECN (RFC 3168, DCQCN): {}"

pytestmark = pytest.mark.needs("device")


def frames_of(stated: Marking) -> int:
    """Frames of a burst."""
    return int(FILL * stated.kmax) // FRAME


def plan_of(device: Device, stated: Marking) -> Plan:
    """The plan of the suite, with bursts in its holds instead of steady traffic: of nic1, whose
    frames are ECN-capable, then of nic2. The flows stay those that a device is configured by."""
    table: dict[str, Any] = Plan.load(PLAN).with_settings(device.settings()).to_table()
    table["timeline"] = []
    for name, numbers in BURSTS_OF.items():
        begins = [CYCLE_MS * number + LEAD_MS for number in numbers]
        entry = table["traffic"][name]
        rate = frames_of(stated) * FRAME * 8000 // FILL_MS
        entry |= {"priority": HELD_PRIORITY, "rate": f"{rate}b/s"}
        entry |= {"start": f"{begins[0]}ms", "stop": f"{begins[-1] + FILL_MS}ms"}
        table["timeline"] += [{"at": f"{at + FILL_MS}ms", "stop": name} for at in begins[:-1]]
        table["timeline"] += [{"at": f"{at}ms", "start": name} for at in begins[1:]]
    table["nodes"]["nic1"]["reaction_point"] = {"plugin": "dcqcn-rp"}
    table["nodes"]["far"]["pause"] = {
        "plugin": "pause-storm",
        "storm_time": f"{HOLD_MS}ms",
        "idle_time": f"{CYCLE_MS - HOLD_MS}ms",
        "frames": "pfc",
        "vector": 1 << HELD_PRIORITY,
    }
    table["duration"] = f"{CYCLE_MS * (BURSTS + 2)}ms"
    return Plan.load(PLAN).with_data(table)


class Bursts:
    """Bursts of a run that PFC held as a whole, and why others say nothing."""

    def __init__(self, outcome: Outcome, device: Device) -> None:
        far = outcome.capture(f"far.{DEVICE}")
        self.spans = holds(far.sent, device.quantum_ps, HELD_PRIORITY)
        self.came = far.data.received
        sent = outcome.capture(f"nic1.{DEVICE}").data.sent
        self.rejected: list[str] = []
        self._reaction = device.reaction_ps
        cycle = sent.times_ps // (CYCLE_MS * MS)
        found = [self._burst(sent.where(cycle == number)) for number in range(BURSTS)]
        kept = [one for one in found if one is not None]
        self.bursts = len(kept)
        empty = np.zeros(0, np.int64)
        self.marks = Marks(
            np.concatenate([empty, *(np.arange(len(one)) for one in kept)]),
            np.concatenate([empty, *(np.full(len(one), len(one)) for one in kept)]),
            np.concatenate([empty, *(one["mark"] & CE == CE for one in kept)]).astype(bool),
            FRAME,
        )
        plain = self.came.where(self.came["flow"] != FLOW_OF_NIC1)
        self.plain_marked = int((plain["mark"] & CE == CE).sum())
        self.plain = len(plain)

    def _burst(self, went: Frames) -> Frames | None:
        """The frames of a burst as they left the device, in order; None: PFC did not hold all."""
        if not len(went):
            self.rejected.append("nothing was sent")
            return None
        left = self.came.where(self.came["flow"] == FLOW_OF_NIC1)
        left = left.where(np.isin(left["sequence"], went["sequence"]))
        first, last = int(went.times_ps.min()), int(went.times_ps.max())
        span = next((one for one in self.spans if one.begin <= first <= one.end), None)
        if span is None or first < span.begin + self._reaction or last > span.end - MARGIN_PS:
            self.rejected.append("it was not sent within one hold")
        elif len(left) != len(went):
            self.rejected.append(f"{len(went) - len(left)} of its {len(went)} frames were lost")
        elif int(left.times_ps.min()) < span.end:
            self.rejected.append("the device sent some of it while PFC held the queue")
        elif (np.diff(left["sequence"]) < 0).any():
            self.rejected.append("the device reordered it")
        else:
            return left
        return None


@pytest.fixture
def stated(device: Device) -> Marking:
    """What is stated of the device's marking."""
    must(device, "ecn")
    assert device.ecn is not None
    return device.ecn


@pytest.fixture
def held(testbed: Lab, device: Device, stated: Marking) -> Bursts:
    """The bursts, at least half of them."""
    found = Bursts(testbed.run(plan_of(device, stated)), device)
    if 2 * found.bursts < BURSTS:
        pytest.skip(
            f"{OURS}: PFC held {found.bursts} of {BURSTS} bursts as a whole; of another one "
            f"{found.rejected[0]}"
        )
    return found


def test_marks_come_at_enqueue_or_dequeue(held: Bursts, stated: Marking, figure: Figure) -> None:
    at = held.marks.at()
    if at is None:
        pytest.skip("it marks nothing, which another figure says")
    figure(
        "ECN: marks at dequeue",
        rule=RED.format("the queue's length at enqueue or at dequeue decides, as stated"),
        expected=float(stated.marks_at == DEQUEUE),
        seen=float(at == DEQUEUE),
        tolerance=0,
        unit="1",
        why=f"{held.marks.first_half():.1%} of the marks lie in the first half of the bursts, "
        f"which leaves over the longest queue and came when it was shortest: "
        f"the device marks at {at}, {stated.marks_at} is stated",
    )


def test_no_frame_is_marked_below_kmin(held: Bursts, stated: Marking, figure: Figure) -> None:
    at = held.marks.at() or ENQUEUE
    seen = below_kmin(held.marks, at, stated)
    why = f"{described(held.marks, at)}; Kmin is {stated.kmin / 1e3:.4g} KB, to a frame"
    none(figure, "ECN: frames marked below Kmin", seen, RED.format("none below Kmin"), why)


def test_every_frame_is_marked_above_kmax(held: Bursts, stated: Marking, figure: Figure) -> None:
    at = held.marks.at() or ENQUEUE
    seen = above_kmax(held.marks, at, stated)
    why = f"{described(held.marks, at)}; Kmax is {stated.kmax / 1e3:.4g} KB, to a frame"
    none(figure, "ECN: frames not marked above Kmax", seen, RED.format("all above Kmax"), why)


def test_between_both_the_share_is_as_configured(
    held: Bursts, stated: Marking, figure: Figure
) -> None:
    found = ramp(held.marks, held.marks.at() or ENQUEUE, stated)
    figure(
        "ECN: share of frames marked from Kmin to Kmax",
        rule=RED.format("linear from 0 at Kmin to Pmax at Kmax"),
        expected=found.stated,
        seen=found.seen,
        tolerance=found.tolerance,
        unit="1",
        why=f"4 standard deviations of independent draws for {found.frames} frames; Pmax is "
        f"{float(stated.pmax):.3g}",
    )


def test_the_probability_follows_the_line(held: Bursts, stated: Marking, figure: Figure) -> None:
    every = bins(held.marks, held.marks.at() or ENQUEUE, stated)
    off = [one for one in every if not one.likely]
    shown = "; ".join(map(str, off)) or f"all {len(every)} parts of the range are within"
    none(
        figure,
        "ECN: parts of the range off the line",
        len(off),
        RED.format("linear from 0 at Kmin to Pmax at Kmax"),
        f"exact test at 0.01 % over all parts: {shown}",
    )


def test_frames_that_are_not_ecn_capable_stay_so(held: Bursts, figure: Figure) -> None:
    if not held.plain:
        pytest.skip("none of them left the device: it dropped them, as RED without ECN may")
    none(
        figure,
        "ECN: frames marked that are not ECN-capable",
        held.plain_marked,
        "RFC 3168, section 5: CE is set in ECN-capable packets alone",
        f"a count of {held.plain} frames with codepoint 00",
    )
