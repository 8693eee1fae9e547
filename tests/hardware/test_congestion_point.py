"""A switch's congestion point: how it quantises feedback, and how far apart its samples are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from traces.pytest_plugin.frames import Frames
from traces.pytest_plugin.lab import Lab

PLAN = Path(__file__).parent / "plans" / "congestion_point.toml"
SET_POINT, WEIGHT, BASE, FRAME = 10_000, 2, 15_000, 500
"""As in the plan."""
LIMIT = SET_POINT * (2 * WEIGHT + 1)
"""Congestion of the highest feedback, 63."""
TABLE_1 = np.array([150, 75, 50, 37.5, 30, 25, 21.5, 18.5]) * 1000
JITTER = 0.15

pytestmark = pytest.mark.needs("timestamping")
Figure = Callable[..., None]


@pytest.fixture
def messages(testbed: Lab, capture: Callable[[str], Frames]) -> Frames:
    """What the switch tells its overloading neighbour."""
    testbed.run(PLAN)
    found = capture("switch.nic1").messages.sent
    assert len(found) >= 100
    return found


def test_feedback_is_quantised_in_63_steps(messages: Frames, figure: Figure) -> None:
    """A message carries q - Q_eq and q - q_old too: the feedback must be what these two give.

    Both are rounded down to units of 64 octets; a queue holds whole frames, so that either has one
    value that fits.
    """
    offset = whole_frames(messages["offset"] + SET_POINT) - SET_POINT
    whole = np.clip(offset + WEIGHT * whole_frames(messages["delta"]), 0, LIMIT)
    expected = whole * 63 // LIMIT
    figure(
        "quantiser: messages off their step",
        rule="QCN 2.2, L164: floor(63 F / (Q_eq (2 w + 1))), 6 bits",
        expected=0,
        seen=int(np.count_nonzero(messages["feedback"] != expected)),
        tolerance=0,
        unit="1",
        why="integer arithmetic",
    )
    assert len(set(messages["feedback"])) >= 40, "the queue did not sweep the steps"


def whole_frames(octets: np.ndarray) -> np.ndarray:
    """The least number of whole frames' octets that is not below each."""
    return -(-octets // FRAME) * FRAME


def intervals(messages: Frames) -> tuple[np.ndarray, np.ndarray]:
    """Octets between samples, and what Table 1 gives for the sample before.

    A sample without congestion tells nobody: messages follow each other where the later one's
    q - q_old is the difference of their queues. A sample between them that told nobody could have
    met the queue of the earlier one only where that alone, without q - q_old, is no congestion.
    """
    queue = whole_frames(messages["offset"] + SET_POINT)
    follow = np.diff(queue) == whole_frames(messages["delta"][1:])
    assert follow.mean() >= 0.9
    follow &= messages["offset"][:-1] * 63 // LIMIT > 0
    octets = np.diff(messages["sequence"]) * FRAME
    return octets[follow], (TABLE_1[messages["feedback"][:-1] >> 3] * BASE / 150_000)[follow]


def test_no_sample_is_outside_the_jitter(messages: Frames, figure: Figure) -> None:
    octets, wanted = intervals(messages)
    low, high = (1 - JITTER) * wanted, (1 + JITTER) * wanted + FRAME
    figure(
        "sampling: intervals outside ±15 %",
        rule="NetFPGA-QCN, table 1, QCN 2.2, L168-L178: ±15 % of the interval",
        expected=0,
        seen=int(np.count_nonzero((octets < low) | (octets > high))),
        tolerance=0,
        unit="1",
        why="a sample waits for the end of a frame: one frame is allowed on top",
    )


def test_samples_are_as_far_apart_as_table_1_says(messages: Frames, figure: Figure) -> None:
    octets, wanted = intervals(messages)
    seen = (octets - FRAME / 2) / wanted
    spread = np.sqrt((2 * JITTER) ** 2 / 12 + (FRAME / wanted) ** 2 / 12)
    figure(
        "sampling: mean interval, of Table 1",
        rule="NetFPGA-QCN, table 1",
        expected=1.0,
        seen=float(seen.mean()),
        tolerance=float(4 * np.sqrt((spread**2).sum()) / len(seen)),
        unit="1",
        why="4 standard errors of a uniform ±15 % and of the frame that a sample waits for",
    )
