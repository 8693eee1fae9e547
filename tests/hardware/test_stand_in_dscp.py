"""The DSCP-to-queue figures held to simulated switches: maps drawn by a seed, right and wrong."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.hardware import test_device_dscp as suite
from tests.hardware.dscp_queues import Measured, Waits, wrong
from tests.hardware.stand_in import Figures, StandIn
from tests.hardware.test_device_dscp import enabled
from traces.pytest_plugin.dut_description import Device, QueueMap

SAID: dict[str, Any] = {
    "ports": {"nic1": "e1", "nic2": "e2", "far": "e3"},
    "does": ["pfc", "dscp"],
    "rate": 10**8,
    "load": 2 * 10**6,
    "reaction": 10**9,
}
WAYS = (
    "moved",
    "exchanged",
    "shifted",
    "class selector",
    "untrusted",
    "queues rotated",
    "obeys one priority less",
)
"""In which a map is wrong."""
QUEUES = "DSCP map: DSCPs in another queue than stated"
REWRITES = "DSCP map: DSCPs that the device rewrites"


def device(seed: int) -> Device:
    """A description: eight DSCPs of drawn classes, and drawn lossless priorities."""
    rng = random.Random(seed)
    dscps = rng.sample(range(64), 8)
    classes = {str(dscp): rng.choice([3, 3, 4, *range(8)]) for dscp in dscps[:6]}
    classes |= {str(dscps[6]): 3, str(dscps[7]): 4}
    lossless = rng.choice([[3, 4], [3, 4], [1, 3, 4]])
    queues = rng.choice([None, [0, 1, 2, 4, 3, 5, 6, 7]])
    stated = QueueMap(dscp_to_tc=classes, tc_to_queue=queues, tagged=seed % 2 == 0)
    return Device(**SAID, lossless=lossless, dscp=stated)


def measured(one: Device, queues: dict[int, int], **more: Any) -> tuple[Measured, Figures]:
    """The map of a switch that puts DSCPs in some queues, and the figures of it."""
    assert one.dscp is not None
    lab, figures = StandIn({"dscp_to_tc": full(queues), **more}), Figures()
    dscps = sorted(one.dscp.queues())
    found = suite.measure(lab.run(suite.plan_of(one, one.dscp, dscps)), one, dscps)
    assert all(waits.frames(p) >= 8 for waits in found.values() for p in enabled(one))
    suite.test_each_dscp_waits_in_the_queue_that_is_stated(found, one, one.dscp, figures)
    suite.test_the_device_leaves_the_dscp_as_it_is(found, figures)
    return found, figures


def full(queues: dict[int, int]) -> dict[str, int]:
    """The same map with every DSCP, all others in queue 0."""
    return {str(dscp): queues.get(dscp, 0) for dscp in range(64)}


@pytest.mark.parametrize("seed", range(4))
def test_a_switch_with_the_map_that_is_stated_passes(seed: int) -> None:
    one = device(seed)
    assert one.dscp is not None
    _, figures = measured(one, one.dscp.queues(), obeys_pfc=enabled(one))
    assert figures.missed == set(), figures.why
    assert set(figures.kept) == {QUEUES, REWRITES}


def erring(way: str, right: dict[int, int], rng: random.Random) -> dict[int, int]:
    """The map of a device that errs in one of WAYS."""
    tested_first = [dscp for dscp, queue in right.items() if queue in (3, 4)]
    if way == "moved":
        dscp = rng.choice(tested_first)
        return right | {dscp: rng.choice([q for q in range(8) if q != right[dscp]])}
    if way == "exchanged":
        first = rng.choice([dscp for dscp in tested_first if right[dscp] == 3])
        second = rng.choice([dscp for dscp in right if right[dscp] != 3])
        return right | {first: right[second], second: 3}
    if way == "shifted":
        keys = list(right)
        return dict(zip(keys, [right[key] for key in keys[1:] + keys[:1]], strict=True))
    if way == "class selector":
        return {dscp: dscp >> 3 for dscp in right}
    if way == "untrusted":
        return dict.fromkeys(right, 0)
    if way == "queues rotated":
        return {dscp: (queue + 1) % 8 for dscp, queue in right.items()}
    return dict(right)


@pytest.mark.parametrize("seed", range(21))
def test_a_switch_with_another_map_misses(seed: int) -> None:
    """By exactly the DSCPs that PFC holds otherwise than stated, each in a sentence."""
    one, rng, way = device(100 + seed), random.Random(seed), WAYS[seed % len(WAYS)]
    assert one.dscp is not None
    right, lanes = one.dscp.queues(), enabled(one)
    queues, obeyed = erring(way, right, rng), set(lanes)
    if way == WAYS[-1]:
        obeyed.remove(rng.choice([3, 4]))
    found, figures = measured(one, queues, obeys_pfc=sorted(obeyed))
    differ = {
        dscp for dscp, queue in queues.items() if {queue} & obeyed != {right[dscp]} & set(lanes)
    }
    sentences = wrong(found, one.dscp, lanes)
    assert differ, (way, right)
    assert set(sentences) == differ, sentences
    for dscp in differ:
        held = {queues[dscp]} & obeyed
        where = f"queue {queues[dscp]}" if held else "no queue that PFC holds"
        assert sentences[dscp].startswith(f"DSCP {dscp} waits in {where}"), sentences[dscp]
        assert sentences[dscp].endswith(f"; the description says {right[dscp]}")
        assert sentences[dscp] in figures.why[QUEUES]
    assert figures.missed == {QUEUES}


@pytest.mark.parametrize("lane", [3, 4])
def test_a_switch_that_rewrites_the_dscp_misses(lane: int) -> None:
    """It has frames of all priorities go on in another one, whose DSCP it writes."""
    one = device(0)
    assert one.dscp is not None
    point = {"plugin": "priority-demotion", "threshold": "0B", "priority": lane}
    found, figures = measured(one, one.dscp.queues(), congestion_point=point)
    assert REWRITES in figures.missed, found
    code = sorted(one.dscp.queues())[lane]
    assert f"leaves as DSCP {code}" in figures.why[REWRITES]


def test_frames_that_do_not_leave_are_no_map() -> None:
    """A device that filters a DSCP: its frames are in no queue."""
    one = device(0)
    assert one.dscp is not None
    gone = sorted(one.dscp.queues())[2]
    empty = {
        gone: Waits(held=dict.fromkeys(enabled(one), 0), passed=dict.fromkeys(enabled(one), 0))
    }
    said = wrong(empty, one.dscp, enabled(one))
    queue = one.dscp.queues()[gone]
    assert said == {
        gone: f"frames of DSCP {gone} do not leave the device; the description says queue {queue}"
    }


@pytest.mark.parametrize(("held", "queues"), [(5, []), (6, []), (7, [3])])
def test_more_than_half_of_the_frames_tell_the_queue(held: int, queues: list[int]) -> None:
    """Of twelve: single frames that our side delayed are no other queue."""
    assert Waits(held={3: held}, passed={3: 12 - held}).queues() == queues
