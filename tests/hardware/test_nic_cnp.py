"""CNP pacing of a NIC that receives marked packets: interval, scope, marks before the first CNP.

Without a device the NIC is ours, with the preset `connectx`; a device's file names a capture of the
port of another one (`cnp_pacing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from orchestrator.plan import Plan
from tests.hardware.cnp_pacing import (
    US,
    Marked,
    described,
    intervals,
    marked_pairs,
    marks_until_first,
    missing,
    too_close,
    without_cause,
)
from tests.hardware.device_figures import OURS, Figure, none
from tests.hardware.nic_port import PLAN, port_packets
from traces.pytest_plugin.nic_description import CnpPacing
from traces.pytest_plugin.target_runner import Lab

PAIRS, PAYLOAD, FRAME = 3, 256, 400
SPACING = 8
"""Packets of a queue pair in an interval, where the time for an answer leaves room for so many."""
BURSTS = 4
"""Bursts of marks for each queue pair that has been silent."""
PACE = 0.002
"""Of the clock on real frames: a CNP's few microseconds are some milliseconds of the machine's."""
FIRST_MARKS = "CNP: marked packets until the first CNP"
MISSING = "CNP: marks that are due a CNP and get none"
CLOSE = "CNP: CNPs that follow another one too soon"
CAUSELESS = "CNP: CNPs that no mark caused"
INTERVAL = "CNP: interval while packets are marked"
NP = "DCQCN (SIGCOMM 2015), 3.1, notification point: {}"

pytestmark = pytest.mark.needs("queue-pairs")


def spacing_ps(stated: CnpPacing) -> int:
    """Time from one packet of a queue pair to the next, longer than a CNP takes."""
    return max(stated.interval_ps // SPACING, 3 * stated.response // 2, US)


def plan_of(stated: CnpPacing, nic: dict[str, Any]) -> Plan:
    """Three queue pairs of steady packets, of which the timeline marks: all of the first, then all
    of each, then some of one that was silent. `nic`: settings of the NIC."""
    gap = spacing_ps(stated)
    interval = -(-stated.interval_ps // gap)
    quiet = 2 * interval + 4
    steps: list[dict[str, Any]] = []

    def mark(pair: int, first: int, count: int) -> int:
        steps.append({"at": "0s", "mark": f"pairs.{pair}", "packet": first, "packets": count})
        return first + count

    dense = 10 * interval + 10
    end = mark(0, quiet, dense) + quiet
    end = max(mark(pair, end, dense) for pair in range(PAIRS)) + quiet
    for _ in range(BURSTS):
        for pair in range(PAIRS):
            end = mark(pair, end, stated.marks + 3) + quiet
    table = Plan.load(PLAN).to_table()
    table["nodes"]["dut"] |= nic
    table["traffic"] = {
        "pairs": {
            "plugin": "messages",
            "from": "peer",
            "to": "dut",
            "flows": PAIRS,
            "size": f"{PAYLOAD}B",
            "count": 0,
            "interval": f"{gap}ps",
            "stagger": f"{gap // PAIRS}ps",
            "frame": f"{FRAME}B",
            "transport": {"plugin": "rc", "timeout": "1s"},
        }
    }
    table["timeline"] = steps
    table["duration"] = f"{(end + quiet) * gap}ps"
    return Plan.load(PLAN).with_data(table)


@dataclass(frozen=True)
class Paced:
    """Queue pairs of a NIC, what is stated of it, and what times are good to (ps)."""

    pairs: list[Marked]
    stated: CnpPacing
    clock: int
    reason: str


OWN = CnpPacing()
"""What is stated of our NIC."""


def point(stated: CnpPacing) -> dict[str, Any]:
    """Settings of our NIC that paces as stated."""
    named = {"plugin": "notification-point", "preset": "connectx"}
    return {"notification_point": named | {"min_time_between_cnps": stated.min_time_between_cnps}}


def measured(testbed: Lab) -> Paced:
    """CNPs of the device's capture, or of our NIC with marks that make it send some."""
    packets, clock, reason = port_packets(testbed, "cnp", plan_of(OWN, point(OWN)), PACE)
    stated = OWN if testbed.device is None else testbed.device.cnp
    assert stated is not None
    return Paced(marked_pairs(packets), stated, clock, reason)


@pytest.fixture
def paced(testbed: Lab) -> Paced:
    """CNPs of the NIC."""
    found = measured(testbed)
    if not any(len(one.marks) for one in found.pairs):
        pytest.skip(f"{OURS}: no marked packet came to a queue pair that the NIC acknowledges")
    return found


def shown(sentences: list[str], found: Paced) -> str:
    """Why a count is what it is: the first sentences, and the pacing in one."""
    return "; ".join([*sentences[:3], described(found.pairs), found.reason])


def test_cnps_of_one_pace_keep_their_distance(paced: Paced, figure: Figure) -> None:
    off = too_close(paced.pairs, paced.stated, paced.clock)
    rule = NP.format("at most one CNP in min_time_between_cnps")
    none(figure, CLOSE, len(off), rule, shown(off, paced))


def test_a_mark_that_is_due_a_cnp_gets_one(paced: Paced, figure: Figure) -> None:
    """So a NIC that paces by port where queue pairs are stated, or less often, is found."""
    off = missing(paced.pairs, paced.stated, paced.clock)
    rule = NP.format("a mark is answered where no CNP went out in the interval before it")
    none(figure, MISSING, len(off), rule, shown(off, paced))


def test_each_cnp_has_a_mark_that_caused_it(paced: Paced, figure: Figure) -> None:
    off = without_cause(paced.pairs, paced.clock)
    none(figure, CAUSELESS, len(off), NP.format("marked packets cause CNPs"), shown(off, paced))


def test_the_first_cnp_follows_the_mark_that_is_stated(paced: Paced, figure: Figure) -> None:
    counts = marks_until_first(paced.pairs, paced.stated, paced.clock)
    if not counts:
        pytest.skip("no CNP follows marks of a queue pair that was silent, which another one says")
    off = [one for one in counts if one != paced.stated.marks]
    figure(
        FIRST_MARKS,
        rule=NP.format("the first marked packet, unless another number is stated"),
        expected=paced.stated.marks,
        seen=off[0] if off else counts[0],
        tolerance=0,
        unit="1",
        why=f"a count, of {len(counts)} times that a queue pair had been silent for "
        f"{len(counts) - len(off)} as stated",
    )


def test_the_interval_is_that_which_is_stated(paced: Paced, figure: Figure) -> None:
    """A CNP waits for the first mark behind the interval."""
    found, apart = intervals(paced.pairs, paced.stated, paced.clock)
    if len(found) < 2 or not paced.stated.min_time_between_cnps:
        pytest.skip("no two CNPs while marks came steadily, or every mark is answered")
    figure(
        INTERVAL,
        rule="NVIDIA, min_time_between_cnps",
        expected=paced.stated.interval_ps / US,
        seen=float(np.median(found)) / US,
        tolerance=(apart + paced.stated.response + paced.clock) / US,
        unit="us",
        why=f"a CNP waits for a mark, and these are up to {apart / US:.4g} us apart; it may take "
        f"{paced.stated.response / US:.4g} us; {described(paced.pairs)}; {paced.reason}",
    )
