"""divide.v against Python's own division, with inputs that change while it divides."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from tests.firmware.benches.clocking import drive, parameter, rarely_round, start, until

DIVISIONS = 120
QUIET = {"start": 0, "dividend": 0, "divisor": 0}


def drawn(rng: random.Random, bits: int) -> int:
    """A number of any magnitude, or one whose bits are all drawn."""
    return rarely_round(rng, bits) if rng.random() < 0.5 else rng.getrandbits(bits)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def quotients_and_rests_are_pythons(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    dividend_w, divisor_w = parameter("DIVIDEND_W"), parameter("DIVISOR_W")
    rounds = dividend_w // parameter("STEP")
    await start(dut, **QUIET)
    for turn in range(DIVISIONS):
        dividend, divisor = drawn(rng, dividend_w), drawn(rng, divisor_w) if turn else 0
        assert dut.busy.value == 0
        drive(dut, start=1, dividend=dividend, divisor=divisor)
        await FallingEdge(dut.clk)
        for _ in range(rounds):
            assert (dut.busy.value, dut.done.value) == (1, 0)
            others = {"dividend": drawn(rng, dividend_w), "divisor": drawn(rng, divisor_w)}
            drive(dut, start=rng.randrange(2), **others)
            await FallingEdge(dut.clk)
        drive(dut, start=0)
        assert (dut.busy.value, dut.done.value) == (0, 1), "after as many clocks, no more"
        for _ in range(2):  # and both stay
            if divisor:
                found = int(dut.quotient.value), int(dut.remainder.value)
                assert found == divmod(dividend, divisor), (dividend, divisor)
            else:
                assert int(dut.quotient.value) == (1 << dividend_w) - 1
            await FallingEdge(dut.clk)
            assert dut.done.value == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_ends_a_division(dut: Any) -> None:
    rounds = parameter("DIVIDEND_W") // parameter("STEP")
    await start(dut, **QUIET)
    for clocks in range(0, rounds, 3):
        drive(dut, start=1, dividend=1000 + clocks, divisor=7)
        await FallingEdge(dut.clk)
        for _ in range(clocks):
            await FallingEdge(dut.clk)
        drive(dut, rst=1)  # a start beside it counts for nothing
        await FallingEdge(dut.clk)
        drive(dut, rst=0, start=0)
        for _ in range(rounds + 2):
            assert (dut.busy.value, dut.done.value) == (0, 0), clocks
            await FallingEdge(dut.clk)
        drive(dut, start=1)
        await FallingEdge(dut.clk)
        drive(dut, start=0)
        assert await until(dut, dut.done) == rounds
        assert int(dut.quotient.value) == (1000 + clocks) // 7
