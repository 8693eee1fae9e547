"""A lossy class of a device: PFC for it has no effect, and it sends none of its own.

Priority 5 is lossy where `lossless` of the device's file does not name it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from orchestrator.engine.frames.pfc_frame import quanta_of
from orchestrator.engine.records import PFC
from tests.hardware.device_figures import (
    OURS,
    Figure,
    Held,
    must,
    none,
    ran,
    without_losses_of_ours,
)
from tests.hardware.holding import within
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.dut_description import DEVICE, HELD_PRIORITY, OTHER_PRIORITY, Device
from traces.pytest_plugin.target_runner import Lab

OVER = 1.5
"""Of what the device serves: what is offered to its lossy class."""
QBB = "802.1Q 36: PFC is enabled by priority"

pytestmark = pytest.mark.needs("device")


@pytest.fixture
def lossy(device: Device) -> int:
    """Priority of the lossy class."""
    must(device, "pfc")
    if device.lossless is None or OTHER_PRIORITY in device.lossless:
        pytest.skip(f"priority {OTHER_PRIORITY} is lossless: `lossless` is not given, or names it")
    return OTHER_PRIORITY


@pytest.fixture
def stormed(testbed: Lab, device: Device, lossy: int) -> Held:
    """PFC for the lossy class comes to the port by which it leaves."""
    return Held(testbed, device, lossy)


def test_a_lossy_class_goes_on_while_pfc_names_it(stormed: Held, figure: Figure) -> None:
    """As many frames as its source sends in that time."""
    seen = sum(within(stormed.held, hold, 0) for hold in stormed.holds)
    passed = sum(hold.end - hold.begin for hold in stormed.holds)
    expected = passed / stormed.gap
    figure(
        "PFC for a lossy class: frames of it that start meanwhile, of those sent",
        rule=QBB,
        expected=1,
        seen=seen / expected,
        tolerance=len(stormed.holds) * 2 * (1 + stormed.allowed / stormed.gap) / expected,
        unit="1",
        why=f"{seen} frames of priority {OTHER_PRIORITY} left the device in {passed / 1e12:.3g} s "
        f"of PFC for it, {expected:.0f} were sent; what is under way at either end of a hold is "
        f"allowed; {stormed.device.why}; {stormed.reason}",
    )


def test_a_lossy_class_loses_nothing_while_pfc_names_it(stormed: Held, figure: Figure) -> None:
    without_losses_of_ours(stormed.outcome)
    seen = stormed.outcome.result["metrics"]["run"][DEVICE]["frames.dropped"]
    none(figure, "PFC for a lossy class: frames lost", seen, QBB, "a count, of both classes")


def test_a_lossy_class_in_congestion_pauses_nobody(
    testbed: Lab,
    device: Device,
    lossy: int,
    capture: Callable[[str], Frames],
    figure: Figure,
) -> None:
    """Both sources send it more than the device serves, so that it has to drop frames."""
    each = int((device.service or device.rate) * OVER / 2)
    keys = (f"rate={each}b/s", "frame=1KB", f"priority={lossy}")
    settings = [f"traffic.load{n}.{key}" for n in (1, 2) for key in keys]
    outcome = ran(testbed, device, *settings, f"more_priorities=[{HELD_PRIORITY}]")
    seen = 0
    for nic in ("nic1", "nic2"):
        seen += paused(capture(f"{nic}.{DEVICE}").pauses.received, lossy)
    lost = outcome.result["metrics"]["run"][DEVICE]["frames.dropped"]
    if not seen and not lost:
        pytest.skip(f"{OURS}: its lossy class was not congested: it lost no frame")
    none(
        figure,
        "lossy class in congestion: PFC frames that pause it",
        seen,
        QBB,
        f"a count; the class lost {lost} frames, as it should, where {OVER:.3g} times the service "
        "rate was offered",
    )


def paused(frames: Frames, priority: int) -> int:
    """PFC frames that pause a priority."""
    mine = frames.where((frames["kind"] == PFC) & (frames["mark"] >> priority & 1 == 1))
    quanta = [int(quanta_of(one.view(np.recarray), priority)) for one in mine.fields]
    return sum(one > 0 for one in quanta)
