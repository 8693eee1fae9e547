"""Rates by counters and samples alone: of every target, of cards too, which capture no frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.hardware.grain import grain
from traces.pytest_plugin.capabilities import REAL_TIME
from traces.pytest_plugin.run_outcome import Node
from traces.pytest_plugin.target_runner import Lab

PLAN = Path(__file__).parent / "plans" / "counters.toml"
SERVICE_RATE, LINE_RATE = 800_000_000, 10**9
POINT = "nodes.switch.congestion_point."
REAL = ["duration=0.3s", "sample_interval=10ms", "traffic.load.frame=1500B"]
REAL += ["nodes.nic1.host_queue=6KB", "nodes.nic1.limiter.period=16us"]

pytestmark = pytest.mark.needs("sampled-queue")
Figure = Callable[..., None]


class Grain(NamedTuple):
    """Octets of a frame, ps between two refills of the token bucket."""

    frame: int
    period_ps: int


def grain_of(testbed: Lab) -> Grain:
    """As in the plan, or in REAL."""
    real = testbed.column in REAL_TIME
    return Grain(1500, 16_000_000) if real else Grain(375, 4_000_000)


def span(octets: np.ndarray, times_ps: np.ndarray) -> tuple[float, int]:
    """(bit/s, ps) from the first to the last of these samples."""
    passed = int(times_ps[-1] - times_ps[0])
    return float(octets[-1] - octets[0]) * 8e12 / passed, passed


def test_a_queue_that_is_never_empty_is_served_at_its_rate(
    testbed: Lab, node: Callable[[str], Node], figure: Figure
) -> None:
    """Nobody is told to slow down: the set point is above what the buffer holds."""
    outcome = testbed.run(PLAN, POINT + "set_point=1MB", beside=["nic2"], real_time=REAL)
    frame = grain_of(testbed).frame
    clock, reason = grain(outcome)
    queue = node("switch").sampled("switch.sink", "queue_bytes")
    octets = node("switch").sampled("switch.sink", "bytes_out")[1:]
    assert queue[1:].min() > 2 * frame
    rate, passed = span(octets, outcome.times_ps[1:])
    figure(
        "service rate: of a queue that is never empty",
        rule="the plan: service_rate = 0.8Gb/s",
        expected=1.0,
        seen=rate / SERVICE_RATE,
        tolerance=(frame * 8e12 / SERVICE_RATE + 2 * clock) / passed,
        unit="1",
        why=f"a frame is counted when it has left; {reason}, at both ends",
    )


def test_a_limited_flow_is_counted_at_its_rate(
    testbed: Lab, node: Callable[[str], Node], figure: Figure
) -> None:
    """Where two samples have the same rate, below the line's."""
    large = [POINT + "set_point=10KB", POINT + "sample_base=15KB"]
    outcome = testbed.run(PLAN, beside=["nic2"], real_time=[*REAL, *large])
    frame, period_ps = grain_of(testbed)
    clock, reason = grain(outcome)
    rates = node("nic1").sampled("nic1.rp0", "current_rate")
    octets = node("nic1").sampled("load", "bytes_sent")
    stands = np.flatnonzero(rates == rates[-1])
    assert len(stands) >= 3
    assert rates[-1] < SERVICE_RATE
    rate, passed = span(octets[stands], outcome.times_ps[stands])
    figure(
        "limiter: octets counted, of its rate",
        rule="NetFPGA-QCN, section 3.2: a token bucket refilled every period",
        expected=1.0,
        seen=rate / float(rates[-1]),
        tolerance=(period_ps + frame * 8e12 / float(rates[-1]) + 2 * clock) / passed,
        unit="1",
        why="a frame waits for a refill, and is counted whole: "
        f"one period and one frame of the time measured; {reason}, at both ends",
    )
