"""DSCP-to-queue map of a device: which frames PFC for each priority holds (`dscp_queues`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
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
from tests.hardware.dscp_queues import (
    LEAST_FRAMES,
    Measured,
    Waits,
    described,
    numbers,
    rewritten,
    wrong,
)
from tests.hardware.holding import holds, sound, stalls
from traces.pytest_plugin.dut_description import DEVICE, Device, QueueMap
from traces.pytest_plugin.run_outcome import Outcome
from traces.pytest_plugin.target_runner import Lab

LANES = 8
"""DSCPs of a run: our hosts write one for each priority."""
HOLD_MS, CYCLE_MS, INTERVAL_MS = 150, 250, 10
"""Each priority in turn is held for HOLD_MS of CYCLE_MS; each DSCP has a frame in INTERVAL_MS."""
MARGIN_PS = 30 * MS
"""Before a release: frames that are sent later are not counted."""
QUANTA_LEFT = 65_535 * 3 // 4
"""Left of a hold when `pause-storm` refreshes it: it lapses in a longer stall of our side."""
PRIORITIES = range(8)
MAP = "802.1Q 36: PFC of a priority holds its queue; RFC 2474: the DSCP selects the queue"

pytestmark = pytest.mark.needs("device")


def enabled(device: Device) -> list[int]:
    """Priorities for which PFC is enabled."""
    return list(PRIORITIES) if device.lossless is None else sorted(set(device.lossless))


def plan_of(device: Device, stated: QueueMap, dscps: Sequence[int]) -> Plan:
    """The plan of the suite with a flow of nic1 for each of at most eight DSCPs; PFC holds one
    priority after the other."""
    table: dict[str, Any] = Plan.load(PLAN).with_settings(device.settings()).to_table()
    free = [one for one in range(64) if one not in dscps]
    codes = [*dscps, *free[: LANES - len(dscps)]]
    table["headers"] = {
        "tagged": stated.tagged,
        "priority": "dscp",
        "tc_to_dscp": codes,
        "dscp_to_tc": {str(dscp): lane for lane, dscp in enumerate(codes)},
    }
    table["more_priorities"] = list(PRIORITIES)
    order = enabled(device)
    table["duration"] = f"{CYCLE_MS * len(order)}ms"
    rate = FRAME * 8000 // INTERVAL_MS
    table["traffic"] = {
        f"dscp{dscp}": table["traffic"]["load1"]
        | {"priority": lane, "rate": f"{rate}b/s", "stop": table["duration"]}
        for lane, dscp in enumerate(dscps)
    }
    table["nodes"]["far"]["pause"] = {
        "plugin": "pause-storm",
        "storm_time": f"{HOLD_MS}ms",
        "idle_time": f"{CYCLE_MS - HOLD_MS}ms",
        "frames": "pfc",
        "vector": 1 << order[0],
    }
    middle = (HOLD_MS + CYCLE_MS) // 2
    table["timeline"] = [
        {
            "at": f"{CYCLE_MS * number + middle}ms",
            "set": "nodes.far.pause.vector",
            "to": 1 << priority,
        }
        for number, priority in enumerate(order[1:])
    ]
    return Plan.load(PLAN).with_data(table)


def measure(outcome: Outcome, device: Device, dscps: Sequence[int]) -> Measured:
    """How the frames of each DSCP waited in a run of `plan_of`."""
    far = outcome.capture(f"far.{DEVICE}")
    left, sent = far.data.received, outcome.capture(f"nic1.{DEVICE}").data.sent
    stood = stalls(outcome.result["fidelity"])
    lapse = device.quantum_ps * QUANTA_LEFT
    found: Measured = {}
    for flow, dscp in enumerate(sorted(dscps)):
        mine, went = left.where(left["flow"] == flow), sent.where(sent["flow"] == flow)
        assert (went["mark"] >> 2 == dscp).all()
        found[dscp] = waits = Waits()
        changed, counts = np.unique(mine["mark"] >> 2, return_counts=True)
        pairs = zip(changed.tolist(), counts.tolist(), strict=True)
        waits.rewritten = {code: count for code, count in pairs if code != dscp}
        for priority in enabled(device):
            for hold in sound(holds(far.sent, device.quantum_ps, priority), stood, lapse):
                inside = went.times_ps > hold.begin + device.reaction_ps
                inside &= went.times_ps < hold.end - MARGIN_PS
                waits.add(priority, went.where(inside), mine, hold)
    return found


@pytest.fixture
def stated(device: Device) -> QueueMap:
    """What is stated of the device's map."""
    must(device, "dscp")
    assert device.dscp is not None
    return device.dscp


@pytest.fixture
def mapped(testbed: Lab, device: Device, stated: QueueMap) -> Measured:
    """The map of every DSCP that the description names."""
    found: Measured = {}
    dscps = sorted(stated.queues())
    for begin in range(0, len(dscps), LANES):
        group = dscps[begin : begin + LANES]
        outcome = testbed.run(plan_of(device, stated, group))
        without_losses_of_ours(outcome)
        found |= measure(outcome, device, group)
    for dscp, one in found.items():
        few = [p for p in enabled(device) if one.frames(p) + one.lost < LEAST_FRAMES]
        if few:
            pytest.skip(
                f"{OURS}: our side: fewer than {LEAST_FRAMES} frames of DSCP {dscp} were sent "
                f"while PFC held priority {numbers(few)}"
            )
    return found


def test_each_dscp_waits_in_the_queue_that_is_stated(
    mapped: Measured, device: Device, stated: QueueMap, figure: Figure
) -> None:
    off = wrong(mapped, stated, enabled(device))
    none(
        figure,
        "DSCP map: DSCPs in another queue than stated",
        len(off),
        MAP,
        f"{'; '.join(off.values()) or 'all as stated'}. Measured: "
        f"{described(mapped, enabled(device))}",
    )


def test_the_device_leaves_the_dscp_as_it_is(mapped: Measured, figure: Figure) -> None:
    off = rewritten(mapped)
    none(
        figure,
        "DSCP map: DSCPs that the device rewrites",
        len(off),
        "RFC 2474: a node without a remarking policy keeps the DSCP",
        "; ".join(off.values()) or f"none of DSCP {numbers(mapped)}",
    )
