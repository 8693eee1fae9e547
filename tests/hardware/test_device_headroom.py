"""PFC headroom of a device: octets that it takes after its XOFF until it drops the first frame.

Our NIC does not respond to PFC for as many frames as a burst has, and bursts grow until the device
drops, while PFC of ours holds the queue that they go to (`headroom_bursts`).
"""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.plan import Plan
from tests.hardware.device_figures import (
    FRAME,
    MS,
    OURS,
    PLAN,
    Figure,
    must,
    none,
    without_losses_of_ours,
)
from tests.hardware.headroom_bursts import (
    CYCLE_MS,
    HOLD_MS,
    LEAD_MS,
    STEPS,
    Filling,
    Fillings,
    frames_of,
    headroom,
    longest_after_xoff,
    lost_within,
    threshold,
    unit,
    without_xoff,
)
from traces.pytest_plugin.dut_description import (
    HEADROOM_FILL_MS,
    HELD_PRIORITY,
    OTHER_PRIORITY,
    Device,
    Headroom,
)
from traces.pytest_plugin.target_runner import Lab

QBB = "802.1Q 36, annex N: a lossless priority has headroom for what comes after XOFF"

pytestmark = pytest.mark.needs("device")


def plan_of(device: Device, stated: Headroom) -> Plan:
    """The plan of the suite with bursts of both NICs to priority 3 of port far in its holds, and
    steady traffic of nic1 to another priority."""
    table: dict[str, Any] = Plan.load(PLAN).with_settings(device.settings()).to_table()
    sizes, octets = frames_of(stated, FRAME), unit(stated, FRAME)
    gap_us = HEADROOM_FILL_MS * 1000 // max(sizes)
    beside = stated.xoff_threshold // octets // 2 if stated.ports == 1 else sizes[2]
    table["timeline"] = []
    for name, frames in (("load1", sizes), ("load2", [beside] * len(sizes))):
        begins = [CYCLE_MS * 1000 * number + LEAD_MS * 1000 for number in range(len(STEPS))]
        ends = [at + count * gap_us for at, count in zip(begins, frames, strict=True)]
        entry = table["traffic"][name]
        entry |= {"priority": HELD_PRIORITY, "rate": f"{FRAME * 8 * 10**6 // gap_us}b/s"}
        entry |= {"start": f"{begins[0]}us", "stop": f"{ends[-1]}us"}
        table["timeline"] += [{"at": f"{at}us", "stop": name} for at in ends[:-1]]
        table["timeline"] += [{"at": f"{at}us", "start": name} for at in begins[1:]]
        table["nodes"][f"nic{name[-1]}"]["obeys_pfc"] = []
    last = CYCLE_MS * len(STEPS)
    steady = {"priority": OTHER_PRIORITY, "rate": f"{device.load}b/s"}
    table["traffic"]["beside"] = table["traffic"]["load1"] | steady
    table["traffic"]["beside"] |= {"start": "0s", "stop": f"{last - CYCLE_MS // 5}ms"}
    table["nodes"]["far"]["pause"] = {
        "plugin": "pause-storm",
        "storm_time": f"{HOLD_MS}ms",
        "idle_time": f"{CYCLE_MS - HOLD_MS}ms",
        "frames": "pfc",
        "vector": 1 << HELD_PRIORITY,
    }
    table["duration"] = f"{last}ms"
    return Plan.load(PLAN).with_data(table)


def kilobytes(octets: float) -> str:
    """As text."""
    return f"{octets / 1e3:.4g} KB"


def of_threshold(fillings: list[Filling], stated: Headroom, octets: int) -> str:
    """Sentence about the octets that are buffered until XOFF."""
    seen = (threshold(fillings) or 0) * octets
    off = seen - stated.xoff_threshold
    text = (
        f"the device sends XOFF once {kilobytes(seen)} of priority 3 are buffered from one port, "
        f"{kilobytes(stated.xoff_threshold)} stated"
    )
    if off > octets:
        return f"{text}: {kilobytes(off)} too late, which its headroom lacks"
    if off < -octets:
        return f"{text}: {kilobytes(-off)} too early, which its buffer is short of"
    return text


def of_headroom(fillings: list[Filling], stated: Headroom, octets: int) -> str:
    """Sentence about the octets that the device takes after XOFF."""
    seen = headroom(fillings)
    if seen is None:
        most = longest_after_xoff(fillings) * octets
        return (
            f"the device drops nothing within {kilobytes(most)} after XOFF: it has more headroom "
            f"than the {kilobytes(stated.size)} stated"
        )
    short = stated.size - (seen + 1) * octets
    text = (
        f"the device takes {seen:g} frames, {kilobytes(seen * octets)}, behind the one that brings "
        f"XOFF, and drops the next one; {kilobytes(stated.size)} of headroom stated"
    )
    if short > octets:
        return (
            f"{text}: {kilobytes(short)} short, so that a neighbour that sends on for longer than "
            f"{kilobytes(seen * octets)} after XOFF loses frames"
        )
    if short < -octets:
        return f"{text}: {kilobytes(-short)} more than stated"
    return text


def of_losses(off: list[Filling], fillings: list[Filling], octets: int) -> str:
    """Sentence about the first burst that lost frames although it should not."""
    if not off:
        return "every burst within threshold and headroom came out whole"
    one = off[0]
    text = f"burst {one.number} loses {one.lost} of {one.frames} frames, the first one after "
    text += kilobytes((one.first_lost or 0) * octets)
    after = (one.first_lost or 0) if one.until_xoff is None else one.after_xoff or 0
    if one.until_xoff is not None:
        text += f", {kilobytes(after * octets)} after XOFF" if after >= 0 else ", before XOFF"
    before = [row for row in fillings if row.number < one.number and row not in off]
    if any(row.first_lost is None and row.frames > (one.first_lost or 0) for row in before):
        text += "; an earlier burst of that length lost none: what was dropped still takes room"
    return text


def of_missing(off: list[Filling], octets: int) -> str:
    """Sentence about the first burst that no XOFF answered."""
    if not off:
        return "every burst above the threshold got XOFF for priority 3 before a frame was lost"
    one = off[0]
    text = f"burst {one.number} of {kilobytes(one.frames * octets)} gets "
    if one.until_xoff is not None:
        return (
            f"{text}XOFF only behind {one.until_xoff - (one.first_lost or 0)} frames after a drop"
        )
    return f"{text}no XOFF for priority 3{'; ' if one.instead else ''}{one.instead}"


@pytest.fixture
def stated(device: Device) -> Headroom:
    """What is stated of the device's headroom."""
    must(device, "headroom")
    assert device.headroom is not None
    return device.headroom


@pytest.fixture
def filled(testbed: Lab, device: Device, stated: Headroom) -> Fillings:
    """The bursts, at least six of eight."""
    outcome = testbed.run(plan_of(device, stated))
    without_losses_of_ours(outcome)
    found = Fillings(outcome, device, stated)
    if 4 * len(found.bursts) < 3 * len(STEPS):
        pytest.skip(
            f"{OURS}: PFC held {len(found.bursts)} of {len(STEPS)} bursts as a whole; of another "
            f"one {found.rejected[0]}"
        )
    return found


def test_a_full_priority_gets_xoff(filled: Fillings, figure: Figure) -> None:
    off = without_xoff(filled.bursts, filled.stated, FRAME)
    why = of_missing(off, filled.octets)
    none(figure, "XOFF: bursts above the threshold without it", len(off), QBB, why)


def test_xoff_comes_at_its_threshold(filled: Fillings, figure: Figure) -> None:
    seen = threshold(filled.bursts)
    if seen is None:
        pytest.skip("it sends no XOFF, which another figure says")
    figure(
        "XOFF: octets buffered when it comes",
        rule=QBB,
        expected=filled.stated.xoff_threshold,
        seen=seen * filled.octets,
        tolerance=filled.tolerance,
        unit="octets",
        why=f"{of_threshold(filled.bursts, filled.stated, filled.octets)}; {filled.why}",
    )


def test_the_headroom_is_as_stated(filled: Fillings, figure: Figure) -> None:
    if threshold(filled.bursts) is None:
        pytest.skip("it sends no XOFF, which another figure says")
    seen = headroom(filled.bursts)
    if seen is None and longest_after_xoff(filled.bursts) * filled.octets < filled.stated.size:
        pytest.skip("most bursts get no XOFF, which another figure says")
    frames = longest_after_xoff(filled.bursts) if seen is None else seen + 1
    figure(
        "headroom: octets after XOFF until the first drop",
        rule=QBB,
        expected=filled.stated.size,
        seen=frames * filled.octets,
        tolerance=filled.tolerance,
        unit="octets",
        why=f"{of_headroom(filled.bursts, filled.stated, filled.octets)}; {filled.why}",
    )


def test_nothing_is_lost_within_it(filled: Fillings, figure: Figure) -> None:
    off = lost_within(filled.bursts, filled.stated, FRAME)
    why = of_losses(off, filled.bursts, filled.octets)
    if filled.lost_nic2:
        why += (
            f"; nic2 loses {filled.lost_nic2} frames although its own port is within its "
            f"{'headroom' if filled.stated.ports == 2 else 'threshold'}: it shares that of nic1"
        )
    name = "headroom: bursts that lose frames within it"
    none(figure, name, len(off) + (filled.lost_nic2 > 0), QBB, why)


def test_other_priorities_keep_their_room(filled: Fillings, figure: Figure) -> None:
    none(
        figure,
        "headroom: frames of another priority lost meanwhile",
        filled.lost_beside,
        "802.1Q 36: priorities are accounted for one by one",
        f"{filled.lost_beside or 'no'} frames of priority {OTHER_PRIORITY} from nic1 are lost, "
        f"which nothing holds, while priority {HELD_PRIORITY} is full",
    )


def test_xoff_names_what_is_full_alone(filled: Fillings, figure: Figure) -> None:
    shown = [f"{count} frames of {what}" for what, count in filled.strange.items()]
    none(
        figure,
        "XOFF: frames for what is below its threshold",
        sum(filled.strange.values()),
        "802.1Q 36: PFC by priority, from the ingress port that is over its threshold",
        "; ".join(shown) or "XOFF goes to the port and for the priority that are full",
    )


def test_xoff_lasts_until_there_is_room(filled: Fillings, figure: Figure) -> None:
    longest = max((one.lapse_ps for one in filled.bursts), default=0)
    why = f"XOFF holds nic1 until the release; {filled.reason}"
    if longest:
        ended = "XON" if any(one.is_released for one in filled.bursts) else "quanta that run out"
        why = (
            f"the device lets its neighbour go on for {longest / MS:.4g} ms while its queue is "
            f"full, by {ended}; {filled.reason}"
        )
    figure(
        "XOFF: longest lapse of it while the queue is held",
        rule="802.3 annex 31B: quanta run out; they are refreshed before that",
        expected=0,
        seen=longest / MS,
        tolerance=(2 * filled.clock + filled.device.quantum_ps) / MS,
        unit="ms",
        why=why,
    )


def test_xon_comes_once_it_has_drained(filled: Fillings, figure: Figure) -> None:
    off = [one for one in filled.bursts if not one.is_resumed]
    why = "XON (0 quanta) follows every release"
    if off:
        why = (
            f"the queue of burst {off[0].number} drains and no XON follows within "
            f"{CYCLE_MS - HOLD_MS} ms: the neighbour stands until the quanta run out, or for ever "
            "where the device repeats XOFF"
        )
    none(figure, "XON: bursts that it does not follow", len(off), "802.1Q 36: 0 quanta", why)
