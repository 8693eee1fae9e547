"""The clock of a bench. Inputs change and outputs are read at falling edges: all is settled."""

from __future__ import annotations

import os
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge


def parameter(name: str) -> int:
    """A parameter that the design was built with."""
    pairs = dict(pair.split("=") for pair in os.environ["BENCH_PARAMETERS"].split())
    return int(pairs[name])


async def start(dut: Any, **inputs: int) -> None:
    """Start the clock, set inputs and reset the design."""
    for name, value in inputs.items():
        getattr(dut, name).value = value
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, 8, unit="ns").start())
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    await FallingEdge(dut.clk)


def drive(dut: Any, **inputs: int) -> None:
    """Set inputs by name."""
    for name, value in inputs.items():
        getattr(dut, name).value = value


async def until(dut: Any, signal: Any, limit: int = 1000) -> int:
    """Wait until a signal is 1; how many clocks that took. Fails after `limit` clocks."""
    for clocks in range(limit):
        if int(signal.value) == 1:
            return clocks
        await FallingEdge(dut.clk)
    raise AssertionError(f"{signal._name} stays 0 for {limit} clocks")


def rarely_round(rng: Any, bits: int, least: int = 0) -> int:
    """A number of up to `bits` bits: any magnitude, its bounds and powers of two more often."""
    top = (1 << bits) - 1
    choice = rng.randrange(8)
    if choice == 0:
        return rng.choice((least, least + 1, top, top - 1))
    if choice == 1:
        return max(least, min(top, (1 << rng.randrange(bits + 1)) + rng.randrange(-1, 2)))
    return max(least, rng.randrange(1 << rng.randrange(1, bits + 1)))
