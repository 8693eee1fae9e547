"""A NIC's reaction point, told to slow down by messages of a chosen feedback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.hardware.grain import grain
from traces.pytest_plugin.decoded_frames import Frames
from traces.pytest_plugin.run_outcome import Node, Outcome
from traces.pytest_plugin.target_runner import Lab

PLAN = Path(__file__).parent / "plans" / "reaction_point.toml"
LINE_RATE, AI_RATE, HAI_RATE, THRESHOLD = 10**9, 5_000_000, 20_000_000, 5
PERIOD_PS = 16_000_000
"""Of the token bucket."""
MESSAGES, POINT = "nodes.switch.congestion_point.", "nodes.nic1.reaction_point."

pytestmark = pytest.mark.needs("crafted-frames", "sampled-queue")
Figure = Callable[..., None]


class Limiter(NamedTuple):
    """Samples of nic1's limiter, int64[n] each; those at which nothing had changed left out."""

    times_ps: np.ndarray
    rate: np.ndarray
    target: np.ndarray
    byte_stage: np.ndarray
    timer_stage: np.ndarray


def sampled(outcome: Outcome) -> Limiter:
    """What the limiter went through."""
    nic = Node("nic1", outcome)
    names = ("current_rate", "target_rate", "byte_stage", "timer_stage")
    rows = np.array([nic.sampled("nic1.rp0", name) for name in names])
    new = np.r_[True, (np.diff(rows, axis=1) != 0).any(axis=0)]
    return Limiter(outcome.times_ps[new], *rows[:, new])


SLOWED = [MESSAGES + "count=4", MESSAGES + "change=-16", POINT + "byte_reset=10MB"]
"""Feedback 63, 47, 31, 15, and nothing that raises the rate again."""
SMALL = ["traffic.load.frame=500B", "nodes.nic1.host_queue=2KB", POINT + "byte_reset=5KB"]
"""Frames and cycles of a third."""
LARGE = ["traffic.load.frame=1500B", "nodes.nic1.host_queue=6KB", POINT + "byte_reset=15KB"]
OTHERS = ["switch", "nic2"]
EARLY, LATER = MESSAGES + "first=0.2ms", MESSAGES + "every=0.5ms"
"""Where time is real: a sample may be late, and is to meet the rate after every message."""


@pytest.fixture
def told(testbed: Lab) -> Outcome:
    """A NIC that is slowed down."""
    return testbed.run(PLAN, *SLOWED, beside=OTHERS, real_time=[EARLY, LATER, "duration=4ms"])


@pytest.fixture
def slow(testbed: Lab) -> Outcome:
    """The same, at its last rate for longer."""
    longer = [EARLY, LATER, "duration=0.3s", "sample_interval=1ms"]
    return testbed.run(PLAN, *SLOWED, beside=OTHERS, real_time=longer)


@pytest.fixture
def counting(testbed: Lab) -> Limiter:
    """Two messages, and the byte counter alone raises the rate again."""
    settings = [MESSAGES + "count=2", "duration=0.85ms", *SMALL]
    longer = [EARLY, LATER, "duration=2.5ms", *LARGE]
    return after_last_message(
        sampled(testbed.run(PLAN, *settings, beside=OTHERS, real_time=longer))
    )


@pytest.fixture
def both(testbed: Lab) -> Limiter:
    """Three messages, and byte counter and timer raise the rate again."""
    settings = [MESSAGES + "count=3", "duration=1.1ms", POINT + "time_reset=0.05ms"]
    settings += [POINT + "hai_rate=20Mb/s", "sample_interval=10us", *SMALL]
    longer = [EARLY, MESSAGES + "every=0.35ms", "duration=3.2ms", *LARGE]
    longer += [POINT + "time_reset=0.15ms", "sample_interval=20us"]
    return after_last_message(
        sampled(testbed.run(PLAN, *settings, beside=OTHERS, real_time=longer))
    )


def after_last_message(limiter: Limiter) -> Limiter:
    """From the last cut of the rate on."""
    last = int(np.flatnonzero(np.diff(limiter.rate) < 0)[-1]) + 1
    return Limiter(*(row[last:] for row in limiter))


def test_a_message_cuts_the_rate_by_its_feedback(told: Outcome, figure: Figure) -> None:
    rates = sampled(told).rate
    expected = [LINE_RATE]
    for feedback in (63, 47, 31, 15):
        expected.append(expected[-1] * (128 - feedback) // 128)
    assert len(rates) == len(expected)
    figure(
        "decrease: rate after feedback 63, 47, 31, 15",
        rule="QCN 2.2, L13-L61: rate ×= 1 − feedback / 128",
        expected=expected[-1],
        seen=int(rates[-1]),
        tolerance=4,
        unit="bit/s",
        why="a bit/s for each of four divisions",
    )
    assert np.abs(rates - np.array(expected)).max() <= 4


def test_five_cycles_recover_all_but_a_thirty_second(counting: Limiter, figure: Figure) -> None:
    before = counting.target[0] - counting.rate[0]
    after = counting.target[0] - counting.rate[counting.byte_stage == THRESHOLD][0]
    figure(
        "recovery: gap after five cycles, of the loss",
        rule="NetFPGA-QCN, section 3; QCN 2.2, L62-L95: each cycle halves the gap",
        expected=2**-5,
        seen=after / before,
        tolerance=float(5 / before),
        unit="1",
        why="a bit/s for each of five divisions",
    )


def test_the_sixth_cycle_is_the_first_of_active_increase(counting: Limiter, figure: Figure) -> None:
    steps = np.diff(counting.target)
    first = int(counting.byte_stage[1:][steps > 0][0])
    figure(
        "active increase: first cycle",
        rule="QCN 2.2, L62-L95: above the threshold of 5",
        expected=THRESHOLD + 1,
        seen=first,
        tolerance=0,
        unit="1",
        why="a count",
    )


def test_active_increase_raises_the_target_by_its_rate(counting: Limiter, figure: Figure) -> None:
    one = np.diff(counting.byte_stage) == 1
    steps = np.diff(counting.target)[one & (counting.byte_stage[1:] > THRESHOLD)]
    assert len(steps) >= 4
    figure(
        "active increase: step of the target",
        rule="QCN 2.2, L62-L95: R_AI",
        expected=AI_RATE,
        seen=float(steps.mean()),
        tolerance=0,
        unit="bit/s",
        why="integer arithmetic",
    )
    assert set(steps) == {AI_RATE}


def test_hyper_active_increase_grows_with_the_stages(both: Limiter, figure: Figure) -> None:
    stages = both.byte_stage + both.timer_stage
    least = np.minimum(both.byte_stage, both.timer_stage)[1:]
    one = (np.diff(stages) == 1) & (least > THRESHOLD) & (both.target[1:] < LINE_RATE)
    steps = np.diff(both.target)[one]
    assert len(steps) >= 2
    expected = HAI_RATE * (least[one] - THRESHOLD)
    figure(
        "hyper-active increase: step of the target per R_HAI and stage",
        rule="QCN 2.2, L62-L95: R_HAI (min(stages) − threshold)",
        expected=1,
        seen=float((steps / expected).mean()),
        tolerance=0,
        unit="1",
        why="integer arithmetic",
    )
    assert (steps == expected).all()


def test_the_limiter_keeps_its_rate(
    slow: Outcome, capture: Callable[[str], Frames], figure: Figure
) -> None:
    """Between the ends of the first and the last frame after the last message."""
    limiter = sampled(slow)
    allowed = int(limiter.rate[-1])
    frames = capture("switch.nic1").data.received
    frames = frames.where(frames.times_ps > limiter.times_ps[-1] + 100_000_000)
    span = int(frames.times_ps[-1] - frames.times_ps[0])
    octets = int(frames.lengths[1:].sum())
    clock, reason = grain(slow)
    figure(
        "limiter: rate on the wire, of its rate",
        rule="NetFPGA-QCN, section 3.2: a token bucket refilled every 16 us",
        expected=1.0,
        seen=octets * 8 * 10**12 / span / allowed,
        tolerance=(PERIOD_PS + 2 * clock) / span,
        unit="1",
        why=f"a frame waits for a refill: one period of the time measured; {reason}, at both ends",
    )
