"""What a device that acts a little later or earlier than the reference may have in its buckets: all
of it is granted, whatever the order of refills, rates and frames, and no more than that."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.records import LIMITER
from traces.oracle import token_tolerance
from traces.oracle.token_tolerance import LESS, MORE, new_slack

US = 10**6
WINDOW, PERIOD, DEPTH = 2_400_000, 16 * US, 24 * 10**15
BIT = 10**12
APART = 2 * WINDOW
"""Between two things that happen to a limiter, so that they come in one order."""


class Device:
    """A bucket that takes a frame's tokens, and a new rate, some time beside the reference."""

    def __init__(self, bound: int, phase: int, rate: int, faster: float) -> None:
        self.tokens, self.rate, self.faster = 0, rate, faster
        self.tick = bound - (bound - phase) % PERIOD

    def at(self, now: int) -> int:
        while now - self.tick >= PERIOD:
            self.tick += PERIOD
            self.tokens = min(self.tokens + int(self.rate * self.faster) * PERIOD, DEPTH)
        return self.tokens

    def free_from(self, now: int) -> int:
        """When it may take a frame's tokens."""
        while self.at(now) <= 0:
            now = self.tick + PERIOD
        return now


class Reference:
    """A limiter of the reference and what is granted beside it."""

    def __init__(self, bound: int, phase: int, rate: int) -> None:
        self.limiters = np.zeros(1, LIMITER).view(np.recarray)
        self.world: Any = SimpleNamespace(limiters=self.limiters)
        self.slack = new_slack(1)
        one = self.limiters[0]
        one.flow, one.period, one.phase, one.depth, one.rate = 0, PERIOD, phase, DEPTH, rate
        one.tick = bound - (bound - phase) % PERIOD
        self.note(bound)

    def note(self, now: int) -> None:
        token_tolerance.note_rates.py_func(self.world, self.slack, WINDOW, now)

    def refill(self, now: int) -> None:
        token_tolerance.refill.py_func(self.world, self.slack, now)

    def rate(self, now: int, rate: int) -> None:
        self.refill(now)
        self.limiters[0].rate = rate
        self.note(now)

    def frame(self, now: int, octets: int) -> bool:
        """Start one; whether tokens sufficed, or what is granted beside them."""
        self.refill(now)
        one, slack = self.limiters[0], self.slack[0]
        lacks = max(1 - int(one.tokens), 0)
        if lacks > max(slack[MORE], 0):
            return False
        one.tokens += lacks
        slack[MORE] -= lacks
        slack[LESS] += lacks
        token_tolerance.grant_refills.py_func(self.slack, 0, one, WINDOW, now)
        one.tokens -= octets * 8 * BIT
        return True

    def bounds(self, now: int) -> tuple[int, int]:
        """The fewest and the most tokens that a device may have."""
        self.refill(now)
        own = int(self.limiters[0].tokens)
        return own - int(self.slack[0][LESS]), own + int(self.slack[0][MORE])


def happenings(seed: int, faster: float = 1.0, count: int = 300) -> str:
    """Drive both; what the reference does not grant, "" where it grants all."""
    dice = random.Random(seed)
    bound, phase = dice.randrange(10**9), dice.randrange(PERIOD)
    rate = dice.choice([50, 200, 500, 950]) * 10**6
    device, reference = Device(bound, phase, rate, faster), Reference(bound, phase, rate)
    device.at(bound + dice.randrange(WINDOW))
    device.tokens = 0  # it is bound as late as that
    now = bound + WINDOW
    for _ in range(count):
        now += APART + dice.choice([0, 5 * US, 12 * US, 60 * US]) + dice.randrange(PERIOD)
        low, high = reference.bounds(now)
        if not low <= device.at(now) <= high:
            return f"at {now} it has {device.tokens}, granted is {low} to {high}"
        if dice.random() < 0.2:
            rate = dice.choice([20, 50, 100, 200, 500, 950]) * 10**6
            reference.rate(now, rate)
            device.at(now + dice.randrange(WINDOW))
            device.rate = rate
        else:
            octets = dice.choice([64, 500, 1500])
            now = taken = device.free_from(now)
            early, late = dice.randrange(WINDOW), dice.choice([0, dice.randrange(WINDOW)])
            starts = max(taken + early - late, now)
            if late > early:
                device.at(taken + late - early)
            device.tokens -= octets * 8 * BIT
            if not reference.frame(starts, octets):
                return f"at {starts} a frame may not start"
            now = max(starts, taken + max(late - early, 0))
    return ""


@pytest.mark.parametrize("seed", range(40))
def test_all_that_a_device_may_have_is_granted(seed: int) -> None:
    assert happenings(seed) == ""


@pytest.mark.parametrize("faster", [0.97, 1.03])
@pytest.mark.parametrize("seed", range(20))
def test_another_rate_is_more_than_is_granted(seed: int, faster: float) -> None:
    """A device whose refills are 3 % off, in the time of some hundred frames."""
    assert happenings(seed, faster, count=2000) != ""


def test_what_is_granted_is_never_more_than_there_is_room_for() -> None:
    """A flow below its rate, whose frames start close to refills: each makes up for the last."""
    reference = Reference(0, 0, 950 * 10**6)
    for number in range(1, 200):
        assert reference.frame(4 * number * PERIOD + number % 5 * 100_000, 1500)
        assert reference.slack[0][MORE] <= DEPTH - reference.limiters[0].tokens + 12_000 * BIT
    low, high = reference.bounds(900 * PERIOD)
    assert (low, high) == (DEPTH, DEPTH)
