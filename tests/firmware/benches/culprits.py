"""culprit_array.v against orchestrator.engine.node.buffer_occupancy: where frames lie, who is
drawn."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge

from orchestrator.engine.node.buffer_occupancy import (
    UNIT_OCTETS,
    allocate_cells,
    free_cells,
    random_frame,
)
from orchestrator.engine.records import FRAME, NONE, QUEUE
from tests.firmware.benches.clocking import drive, parameter, rarely_round, start, until
from tests.firmware.benches.drawn import examples

SEQUENCES, EVENTS = 20, 60
QUIET = {"clear": 0, "put_valid": 0, "take_valid": 0, "draw_valid": 0, "seed": 1, "units": 1}


class Buffer:
    """The module and the kernel's units of one buffer."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.most, self.counts = dut, parameter("UNITS"), Counter[str]()

    async def begin(self, rng: random.Random) -> None:
        """A buffer of any size, empty."""
        self.rng, self.units = rng, rng.choice((1, 2, self.most, rng.randrange(1, self.most + 1)))
        self.queue = np.zeros(1, QUEUE).view(np.recarray)[0]
        self.queue.units, self.queue.lfsr = self.units, rarely_round(rng, 32, 1)
        chain = np.full((self.units, 2), NONE, np.int64)
        chain[:-1, 1] = np.arange(1, self.units)
        frames = np.zeros(self.units, FRAME).view(np.recarray)
        self.world = SimpleNamespace(units=chain, frames=frames)
        self.lying: list[int] = []
        self.tags: dict[int, int] = {}
        drive(self.dut, clear=1, seed=int(self.queue.lfsr), units=self.units)
        await FallingEdge(self.dut.clk)
        drive(self.dut, clear=0)
        await until(self.dut, self.dut.put_ready, 1000 + 2 * self.most)

    @property
    def free(self) -> int:
        return int((self.world.units[:, 0] == NONE).sum())

    async def asked(self, kind: str, **inputs: int) -> None:
        """Ask for something that can be had at once; the inputs may say something else then."""
        drive(self.dut, **{f"{kind}_valid": 1}, **inputs)
        await FallingEdge(self.dut.clk)
        other = {name: int(not value) for name, value in inputs.items()}
        drive(self.dut, **{f"{kind}_valid": 0}, **self.rng.choice((inputs, other)))
        self.counts[kind] += 1

    async def put(self, length: int) -> None:
        """A frame comes, with any tag."""
        index = next(n for n in range(self.units) if n not in self.lying)
        self.world.frames[index].length = length
        allocate_cells(self.world, self.queue, index)
        self.queue.frames += 1
        self.lying.append(index)
        self.tags[index] = rarely_round(self.rng, 16)
        await self.asked("put", put_length=length, put_tag=self.tags[index])
        need = -(-length // UNIT_OCTETS)
        assert await until(self.dut, self.dut.put_done, 600) == 2 * need
        assert int(self.dut.put_unit.value) == int(self.world.frames[index].unit)

    async def take(self) -> None:
        """One that lies there leaves, not only the first."""
        index = self.lying.pop(self.rng.randrange(len(self.lying)))
        unit = int(self.world.frames[index].unit)
        free_cells(self.world, self.queue, index)
        self.queue.frames -= 1
        await self.asked("take", take_unit=unit)
        await until(self.dut, self.dut.take_ready, 600)

    async def draw(self) -> None:
        """A source is to be notified."""
        await self.search(self.rng.choice((0, 1, 2, 5, (1 << 20) - 1)))

    async def search(self, searches: int) -> None:
        """Draw with a bound on the searches."""
        found = random_frame(self.world, self.queue, searches)
        await self.asked("draw", searches=searches)
        await until(self.dut, self.dut.found_valid, 200_000)
        assert int(self.dut.found_none.value) == (found == NONE)
        assert found == NONE or int(self.dut.found_tag.value) == self.tags[found]
        assert int(self.dut.random.value) == int(self.queue.lfsr)
        self.counts["nobody"] += found == NONE

    async def event(self) -> None:
        length = self.rng.choice((60, 256, 257, 1500, self.rng.randrange(1, 1 << 16)))
        kind = self.rng.choices(("put", "take", "draw"), (5, 3, 4))[0]
        if kind == "put" and -(-length // UNIT_OCTETS) <= self.free:
            await self.put(length)
        elif kind == "take" and self.lying:
            await self.take()
        else:
            await self.draw()
        assert int(self.dut.free_units.value) == self.free
        assert self.dut.put_ready.value == 1


@cocotb.test(timeout_time=80, timeout_unit="ms")
async def units_and_draws_equal_the_kernels(dut: Any) -> None:
    await start(dut, **QUIET)
    buffer = Buffer(dut)

    async def sequence(rng: random.Random) -> None:
        await buffer.begin(rng)
        for _ in range(rng.randrange(1, EVENTS + 1)):
            await buffer.event()

    await examples(dut, cocotb.RANDOM_SEED, SEQUENCES, QUIET, sequence)
    dut._log.info("%s", dict(buffer.counts))
    assert min(buffer.counts[kind] for kind in ("put", "take", "draw", "nobody")) >= 10


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def one_is_served_at_a_time_and_a_clear_ends_it(dut: Any) -> None:
    await start(dut, **QUIET)
    buffer = Buffer(dut)
    await buffer.begin(random.Random(cocotb.RANDOM_SEED))
    every = {"put_valid": 1, "take_valid": 1, "draw_valid": 1}
    drive(dut, **every)
    await FallingEdge(dut.clk)
    assert (dut.put_ready.value, dut.take_ready.value, dut.draw_ready.value) == (0, 0, 0)
    for clocks in range(12):
        await buffer.begin(random.Random(f"{cocotb.RANDOM_SEED}/{clocks}"))
        assert dut.put_ready.value == 1
        drive(dut, **every)
        await FallingEdge(dut.clk)
        drive(dut, put_valid=0, take_valid=0, draw_valid=0)
        for _ in range(clocks):
            await FallingEdge(dut.clk)
    await buffer.begin(random.Random(cocotb.RANDOM_SEED))
    assert int(dut.free_units.value) == buffer.units
    await buffer.draw()
    await buffer.put(60)
    await buffer.draw()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def so_many_searches_are_made_and_no_more(dut: Any) -> None:
    """One unit of many is occupied: most searches fail, and then the units are looked through."""
    await start(dut, **QUIET)
    buffer = Buffer(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    await buffer.begin(rng)
    while buffer.units < buffer.most:
        await buffer.begin(rng)
    await buffer.put(60)
    for searches in range(1, 40):
        await buffer.search(searches)
