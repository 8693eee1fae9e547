"""How exact a link's delay is: by the times that frames carry and those at which they arrive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.hardware.grain import grain
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.target_runner import Lab

PLAN = Path(__file__).parent / "plans" / "delay.toml"
FURTHER_PS = 100_000_000
REAL = ["duration=2ms", "traffic.near.frame=1500B", "traffic.far.frame=1500B"]
REAL += ["nodes.nic1.host_queue=6KB", "nodes.nic2.host_queue=6KB"]
SLOW = 0.02
"""Of real time, where nodes are in software."""

pytestmark = pytest.mark.needs("timestamping")


def test_a_link_delays_by_what_the_plan_says(
    testbed: Lab, capture: Callable[[str], Frames], figure: Callable[..., None]
) -> None:
    """The difference of two links: what a NIC adds before the wire is in both."""
    outcome = testbed.run(PLAN, real_time=REAL, pace=SLOW)
    clock, reason = grain(outcome, "p99")
    found = []
    for port in ("switch.nic1", "switch.nic2"):
        frames = capture(port).data.received
        assert len(frames) >= 25
        found.append(float(np.median(frames.times_ps - frames["created"])))
    figure(
        "delay: of a link 100 us longer",
        rule="the plan: delay = 100us",
        expected=FURTHER_PS / 1e6,
        seen=(found[1] - found[0]) / 1e6,
        tolerance=2 * clock / 1e6,
        unit="us",
        why=f"{reason}, on either link",
    )
