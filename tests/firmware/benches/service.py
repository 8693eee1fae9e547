"""service_limiter.v: frames start at the rate, never early, exactly so in the long run."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.engine.node_api import BIT_PS
from tests.firmware.benches.clocking import drive, start

CLOCK_PS = 8000


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_start_when_their_time_has_come(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, gain=0, keeps=0, start=0, length=0)
    for rate in (400_000_000, 950_000_000, 10**9, 9_999_999_999, rng.randrange(10**8, 10**10)):
        drive(dut, rst=1, gain=rate * CLOCK_PS)
        await FallingEdge(dut.clk)
        drive(dut, rst=0)
        clock, due = 0, None
        for _ in range(6):
            for _ in range(rng.choice((0, 0, 0, rng.randrange(200)))):  # nothing waits meanwhile
                await FallingEdge(dut.clk)
                clock += 1
            waited = 0
            while dut.open.value == 0:
                await FallingEdge(dut.clk)
                clock += 1
                waited += 1
            if due is not None:
                # a clock that was saved counts; the charge takes a clock to arrive
                assert clock * CLOCK_PS >= due - CLOCK_PS
                assert waited == 0 or clock * CLOCK_PS <= due + 2 * CLOCK_PS
            length = rng.randrange(60, 1501)
            begun = Fraction(clock * CLOCK_PS)
            # without a wait the queue was idle: its time starts anew
            ideal = begun if due is None or waited == 0 else due
            due = ideal + Fraction(length * BIT_PS, rate)
            drive(dut, start=1, length=length)
            await FallingEdge(dut.clk)
            clock += 1
            drive(dut, start=0)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def another_rate_counts_from_the_next_frame_on(dut: Any) -> None:
    """As port.py, where the time of the next frame is known as one starts."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, gain=0, keeps=0, start=0, length=0)

    async def send(length: int, before: int, behind: int) -> int:
        """Start a frame, set another rate while its time runs; how many clocks that takes."""
        drive(dut, gain=before * CLOCK_PS)
        assert dut.open.value == 1
        drive(dut, start=1, length=length)
        await FallingEdge(dut.clk)
        drive(dut, start=0)
        changed_at, clocks = rng.randrange(1, 200), 1
        while dut.open.value == 0:
            if clocks == changed_at:
                drive(dut, gain=behind * CLOCK_PS)
            await FallingEdge(dut.clk)
            clocks += 1
        return clocks

    drive(dut, rst=1)
    await FallingEdge(dut.clk)
    drive(dut, rst=0)
    rates = (950_000_000, 200_000_000)
    for before, behind in (rates, rates[::-1]) * 3:
        drive(dut, gain=before * CLOCK_PS)
        await FallingEdge(dut.clk)
        took = await send(300, before, behind)
        ideal = Fraction(300 * BIT_PS, before * CLOCK_PS)
        assert -1 <= took - ideal <= 2, (before, behind, took)


class Rule:
    """When frames may start, in whole numbers: what is saved at a clock with `open`, or how many
    clocks are left until there is one."""

    def __init__(self, gain: int) -> None:
        self.held, self.saved, self.left, self.rest = gain, 0, 0, 0

    @property
    def open(self) -> bool:
        """Whether a frame may start."""
        return self.left == 0

    def clock(self, gain: int, length: int | None, reset: bool = False) -> None:
        """A clock in which a frame of so many octets starts, if any does."""
        if self.open:
            if gain != self.held:
                self.saved = 0  # what was saved at another gain is given up
            self.held = gain
            if length is not None:
                cost = length * BIT_PS
                clocks = max(2, -(-(cost - self.saved) // gain))
                self.rest = self.saved + clocks * gain - cost
                self.left = clocks - 1
            else:
                self.saved = gain
        else:
            self.left -= 1
            self.saved = self.rest
        if reset:
            self.saved = self.left = 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_clock_is_the_rules(dut: Any) -> None:
    """Gains of any size, which change now and then, frames of some clocks to hundreds."""
    rng = random.Random(cocotb.RANDOM_SEED)

    def drawn() -> int:
        return rng.randrange(1 << 36, 1 << rng.randrange(37, 57))

    gain = drawn()
    await start(dut, gain=gain, keeps=0, start=0, length=0)
    drive(dut, rst=1)
    for _ in range(2):
        await FallingEdge(dut.clk)
    rule = Rule(gain)
    frames = 0
    for _ in range(6000):
        assert dut.open.value == int(rule.open)
        reset = rng.random() < 0.01
        if rng.random() < (0.01 if rule.open else 0.03):
            gain = drawn()
        least, most = 2 * gain // BIT_PS + 1, min((1 << 16) - 1, 150 * gain // BIT_PS + 2)
        starts = rule.open and rng.random() < 0.7
        length = rng.randrange(least, most + 1)
        drive(dut, rst=reset, gain=gain, start=starts, length=length)
        rule.clock(gain, length if starts else None, reset)
        frames += starts
        await FallingEdge(dut.clk)
    assert frames >= 100


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_frame_from_before_there_was_a_rate_ends_all_the_same(dut: Any) -> None:
    await start(dut, gain=0, keeps=0, start=0, length=0)
    for clocks in (1, 2, 30):
        drive(dut, rst=1, gain=0)
        for _ in range(2):
            await FallingEdge(dut.clk)
        drive(dut, rst=0, start=1, length=100)
        await FallingEdge(dut.clk)
        drive(dut, start=0)
        for _ in range(clocks):
            await FallingEdge(dut.clk)
            assert dut.open.value == 0
        drive(dut, gain=BIT_PS)  # an octet a clock
        for _ in range(99):
            await FallingEdge(dut.clk)
            assert dut.open.value == 0
        for _ in range(3):
            await FallingEdge(dut.clk)
        assert dut.open.value == 1


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_last_clock_of_a_frame_is_exact(dut: Any) -> None:
    """Gains that come to a frame's cost but for some 10^-12 bit, after a whole number of clocks."""
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, gain=1, keeps=0, start=0, length=0)
    rule = Rule(1)
    for turn in range(120):
        length, clocks = rng.randrange(1, 1 << rng.randrange(1, 17)), rng.randrange(9, 24)
        gain = length * BIT_PS // clocks + turn % 2
        drive(dut, gain=gain)
        for _ in range(2):
            rule.clock(gain, None)
            await FallingEdge(dut.clk)
        for _ in range(2):  # the second one with what the first one has left
            drive(dut, start=1, length=length)
            rule.clock(gain, length)
            await FallingEdge(dut.clk)
            drive(dut, start=0)
            while not rule.open:
                assert dut.open.value == 0, (gain, length)
                rule.clock(gain, None)
                await FallingEdge(dut.clk)
            assert dut.open.value == 1, (gain, length)
