"""When a device was held, from the PAUSE and PFC frames that were sent to it."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import PAUSE, PFC
from tests.hardware.holding import (
    Hold,
    Stall,
    first_start,
    holds,
    last_start,
    sound,
    stalls,
    within,
)
from traces.pytest_plugin.decoded_frames import Frames

QUANTUM = 512_000


def sent(*told: tuple[int, int], kind: int = PAUSE, priority: int = 3) -> Frames:
    """Frames at some times (ps) with so many quanta."""
    fields = empty_descriptors(len(told))
    fields["kind"] = kind
    for row, (_, quanta) in enumerate(told):
        if kind == PAUSE:
            fields["feedback"][row] = quanta
        else:
            fields["mark"][row] = 1 << priority
            fields["offset"][row] = quanta << 16
    times = np.array([at for at, _ in told], np.int64)
    out = np.ones(len(told), bool)
    octets = np.zeros((len(told), 60), np.uint8)
    return Frames(times, out, np.full(len(told), 60), fields, octets)


def test_a_pause_that_is_said_again_goes_on_and_0_quanta_end_it() -> None:
    frames = sent((0, 100), (40_000_000, 100), (60_000_000, 0), (200_000_000, 10))
    assert holds(frames, QUANTUM) == [
        Hold(0, 60_000_000),
        Hold(200_000_000, 200_000_000 + 10 * QUANTUM),
    ]


def test_a_pause_that_ran_out_is_over_whoever_says_it_again_later() -> None:
    assert holds(sent((0, 10), (10_000_000, 10)), QUANTUM) == [
        Hold(0, 10 * QUANTUM),
        Hold(10_000_000, 10_000_000 + 10 * QUANTUM),
    ]


@pytest.mark.parametrize(("priority", "count"), [(3, 1), (5, 0)])
def test_pfc_holds_the_priorities_that_it_names(priority: int, count: int) -> None:
    frames = sent((0, 100), kind=PFC)
    assert len(holds(frames, QUANTUM, priority)) == count
    assert holds(frames, QUANTUM) == [], "and is no PAUSE"


def test_what_starts_meanwhile_is_counted_behind_what_is_allowed() -> None:
    hold, times = Hold(100, 200), np.array([90.0, 105.0, 120.0, 160.0, 210.0])
    assert last_start(times, hold) == 20
    assert within(times, hold, 10) == 2
    assert within(times, hold, 0) == 3
    assert first_start(times, hold) == 10
    assert first_start(times[:4], hold) == np.inf
    assert last_start(times[:1], hold) == 0


MS = 10**9


@pytest.mark.parametrize(
    ("begin_ms", "lasted_ms", "kept"),
    [
        (100, 30, 1),  # in the middle of the first hold
        (95, 30, 2),  # over before it, on the run's clock
        (310, 30, 1),  # what the device was told runs out in the bound behind it
        (350, 30, 2),
        (100, 20, 2),  # no longer than the bound
        (500, 60, 1),
    ],
)
def test_a_hold_in_which_our_side_stood_still_is_void(
    begin_ms: int, lasted_ms: int, kept: int
) -> None:
    """A stall takes 2 ms of the run's time, which is held meanwhile, however long it lasts."""
    both = [Hold(100 * MS, 300 * MS), Hold(500 * MS, 700 * MS)]
    row = {"run_s": begin_ms / 1e3, "gone_s": 2e-3, "time_s": lasted_ms / 1e3}
    stood = stalls({"stalls": {"longest": [row]}})
    assert stood == [Stall(begin_ms * MS, (begin_ms + 2) * MS, lasted_ms * MS)]
    assert len(sound(both, stood, 20 * MS)) == kept
    assert sound(both, stalls({}), 20 * MS) == both
