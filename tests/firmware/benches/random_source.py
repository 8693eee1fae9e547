"""lfsr.v and jitter.v against orchestrator.engine.lfsr, draw by draw."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.engine.lfsr import lfsr_next
from tests.firmware.benches.clocking import drive, rarely_round, start
from tests.firmware.benches.drawn import examples


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def draws_equal_the_kernels(dut: Any) -> None:
    quiet = {"load": 0, "seed": 0, "draw": 0}
    await start(dut, **quiet)

    async def sequence(rng: random.Random) -> None:
        assert int(dut.value.value) == 1  # it may be drawn from without a seed
        seed = rarely_round(rng, 32)
        drive(dut, load=1, seed=seed)
        await FallingEdge(dut.clk)
        drive(dut, load=0)
        value = seed or 1
        assert int(dut.value.value) == value
        for _ in range(50):
            for _ in range(rng.randrange(4, 7)):  # a draw is at least five clocks after the last
                await FallingEdge(dut.clk)
                assert int(dut.value.value) == value
            drive(dut, draw=1)
            await FallingEdge(dut.clk)
            value = int(lfsr_next(value))
            drive(dut, draw=0)
            assert int(dut.value.value) == value

    await examples(dut, cocotb.RANDOM_SEED, 10, quiet, sequence)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def no_seed_but_0_is_taken_for_0(dut: Any) -> None:
    await start(dut, load=0, seed=0, draw=0)
    for seed in (0, *(1 << bit for bit in range(32))):
        drive(dut, load=1, seed=seed)
        await FallingEdge(dut.clk)
        assert int(dut.value.value) == (seed or 1)
