"""A device of others between our ends: what can be judged of it from outside.

It forwards; it obeys PAUSE and PFC, and keeps them to itself; its congestion point tells those who
overload it. What it is said to do is in the file of `--tailback-device`, and it is held to that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.hardware.grain import grain
from tests.hardware.holding import (
    Hold,
    first_start,
    holds,
    last_start,
    sound,
    stalls,
    starts,
    within,
)
from tests.hardware.test_congestion_point import whole_frames
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.dut_description import DEVICE, Device
from traces.pytest_plugin.run_outcome import Outcome
from traces.pytest_plugin.target_runner import Lab

PLAN = Path(__file__).parent / "plans" / "device.toml"
FRAME, MS = 500, 10**9
HELD_PRIORITY, OTHER_PRIORITY = 3, 5
STORM = (
    "nodes.far.pause={{ plugin = 'pause-storm', start = '0.3s', storm_time = '0.3s', "
    "idle_time = '0.3s', stop = '1.2s', frames = '{}', vector = {} }}"
)
HOLD_PS = 3e11
"""Of a hold in STORM."""
MESSAGES = (
    "nodes.far.congestion_point={ plugin = 'scripted-cnm', first = '0.1s', interval = '5ms', "
    "count = 200 }"
)
OVER = 1.05
"""Of what it serves: what is offered to its congestion point."""

OURS = "void"
"""Beginning of the reason why a figure says nothing of the device: what our machine did."""

pytestmark = pytest.mark.needs("device")
Figure = Callable[..., None]


@pytest.fixture
def device(testbed: Lab) -> Device:
    """What is said of it."""
    assert testbed.device is not None
    return testbed.device


def ran(testbed: Lab, device: Device, *settings: str) -> Outcome:
    """A run through it."""
    return testbed.run(PLAN, *device.settings(), *settings)


def must(device: Device, what: str) -> None:
    """Skip what nobody says that the device does."""
    if what not in device.does:
        pytest.skip(f'the device is not said to do it: "{what}" is not among `does`')


def in_real_time(outcome: Outcome, most: float) -> None:
    """Skip a figure where the clock of our side was held for more than a share of the run: a device
    goes on meanwhile, what it was told runs out, and what is sent to it is less than it says."""
    held = outcome.result["fidelity"].get("held", {}).get("share", 0.0)
    if held > most:
        pytest.skip(
            f"{OURS}: our side: its clock was held for {held:.1%} of the run, in which the device "
            f"went on; at most {most:.1%} is accepted"
        )


def without_losses_of_ours(outcome: Outcome) -> None:
    """Skip a figure of lost frames where our own side lost some: they look like the device's."""
    lost = outcome.result["fidelity"].get("lost_outside_queues", {})
    if count := sum(lost.get(place, 0) for place in ("sockets", "interfaces", "unsent")):
        pytest.skip(f"{OURS}: our side lost {count} frames outside its queues")


def none(figure: Figure, name: str, seen: float, rule: str, why: str = "a count") -> None:
    """A figure of what must not be."""
    figure(name, rule=rule, expected=0, seen=seen, tolerance=0, unit="1", why=why)


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


class Held:
    """A run in which our end holds the device, twice."""

    def __init__(self, testbed: Lab, device: Device, way: str, vector: int) -> None:
        outcome = ran(testbed, device, STORM.format(way, vector))
        self.outcome, self.device = outcome, device
        self.clock, self.reason = grain(outcome)
        priority = HELD_PRIORITY if way == "pfc" else None
        seen = outcome.capture(f"far.{DEVICE}")
        in_real_time(outcome, float(device.reaction_ps) / HOLD_PS)
        every = holds(seen.sent, device.quantum_ps, priority)
        assert len(every) >= 2
        stood = stalls(outcome.result["fidelity"])
        most = device.reaction_ps / 2
        self.holds: list[Hold] = sound(every, stood, most)
        if not self.holds:
            longest = max(one.lasted for one in stood) / MS
            pytest.skip(
                f"{OURS}: our side stood still for {longest:.3g} ms while it held the device, "
                f"more than half of the device's reaction time ({most / MS:.3g} ms)"
            )
        self.stalled = max((one.lasted for one in stood if one.lasted <= most), default=0)
        came = seen.data.received
        self.times = starts(came, device.rate)
        self.held = self.times if priority is None else self.times[came["priority"] == priority]
        self.others = self.times[came["priority"] == OTHER_PRIORITY]
        self.gap = FRAME * 8e12 / device.load
        """From one frame to the next that the device has to send."""

    @property
    def allowed(self) -> float:
        """Ps from the frame that holds to the last start: a stall of our side is no delay of it."""
        return float(self.device.reaction_ps + 2 * self.clock + self.stalled)

    def told(self, figure: Figure, what: str, rule: str) -> None:
        """The two figures in time, and the count."""
        why = f"{self.device.why}; {self.reason}, at our end both ways"
        figure(
            f"{what}: last start behind its arrival",
            rule=rule,
            expected=0,
            seen=max(last_start(self.held, hold) for hold in self.holds) / MS,
            tolerance=self.allowed / MS,
            unit="ms",
            why=why,
        )
        figure(
            f"{what}: frames that start while it holds",
            rule=rule,
            expected=0,
            seen=sum(within(self.held, hold, self.allowed) for hold in self.holds),
            tolerance=0,
            unit="1",
            why=f"a count, behind what is allowed; {why}",
        )

    def let_go(self, figure: Figure, what: str, rule: str) -> None:
        """It goes on when it may."""
        figure(
            f"{what}: first start behind its end",
            rule=rule,
            expected=0,
            seen=max(first_start(self.held, hold) for hold in self.holds) / MS,
            tolerance=(self.allowed + self.gap) / MS,
            unit="ms",
            why=f"{self.device.why}; a frame may only be due then; {self.reason}",
        )


@pytest.fixture
def paused(testbed: Lab, device: Device) -> Held:
    """Held by PAUSE."""
    must(device, "pause")
    return Held(testbed, device, "pause", 0)


@pytest.fixture
def held(testbed: Lab, device: Device) -> Held:
    """One of two priorities held by PFC."""
    must(device, "pfc")
    return Held(testbed, device, "pfc", 1 << HELD_PRIORITY)


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
