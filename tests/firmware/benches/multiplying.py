"""multiply.v against Python's own product, with inputs that change while it multiplies."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from tests.firmware.benches.clocking import drive, parameter, start, until
from tests.firmware.benches.dividing import drawn

PRODUCTS = 150


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def products_are_pythons(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    a_w, b_w = parameter("A_W"), parameter("B_W")
    rounds = b_w // parameter("STEP")
    await start(dut, start=0, a=0, b=0)
    for _ in range(PRODUCTS):
        a, b = drawn(rng, a_w), drawn(rng, b_w)
        drive(dut, start=1, a=a, b=b)
        await FallingEdge(dut.clk)
        for _ in range(rounds):
            assert dut.done.value == 0
            drive(dut, start=rng.randrange(2), a=drawn(rng, a_w), b=drawn(rng, b_w))
            await FallingEdge(dut.clk)
        drive(dut, start=0)
        assert dut.done.value == 1, "after as many clocks, no more"
        for _ in range(2):  # and it stays
            assert int(dut.product.value) == a * b, (a, b)
            await FallingEdge(dut.clk)
            assert dut.done.value == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_ends_a_product(dut: Any) -> None:
    rounds = parameter("B_W") // parameter("STEP")
    await start(dut, start=0, a=0, b=0)
    for clocks in range(rounds):
        drive(dut, start=1, a=1000 + clocks, b=77)
        await FallingEdge(dut.clk)
        for _ in range(clocks):
            await FallingEdge(dut.clk)
        drive(dut, rst=1)  # a start beside it counts for nothing
        await FallingEdge(dut.clk)
        drive(dut, rst=0, start=0)
        for _ in range(rounds + 2):
            assert dut.done.value == 0, clocks
            await FallingEdge(dut.clk)
        drive(dut, start=1)
        await FallingEdge(dut.clk)
        drive(dut, start=0)
        assert await until(dut, dut.done) == rounds
        assert int(dut.product.value) == (1000 + clocks) * 77
