"""service_limiter.v: frames start at the rate, never early, exactly so in the long run."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.engine.stepping import BIT_PS
from tests.firmware.benches.clocking import drive, start

CLOCK_PS = 8000


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_start_when_their_time_has_come(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, gain=0, start=0, length=0)
    for rate in (400_000_000, 950_000_000, 10**9, 9_999_999_999, rng.randrange(10**8, 10**10)):
        drive(dut, rst=1, gain=rate * CLOCK_PS)
        await FallingEdge(dut.clk)
        drive(dut, rst=0)
        clock, due = 0, None
        for _ in range(40):
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
    await start(dut, gain=0, start=0, length=0)

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
