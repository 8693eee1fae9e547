"""occupancy_sampler.v against the kernels' order of things: look, draw, put; then take."""

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
from tests.firmware.benches.clocking import drive, parameter, rarely_round, start
from tests.firmware.benches.drawn import examples

SEQUENCES, EVENTS = 20, 60
FIELDS = ("comes", "length", "kept", "slot", "leaves", "left")
QUIET = {"clear": 0, "event_valid": 0, "cp_ready": 1, "cp_message": 0, "seed": 1, "units": 1}


class Queue:
    """The module, and the units of one queue as the kernels keep them."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.most, self.slots = dut, parameter("UNITS"), parameter("SLOTS")
        self.counts = Counter[str]()

    async def begin(self, rng: random.Random, units: int = 0) -> None:
        """Nothing stands in it."""
        drawn = rng.choice((1, 2, self.most, rng.randrange(1, self.most + 1)))
        self.rng, self.units = rng, units or drawn
        self.queue = np.zeros(1, QUEUE).view(np.recarray)[0]
        self.queue.units, self.queue.lfsr = self.units, rarely_round(rng, 32, 1)
        chain = np.full((self.units, 2), NONE, np.int64)
        chain[:-1, 1] = np.arange(1, self.units)
        frames = np.zeros(self.slots, FRAME).view(np.recarray)
        self.world = SimpleNamespace(units=chain, frames=frames)
        self.standing: list[int] = []
        self.without: list[int] = []
        self.searches = rng.choice((0, 0, 1, 3, 40))
        drive(self.dut, clear=1, seed=int(self.queue.lfsr), units=self.units)
        drive(self.dut, searches=self.searches)
        await FallingEdge(self.dut.clk)
        drive(self.dut, clear=0)

    def drawn(self) -> int:
        """The slot of the frame whose source the kernel would notify; NONE: that of the one that
        comes."""
        return int(random_frame(self.world, self.queue, self.searches))

    def put(self, slot: int, length: int) -> None:
        """The frame takes its units, where there are enough."""
        if -(-length // UNIT_OCTETS) > int((self.world.units[:, 0] == NONE).sum()):
            self.without.append(slot)
            return
        self.world.frames[slot].length = length
        allocate_cells(self.world, self.queue, slot)
        self.queue.frames += 1
        self.standing.append(slot)

    def take(self, slot: int) -> None:
        """A frame leaves; one without units leaves none."""
        if slot in self.without:
            self.without.remove(slot)
            self.counts["without"] += 1
            return
        self.standing.remove(slot)
        free_cells(self.world, self.queue, slot)
        self.queue.frames -= 1

    async def event(self) -> None:
        """A frame comes, one leaves, or both; the congestion point looks at what comes."""
        rng, there = self.rng, self.standing + self.without
        free = sorted(set(range(self.slots)) - set(there))
        comes = bool(free) and rng.random() < 0.6
        whole = 256 * rng.randrange(36)  # units: what is over by a power of two takes another one
        lengths = (
            whole + (1 << rng.randrange(9)),
            rng.randrange(1, 9217),
            9216 - rng.randrange(1024),
        )
        length = rng.choice((60, 256, 257, 1500, *lengths))
        kept = comes and rng.random() < 0.8
        slot = rng.choice(free) if free else 0
        leaving = there + [slot] * kept
        leaves = bool(leaving) and (not comes or rng.random() < 0.4)
        if not comes and not leaves:
            return
        left = rng.choice(leaving) if leaves else 0
        told = comes and rng.random() < 0.5
        await self.happens(told, comes, length, kept, slot, leaves, left)

    async def happens(
        self,
        told: bool,
        comes: bool,
        length: int,
        kept: bool,
        slot: int,
        leaves: bool = False,
        left: int = 0,
    ) -> None:
        """An event, and what the kernels make of it."""
        wanted = [self.drawn()] if told else []
        if kept:
            self.put(slot, length)
        if leaves:
            self.take(left)
        found = await self.asked(told, comes, length, kept, slot, leaves, left)
        assert found == wanted
        assert int(self.dut.random.value) == int(self.queue.lfsr)
        self.counts.update({"comes": comes, "leaves": leaves, "told": told, "both": comes * leaves})
        self.counts["nobody"] += wanted == [NONE]

    async def asked(self, told: bool, *fields: int) -> list[int]:
        """Give an event; whom the module finds, until it takes the next one."""
        dut, rng = self.dut, self.rng
        drive(
            dut,
            event_valid=1,
            **{f"event_{n}": int(v) for n, v in zip(FIELDS, fields, strict=True)},
        )
        assert dut.event_ready.value == 1
        await FallingEdge(dut.clk)
        changed = {
            f"event_{name}": 1 - (int(value) & 1)
            for name, value in zip(FIELDS, fields, strict=True)
        }
        drive(dut, event_valid=0, **changed)  # the next event stands there already
        sampled = told or (fields[0] and rng.random() < 0.3)
        at = rng.randrange(1, 4) if sampled else 0  # clocks of a congestion point that looks
        drive(dut, cp_ready=int(not sampled))
        found: list[int] = []
        for clock in range(200 * self.most + 2000):  # a draw takes some seven
            drive(dut, cp_message=int(told and clock == at))
            if sampled and clock == at + 2:
                drive(dut, cp_ready=1)
            await FallingEdge(dut.clk)
            if dut.found_valid.value == 1:
                found.append(NONE if dut.found_none.value == 1 else int(dut.found_slot.value))
            if dut.event_ready.value == 1 and clock > at + 2:
                drive(dut, cp_message=0, cp_ready=1)
                return found
        raise AssertionError("it takes no event any more")


@cocotb.test(timeout_time=80, timeout_unit="ms")
async def who_is_drawn_equals_the_kernels(dut: Any) -> None:
    await start(dut, **QUIET)
    queue = Queue(dut)

    async def sequence(rng: random.Random) -> None:
        await queue.begin(rng)
        for _ in range(rng.randrange(1, EVENTS + 1)):
            await queue.event()

    await examples(dut, cocotb.RANDOM_SEED, SEQUENCES, QUIET, sequence)
    dut._log.info("%s", dict(queue.counts))
    assert (
        min(queue.counts[k] for k in ("comes", "leaves", "told", "both", "nobody", "without")) >= 10
    )


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_frame_takes_the_room_that_another_leaves(dut: Any) -> None:
    """It comes while the other's units are given back one by one: there are enough in the end."""
    await start(dut, **QUIET)
    queue = Queue(dut)
    await queue.begin(random.Random(cocotb.RANDOM_SEED), units=16)
    await queue.happens(False, True, 16 * UNIT_OCTETS, True, 0)
    for slot in range(1, 6):
        await queue.happens(False, False, 0, False, 0, True, slot - 1)
        await queue.happens(False, True, 16 * UNIT_OCTETS, True, slot)
        await queue.happens(True, True, 60, False, slot + 1)
    assert queue.without == []


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_clear_ends_an_event(dut: Any) -> None:
    """Nobody is found later, and all units are free."""
    await start(dut, **QUIET)
    queue = Queue(dut)
    rng = random.Random(cocotb.RANDOM_SEED)
    for clocks in range(30):
        await queue.begin(rng)
        for _ in range(5):
            await queue.event()
        drive(dut, event_valid=1, event_comes=1, event_length=600, event_kept=1, event_slot=0)
        drive(dut, event_leaves=0, cp_ready=0)
        await FallingEdge(dut.clk)
        drive(dut, event_valid=0, cp_message=1)
        await FallingEdge(dut.clk)
        drive(dut, cp_message=0)
        for _ in range(clocks):
            await FallingEdge(dut.clk)
        drive(dut, cp_ready=1)
        await queue.begin(rng)
        assert (dut.event_ready.value, dut.found_valid.value) == (1, 0)
        for _ in range(5):
            await queue.event()
