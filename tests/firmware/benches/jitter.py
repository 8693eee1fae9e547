"""jitter.v against orchestrator.engine.lfsr.jittered."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.engine.lfsr import jittered
from tests.firmware.benches.clocking import drive, parameter, rarely_round, start, until


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def intervals_equal_the_kernels(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    bits = parameter("BASE_W")
    await start(dut, start=0, base=0, random=0)
    for _ in range(400):
        base, draw = rarely_round(rng, bits), rarely_round(rng, 16)
        drive(dut, start=1, base=base, random=draw)
        await FallingEdge(dut.clk)
        drive(dut, start=0, base=0, random=0)
        await until(dut, dut.done)
        assert int(dut.result.value) == int(jittered(base, draw << 16)), (base, draw)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_ends_what_is_under_way(dut: Any) -> None:
    await start(dut, start=0, base=0, random=0)
    for clocks in range(60):
        drive(dut, start=1, base=1000 + clocks, random=clocks << 10)
        await FallingEdge(dut.clk)
        drive(dut, start=0)
        for _ in range(clocks):
            await FallingEdge(dut.clk)
        drive(dut, rst=1)
        await FallingEdge(dut.clk)
        drive(dut, rst=0)
        for _ in range(60):
            assert dut.done.value == 0, clocks
            await FallingEdge(dut.clk)
