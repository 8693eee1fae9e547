"""Parts that all figures of a device under test share: its runs, and reasons to skip."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
from traces.pytest_plugin.dut_description import DEVICE, OTHER_PRIORITY, Device
from traces.pytest_plugin.run_outcome import Outcome
from traces.pytest_plugin.target_runner import Lab

PLAN = Path(__file__).parent / "plans" / "device.toml"
FRAME, MS = 500, 10**9
STORM = (
    "nodes.far.pause={{ plugin = 'pause-storm', start = '0.3s', storm_time = '0.3s', "
    "idle_time = '0.3s', stop = '1.2s', frames = '{}', vector = {} }}"
)
HOLD_PS = 3e11
"""Of a hold in STORM."""
OURS = "void"
"""Beginning of the reason why a figure says nothing of the device: what our machine did."""
Figure = Callable[..., None]


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


class Held:
    """A run in which our end holds the device twice: by PFC for a priority, or by PAUSE."""

    def __init__(self, testbed: Lab, device: Device, priority: int | None) -> None:
        way, vector = ("pause", 0) if priority is None else ("pfc", 1 << priority)
        outcome = ran(testbed, device, STORM.format(way, vector))
        self.outcome, self.device = outcome, device
        self.clock, self.reason = grain(outcome)
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
