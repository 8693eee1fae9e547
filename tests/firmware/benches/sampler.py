"""qcn_sampler.v against a countdown beside it, with intervals of any size at every feedback.

The congestion point's bench has the intervals of the paper's table alone; these need not be its.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.engine.lfsr import jittered, lfsr_next
from tests.firmware.benches.clocking import drive, rarely_round, start, until
from tests.firmware.benches.congestion_point import packed
from tests.firmware.benches.drawn import examples

SEQUENCES, SAMPLES = 40, 8
QUANTISER = 19
"""Clocks from a sample to its feedback."""
QUIET = {"clear": 0, "count_valid": 0, "reload": 0, "intervals": packed([1] * 8), "seed": 1}


class Countdown:
    """What `plugins.qcn_cp._count` does, beside the module."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.seed, self.left = dut, 1, 0
        self.intervals, self.spread = [1] * 8, False

    async def begin(self, rng: random.Random) -> None:
        """Any seed, any intervals."""
        self.seed, self.spread = rarely_round(rng, 32, 1), rng.random() < 0.5
        self.intervals = [rarely_round(rng, 30) for _ in range(8)]
        self.left = self.intervals[0]
        values = {"seed": self.seed, "intervals": packed(self.intervals), "jitter_on": self.spread}
        drive(self.dut, clear=1, **values)
        await FallingEdge(self.dut.clk)
        drive(self.dut, clear=0)
        assert (self.dut.started.value, int(self.dut.countdown.value)) == (0, 0)
        assert int(self.dut.random.value) == self.seed
        await FallingEdge(self.dut.clk)

    async def count(self, length: int) -> bool:
        """Count a frame; whether it is sampled."""
        assert self.dut.count_ready.value == 1
        drive(self.dut, count_valid=1, count_length=length)
        await FallingEdge(self.dut.clk)
        drive(self.dut, count_valid=0)
        self.left -= length
        assert self.dut.started.value == 1
        assert self.dut.countdown.value.to_signed() == self.left
        assert int(self.dut.due.value) == (self.left < 0)
        return self.left < 0

    async def reload(self, feedback: int) -> None:
        """The sample gave its feedback, in as many clocks as that takes: the next interval."""
        for _ in range(QUANTISER):
            await FallingEdge(self.dut.clk)
            assert (self.dut.due.value, self.dut.count_ready.value) == (0, 0)
        drive(self.dut, reload=1, reload_feedback=feedback)
        await FallingEdge(self.dut.clk)
        drive(self.dut, reload=0)
        for _ in range(1 + self.spread):  # until it is set the old one stands
            assert self.dut.countdown.value.to_signed() == self.left
            await FallingEdge(self.dut.clk)
        await until(self.dut, self.dut.count_ready, 100)
        self.left = self.intervals[feedback >> 3]
        if self.spread:
            self.seed = int(lfsr_next(self.seed))
            self.left = int(jittered(self.left, self.seed))
        assert int(self.dut.random.value) == self.seed
        assert self.dut.countdown.value.to_signed() == self.left


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_interval_is_that_of_its_feedback(dut: Any) -> None:
    await start(dut, **QUIET, jitter_on=0)
    mine = Countdown(dut)

    async def sequence(rng: random.Random) -> None:
        await mine.begin(rng)
        for _ in range(rng.randrange(1, SAMPLES + 1)):
            if mine.left > 3 * 65_535:  # what many frames would count down to is set instead
                mine.intervals[0] = rng.randrange(1 << 16)
                await restarted(mine)
            while not await mine.count(rng.choice((1500, 9000, 65_535, rng.randrange(1 << 16)))):
                for _ in range(rng.randrange(3)):
                    await FallingEdge(dut.clk)
                    assert dut.countdown.value.to_signed() == mine.left
            await mine.reload(rng.randrange(64))

    await examples(dut, cocotb.RANDOM_SEED, SEQUENCES, QUIET, sequence)


async def restarted(mine: Countdown) -> None:
    """A clear with another first interval, which may be set until something is counted."""
    drive(mine.dut, clear=1, intervals=packed([5, *mine.intervals[1:]]))
    await FallingEdge(mine.dut.clk)
    drive(mine.dut, clear=0, intervals=packed(mine.intervals))
    await FallingEdge(mine.dut.clk)
    await FallingEdge(mine.dut.clk)
    mine.left = mine.intervals[0]
    mine.seed = int(mine.dut.seed.value)
    assert int(mine.dut.random.value) == mine.seed


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_clear_ends_what_is_under_way(dut: Any) -> None:
    """At any clock of a sample: nothing of the old interval comes later."""
    await start(dut, **QUIET, jitter_on=1)
    mine, rng = Countdown(dut), random.Random(cocotb.RANDOM_SEED)
    for clock in range(70):
        await mine.begin(rng)
        drive(dut, jitter_on=1, intervals=packed([1000 + clock] * 8))
        mine.spread, mine.intervals = True, [1000 + clock] * 8
        await FallingEdge(dut.clk)
        mine.left = mine.intervals[0]
        assert await mine.count(1500)
        drive(dut, reload=1, reload_feedback=0)
        await FallingEdge(dut.clk)
        drive(dut, reload=0)
        for _ in range(clock):
            await FallingEdge(dut.clk)
        await mine.begin(rng)
        mine.intervals[0] = mine.left = (1 << 30) - 1
        drive(dut, intervals=packed(mine.intervals), jitter_on=0)
        for _ in range(rng.choice((1, 60))):
            await FallingEdge(dut.clk)
        assert not await mine.count(100)
        for _ in range(60):
            await FallingEdge(dut.clk)
            assert (dut.due.value, dut.count_ready.value) == (0, 1)
            assert dut.countdown.value.to_signed() == mine.left
        assert not await mine.count(100)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def what_a_clear_has_ended_does_not_reach_the_next_sample(dut: Any) -> None:
    await start(dut, **QUIET, jitter_on=1)
    mine, rng = Countdown(dut), random.Random(cocotb.RANDOM_SEED)
    for clocks in range(0, 50, 3):
        await mine.begin(rng)
        for length in (2000, 900):
            mine.spread, mine.intervals = True, [length] * 8
            drive(dut, clear=1, jitter_on=1, intervals=packed([5] * 8), seed=mine.seed)
            await FallingEdge(dut.clk)
            drive(dut, clear=0)
            mine.left = 5
            assert await mine.count(1500)
            drive(dut, intervals=packed(mine.intervals))
            if length == 2000:  # this one is left at work
                for _ in range(QUANTISER):
                    await FallingEdge(dut.clk)
                drive(dut, reload=1, reload_feedback=0)
                await FallingEdge(dut.clk)
                drive(dut, reload=0)
                for _ in range(clocks):
                    await FallingEdge(dut.clk)
            else:
                await mine.reload(0)
