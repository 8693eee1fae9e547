"""Rates by counters and samples alone: of every target, of cards too, which capture no frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.hardware.grain import grain
from traces.pytest_plugin.lab import Lab
from traces.pytest_plugin.outcome import Node

PLAN = Path(__file__).parent / "plans" / "counters.toml"
FRAME, SERVICE_RATE, LINE_RATE = 1500, 800_000_000, 10**9
PERIOD_PS = 16_000_000
"""Of the token bucket."""
REAL = ["duration=0.3s", "sample_interval=10ms"]

pytestmark = pytest.mark.needs("sampled-queue")
Figure = Callable[..., None]


def span(octets: np.ndarray, times_ps: np.ndarray) -> tuple[float, int]:
    """(bit/s, ps) from the first to the last of these samples."""
    passed = int(times_ps[-1] - times_ps[0])
    return float(octets[-1] - octets[0]) * 8e12 / passed, passed


def test_a_queue_that_is_never_empty_is_served_at_its_rate(
    testbed: Lab, node: Callable[[str], Node], figure: Figure
) -> None:
    """Nobody is told to slow down: the set point is above what the buffer holds."""
    setting = "nodes.switch.congestion_point.set_point=1MB"
    outcome = testbed.run(PLAN, setting, real_time=REAL)
    clock, reason = grain(outcome)
    queue = node("switch").sampled("switch.sink", "queue_bytes")
    octets = node("switch").sampled("switch.sink", "bytes_out")[1:]
    assert queue[1:].min() > 2 * FRAME
    rate, passed = span(octets, outcome.times_ps[1:])
    figure(
        "service rate: of a queue that is never empty",
        rule="the plan: service_rate = 0.8Gb/s",
        expected=1.0,
        seen=rate / SERVICE_RATE,
        tolerance=(FRAME * 8e12 / SERVICE_RATE + 2 * clock) / passed,
        unit="1",
        why=f"a frame is counted when it has left; {reason}, at both ends",
    )


def test_a_limited_flow_is_counted_at_its_rate(
    testbed: Lab, node: Callable[[str], Node], figure: Figure
) -> None:
    """Where two samples have the same rate, below the line's."""
    outcome = testbed.run(PLAN, real_time=REAL)
    clock, reason = grain(outcome)
    rates = node("nic1").sampled("nic1.rp0", "current_rate")
    octets = node("nic1").sampled("load", "bytes_sent")
    stands = np.flatnonzero(rates == rates[-1])
    assert len(stands) >= 3
    assert rates[-1] < SERVICE_RATE
    rate, passed = span(octets[stands], outcome.times_ps[stands])
    figure(
        "limiter: octets counted, of its rate",
        rule="NetFPGA-QCN, section 3.2: a token bucket refilled every 16 us",
        expected=1.0,
        seen=rate / float(rates[-1]),
        tolerance=(PERIOD_PS + FRAME * 8e12 / float(rates[-1]) + 2 * clock) / passed,
        unit="1",
        why="a frame waits for a refill, and is counted whole: "
        f"one period and one frame of the time measured; {reason}, at both ends",
    )
