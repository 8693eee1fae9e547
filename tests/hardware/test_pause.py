"""A NIC that is told to stop: how soon it does, and for how long. In quanta, 512 bit times."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.hardware.grain import grain
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.target_runner import Lab

PLAN = Path(__file__).parent / "plans" / "pause.toml"
QUANTA, QUANTUM_PS = 1000, 512_000
DELAY_PS, FRAME_PS = 10_000_000, 12_000_000
"""Of the link; of a frame of 1500 octets on it."""
MOST_QUANTA = 2
"""Until a station at 1 Gb/s has stopped (802.3 annex 31B, timing considerations)."""
STORM = "nodes.switch.pause."
REAL = [STORM + "first=0.2ms", STORM + "every=1ms", "duration=2.5ms"]
SLOW = 0.01
"""Of real time, where nodes are in software: a quantum is then as long as 51 us of the machine."""
TWICE = "when the PAUSE is heard and when the next frame goes"
"""Either waits until the NIC looks."""

pytestmark = pytest.mark.needs("crafted-frames", "timestamping")
Figure = Callable[..., None]


@pytest.fixture
def silence(testbed: Lab, capture: Callable[[str], Frames]) -> np.ndarray:
    """float64[n, 2]: from a PAUSE's arrival to the starts of the frames before and after it."""
    testbed.run(PLAN, beside=["switch", "nic2"], real_time=REAL, pace=SLOW)
    seen = capture("switch.nic1")
    starts = seen.data.received.times_ps - DELAY_PS - FRAME_PS
    found = []
    for stop in seen.pauses.sent.times_ps:
        middle = stop + QUANTA // 2 * QUANTUM_PS
        found.append((starts[starts <= middle].max() - stop, starts[starts > middle].min() - stop))
    assert len(found) == 2
    return np.array(found) / QUANTUM_PS


def test_no_frame_starts_after_the_reaction_time(
    testbed: Lab, silence: np.ndarray, figure: Figure
) -> None:
    clock, reason = grain(testbed.last)
    figure(
        "PAUSE: last start after its arrival",
        rule="802.3 annex 31B: no later than 2 quanta at 1 Gb/s",
        expected=0,
        seen=max(float(silence[:, 0].max()), 0.0),
        tolerance=MOST_QUANTA + 2 * clock / QUANTUM_PS,
        unit="quanta",
        why=f"the clause's bound; {reason}, {TWICE}",
    )


def test_the_pause_lasts_as_long_as_told(testbed: Lab, silence: np.ndarray, figure: Figure) -> None:
    clock, reason = grain(testbed.last)
    figure(
        "PAUSE: from its arrival to the next start",
        rule="802.3 annex 31B: the quanta told",
        expected=QUANTA,
        seen=float(silence[:, 1].mean()),
        tolerance=2 * clock / QUANTUM_PS,
        unit="quanta",
        why=f"{reason}, {TWICE}",
    )
