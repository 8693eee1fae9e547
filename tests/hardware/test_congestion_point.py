"""A switch's congestion point: how it quantises feedback, and how far apart its samples are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from traces.pytest_plugin.capabilities import REAL_TIME
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.target_runner import Lab

PLAN = Path(__file__).parent / "plans" / "congestion_point.toml"
POINT = "nodes.switch.congestion_point."
FRAME, REAL_FRAME = 250, 500
REAL = ["traffic.load.frame=500B", "nodes.nic1.host_queue=2KB", "duration=6ms"]
REAL += [POINT + "set_point=10KB", POINT + "sample_base=15KB"]
"""Everything twice as large: a machine has as much time for each frame."""
WEIGHT, SET_POINT, BASE = 2, 20, 30
"""As in the plan, in frames."""
TABLE_1 = np.array([150, 75, 50, 37.5, 30, 25, 21.5, 18.5]) * 1000
JITTER = 0.15

pytestmark = pytest.mark.needs("timestamping")
Figure = Callable[..., None]


class Told(NamedTuple):
    """What the switch tells its overloading neighbour, and the octets of a frame."""

    messages: Frames
    frame: int

    @property
    def set_point(self) -> int:
        return SET_POINT * self.frame

    @property
    def limit(self) -> int:
        """Congestion of the highest feedback, 63."""
        return self.set_point * (2 * WEIGHT + 1)

    def queue(self) -> np.ndarray:
        """int64[n]: octets at each sample that told somebody."""
        return whole_frames(self.messages["offset"] + self.set_point, self.frame)

    def change(self) -> np.ndarray:
        """int64[n]: octets more than at the sample before."""
        return whole_frames(self.messages["delta"], self.frame)


@pytest.fixture
def told(testbed: Lab, capture: Callable[[str], Frames]) -> Told:
    testbed.run(PLAN, beside=["nic2"], real_time=REAL)
    found = capture("switch.nic1").messages.sent
    assert len(found) >= 100
    return Told(found, REAL_FRAME if testbed.column in REAL_TIME else FRAME)


def test_feedback_is_quantised_in_63_steps(told: Told, figure: Figure) -> None:
    """A message carries q - Q_eq and q - q_old too: the feedback must be what these two give.

    Both are rounded down to units of 64 octets; a queue holds whole frames, so that either has one
    value that fits.
    """
    offset = told.queue() - told.set_point
    whole = np.clip(offset + WEIGHT * told.change(), 0, told.limit)
    expected = whole * 63 // told.limit
    figure(
        "quantiser: messages off their step",
        rule="QCN 2.2, L164: floor(63 F / (Q_eq (2 w + 1))), 6 bits",
        expected=0,
        seen=int(np.count_nonzero(told.messages["feedback"] != expected)),
        tolerance=0,
        unit="1",
        why="integer arithmetic",
    )
    assert len(set(told.messages["feedback"])) >= 40, "the queue did not sweep the steps"


def whole_frames(octets: np.ndarray, frame: int) -> np.ndarray:
    """The least number of whole frames' octets that is not below each."""
    return -(-octets // frame) * frame


def intervals(told: Told) -> tuple[np.ndarray, np.ndarray]:
    """Octets between samples, and what Table 1 gives for the sample before.

    A sample without congestion tells nobody: messages follow each other where the later one's
    q - q_old is the difference of their queues. A sample between them that told nobody could have
    met the queue of the earlier one only where that alone, without q - q_old, is no congestion.
    """
    messages = told.messages
    follow = np.diff(told.queue()) == told.change()[1:]
    assert follow.mean() >= 0.9
    follow &= messages["offset"][:-1] * 63 // told.limit > 0
    octets = np.diff(messages["sequence"]) * told.frame
    base = TABLE_1 * BASE * told.frame / 150_000
    return octets[follow], base[messages["feedback"][:-1] >> 3][follow]


def test_no_sample_is_outside_the_jitter(told: Told, figure: Figure) -> None:
    octets, wanted = intervals(told)
    low, high = (1 - JITTER) * wanted, (1 + JITTER) * wanted + told.frame
    figure(
        "sampling: intervals outside ±15 %",
        rule="NetFPGA-QCN, table 1, QCN 2.2, L168-L178: ±15 % of the interval",
        expected=0,
        seen=int(np.count_nonzero((octets < low) | (octets > high))),
        tolerance=0,
        unit="1",
        why="a sample waits for the end of a frame: one frame is allowed on top",
    )


def spreads(told: Told) -> tuple[np.ndarray, np.ndarray]:
    """Intervals, of Table 1, and the standard deviation that each has by jitter and frames."""
    octets, wanted = intervals(told)
    seen = (octets - told.frame / 2) / wanted
    return seen, np.sqrt((2 * JITTER) ** 2 / 12 + (told.frame / wanted) ** 2 / 12)


def test_intervals_are_spread_over_all_of_the_jitter(told: Told, figure: Figure) -> None:
    """Without it, or by a part of it, none would be outside either."""
    seen, spread = spreads(told)
    figure(
        "sampling: variance of intervals, of ±15 %",
        rule="NetFPGA-QCN, table 1, QCN 2.2, L168-L178: even over ±15 % of the interval",
        expected=1.0,
        seen=float((((seen - 1) / spread) ** 2).mean()),
        tolerance=float(4 * np.sqrt(0.8 / len(seen))),
        unit="1",
        why="4 standard errors of the square of what is spread evenly",
    )


def test_samples_are_as_far_apart_as_table_1_says(told: Told, figure: Figure) -> None:
    seen, spread = spreads(told)
    figure(
        "sampling: mean interval, of Table 1",
        rule="NetFPGA-QCN, table 1",
        expected=1.0,
        seen=float(seen.mean()),
        tolerance=float(4 * np.sqrt((spread**2).sum()) / len(seen)),
        unit="1",
        why="4 standard errors of a uniform ±15 % and of the frame that a sample waits for",
    )
