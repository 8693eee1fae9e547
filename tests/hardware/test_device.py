"""A device of others between our ends: what can be judged of it from outside.

It forwards; it obeys PAUSE and PFC, and keeps them to itself; its congestion point tells those who
overload it. What it is said to do is in the file of `--tailback-device`, and it is held to that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.hardware.device_figures import (
    FRAME,
    STORM,
    Figure,
    Held,
    in_real_time,
    must,
    none,
    ran,
    without_losses_of_ours,
)
from tests.hardware.holding import within
from tests.hardware.test_congestion_point import whole_frames
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.dut_description import DEVICE, HELD_PRIORITY, OTHER_PRIORITY, Device
from traces.pytest_plugin.target_runner import Lab

MESSAGES = (
    "nodes.far.congestion_point={ plugin = 'scripted-cnm', first = '0.1s', interval = '5ms', "
    "count = 200 }"
)
OVER = 1.05
"""Of what it serves: what is offered to its congestion point."""

pytestmark = pytest.mark.needs("device")


BRIDGE = "802.1Q 6.5: service of a bridge"


@pytest.mark.parametrize("what", ["dropped", "reordered", "duplicated", "foreign"])
def test_what_goes_in_comes_out_once_in_order_and_whole(
    testbed: Lab, device: Device, figure: Figure, what: str
) -> None:
    """At a load that it has room for, with CNMs of ours that pass it the other way."""
    outcome = ran(testbed, device, MESSAGES)
    without_losses_of_ours(outcome)
    seen = outcome.result["metrics"]["run"][DEVICE]
    assert seen["frames.received"] > 100
    names = {"dropped": "lost", "foreign": "damaged, or never sent"}
    none(figure, f"forwarding: frames {names.get(what, what)}", seen[f"frames.{what}"], BRIDGE)


def test_messages_of_others_pass_it(
    testbed: Lab, device: Device, capture: Callable[[str], Frames], figure: Figure
) -> None:
    """CNMs of a congestion point behind it arrive at the sources that they are for."""
    without_losses_of_ours(ran(testbed, device, MESSAGES))
    sent = keys(capture(f"far.{DEVICE}").messages.sent)
    assert len(sent) > 50
    arrived = set()
    for nic in ("nic1", "nic2"):
        arrived |= keys(capture(f"{nic}.{DEVICE}").messages.received)
    none(
        figure,
        "forwarding: CNMs lost",
        len(sent - arrived),
        "802.1Q 30.4: a CNM is a frame like others to bridges that it passes",
    )


def keys(messages: Frames) -> set[tuple[int, ...]]:
    """Messages by what no two of them have in common."""
    names = ("source", "destination", "flow", "sequence", "created")
    return set(zip(*(messages[name].tolist() for name in names), strict=True))


def test_priorities_stay_as_they_are(
    testbed: Lab, device: Device, capture: Callable[[str], Frames], figure: Figure
) -> None:
    ran(testbed, device, MESSAGES)
    came = capture(f"far.{DEVICE}").data.received
    sent = {int(flow): priority for flow, priority in ((0, HELD_PRIORITY), (1, OTHER_PRIORITY))}
    expected = np.array([sent.get(flow, -1) for flow in came["flow"].tolist()])
    assert len(came) > 100
    none(
        figure,
        "forwarding: frames of another priority than they had",
        int((came["priority"] != expected).sum()),
        "802.1Q 6.9.4: the priority code point",
    )


@pytest.fixture
def paused(testbed: Lab, device: Device) -> Held:
    """Held by PAUSE."""
    must(device, "pause")
    return Held(testbed, device, None)


@pytest.fixture
def held(testbed: Lab, device: Device) -> Held:
    """One of two priorities held by PFC."""
    must(device, "pfc")
    return Held(testbed, device, HELD_PRIORITY)


def test_it_stops_when_it_is_paused(paused: Held, figure: Figure) -> None:
    paused.told(figure, "PAUSE", "802.3 annex 31B")


def test_it_goes_on_when_a_pause_is_over(paused: Held, figure: Figure) -> None:
    paused.let_go(figure, "PAUSE", "802.3 annex 31B: 0 quanta end a pause")


def test_it_stops_a_priority_that_is_held(held: Held, figure: Figure) -> None:
    held.told(figure, "PFC", "802.1Q 36: priority-based flow control")


def test_it_goes_on_when_a_priority_is_let_go(held: Held, figure: Figure) -> None:
    held.let_go(figure, "PFC", "802.1Q 36: 0 quanta end a pause of a priority")


def test_the_other_priority_goes_on(held: Held, figure: Figure) -> None:
    """As many frames as its source sends in that time."""
    seen = sum(within(held.others, hold, 0) for hold in held.holds)
    passed = sum(hold.end - hold.begin for hold in held.holds)
    expected = passed / held.gap
    figure(
        "PFC: frames of another priority while one is held, of those sent",
        rule="802.1Q 36: only the priorities named",
        expected=1,
        seen=seen / expected,
        tolerance=len(held.holds) * 2 * (1 + held.allowed / held.gap) / expected,
        unit="1",
        why=f"what is under way at either end of a hold; {held.device.why}; {held.reason}",
    )


@pytest.mark.parametrize("what", ["PAUSE", "PFC"])
def test_what_holds_it_stays_with_it(
    testbed: Lab,
    device: Device,
    capture: Callable[[str], Frames],
    figure: Figure,
    what: str,
) -> None:
    """Also of a device that obeys neither: they are for the port that they arrive at."""
    vector = 1 << HELD_PRIORITY if what == "PFC" else 0
    ran(testbed, device, STORM.format(what.lower(), vector))
    ours = set(capture(f"far.{DEVICE}").pauses.sent["source"].tolist())
    assert ours
    seen = 0
    for nic in ("nic1", "nic2"):
        came = capture(f"{nic}.{DEVICE}").pauses.received
        seen += sum(source in ours for source in came["source"].tolist())
    rule = "802.1Q 8.6.3: frames to a reserved address are not forwarded"
    none(figure, f"{what}: forwarded to other ports", seen, rule)


@pytest.fixture
def told(testbed: Lab, device: Device, capture: Callable[[str], Frames]) -> dict[str, Frames]:
    """What it tells each NIC while both together overload it a little."""
    must(device, "qcn")
    each = int((device.service or device.rate) * OVER / 2)
    outcome = ran(testbed, device, *(f"traffic.load{n}.rate={each}b/s" for n in (1, 2)))
    in_real_time(outcome, (OVER - 1) / 2)
    return {nic: capture(f"{nic}.{DEVICE}").messages.received for nic in ("nic1", "nic2")}


def test_sources_that_overload_it_are_told(told: dict[str, Frames], figure: Figure) -> None:
    none(
        figure,
        "QCN: sources that overload it, and hear nothing",
        sum(not len(messages) for messages in told.values()),
        "802.1Q 31: a congestion point notifies the sources of what it samples",
    )


def test_messages_are_for_who_gets_them(told: dict[str, Frames], figure: Figure) -> None:
    heard(told)
    strange = sum(
        int((messages["flow"] != flow).sum()) for flow, messages in enumerate(told.values())
    )
    none(figure, "QCN: messages to another than the culprit", strange, "802.1Q 31.2")


def test_feedback_is_what_queue_and_growth_give(
    told: dict[str, Frames], device: Device, figure: Figure
) -> None:
    """As for a switch of ours; offset and delta are told in units of 64 octets."""
    heard(told)
    limit = device.set_point * (2 * device.weight + 1)
    off = 0
    for messages in told.values():
        offset = whole_frames(messages["offset"] + device.set_point, FRAME) - device.set_point
        whole = np.clip(offset + device.weight * whole_frames(messages["delta"], FRAME), 0, limit)
        off += int(np.count_nonzero(messages["feedback"] != whole * 63 // limit))
    none(
        figure,
        "QCN: messages off their step",
        off,
        "QCN 2.2, L164: floor(63 F / (Q_eq (2 w + 1))), 6 bits",
        "integer arithmetic",
    )


def heard(told: dict[str, Frames]) -> None:
    """Nothing can be said of messages that there are none of: a test of its own tells that."""
    if not any(len(messages) for messages in told.values()):
        pytest.skip("it sends no messages")
