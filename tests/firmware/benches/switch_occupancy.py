"""qcn_switch.v sampling by occupancy: message by message the source that the kernels would tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge

from firmware.registers.register_maps import QCN_CP, SWITCH_PORT
from orchestrator.engine.frames import frame_layout
from orchestrator.engine.kernel_answers import NOTIFY_RANDOM_UNIT
from orchestrator.engine.node.buffer_occupancy import allocate_cells, free_cells, random_frame
from orchestrator.engine.records import CNM, FRAME, NONE
from plugins.qcn_cp import QCN_CP as KERNEL
from plugins.qcn_cp import SAMPLE_INTERVALS
from tests.firmware.benches.switch import Bench, port_base, understood
from tests.firmware.benches.windows import CLEAR, ENABLE
from tests.plugins.kernel_driver import KernelDriver

CAPACITY, UNITS, FRAMES = 9_000, 160, 130
"""Of the queue of port 2: octets, units, frames of 70 octets at most."""
SEED, UNITS_SEED = 77, 0x1234_5678
BY_OCCUPANCY = 3
TOLD = ("destination", "feedback", "flow", "sequence", "mark", "offset", "delta")
"""Of a message: to whom, what, and about which frame of which length."""


class Reference:
    """The kernels of the congestion point and of the units, on what comes to the queue."""

    def __init__(self, searches: int, set_point: int) -> None:
        self.kernel = KernelDriver(KERNEL)
        self.kernel.state["lfsr"] = SEED
        wanted = {"set_point": set_point, "weight": 2, "sample_base": 1_000, "jitter": 1}
        for name, value in (wanted | {"sampling": BY_OCCUPANCY, "searches": searches}).items():
            self.kernel.params[name] = value
        self.queue = self.kernel.entity[0]
        self.queue.units, self.queue.lfsr, self.queue.capacity = UNITS, UNITS_SEED, CAPACITY
        chain = np.full((UNITS, 2), NONE, np.int64)
        chain[:-1, 1] = np.arange(1, UNITS)
        self.frames = np.zeros(FRAMES, FRAME).view(np.recarray)
        self.world = SimpleNamespace(units=chain, frames=self.frames)
        self.standing: list[int] = []
        self.wanted: list[tuple[int, ...]] = []
        self.strangers = self.held = self.largest = self.both = self.unknown = 0
        """Drawn frames that were not the one that came; clocks of a bus that is held; the most
        frames; clocks in which one comes and one leaves; frames that stand there from before."""

    def comes(self, frame: Any, length: int, octets: int, kept: bool) -> None:
        """A data frame meets a queue of so many octets."""
        self.queue.bytes = octets
        self.kernel.frame["length"] = length
        assert kept == (octets + length <= CAPACITY)
        if self.kernel.call("arrival", 0) == NOTIFY_RANDOM_UNIT:
            message = self.kernel.message[0]
            held = random_frame(self.world, self.queue, message.mark)
            about = frame if held == NONE else self.frames[held]
            self.strangers += held != NONE
            said = [
                int(message[name]) // frame_layout.CNM_UNIT * frame_layout.CNM_UNIT
                for name in TOLD[-2:]
            ]
            whose = int(about.source), int(message.feedback), int(about.flow), int(about.sequence)
            self.wanted.append((*whose, int(about.length), *said))
        if kept:
            place = next(n for n in range(FRAMES) if n not in self.standing)
            self.frames[place] = frame
            self.frames[place].length = length
            allocate_cells(self.world, self.queue, place)
            self.queue.frames += 1
            self.standing.append(place)
            self.largest = max(self.largest, len(self.standing))

    def leaves(self) -> None:
        """The first frame of the queue leaves it."""
        if self.unknown:
            self.unknown -= 1
            return
        free_cells(self.world, self.queue, self.standing.pop(0))
        self.queue.frames -= 1

    async def follow(self, dut: Any) -> None:
        """What the port's congestion point is told, as it happens."""
        while True:
            await FallingEdge(dut.clk)
            self.held += int(dut.event_holds.value)
            self.both += int(dut.event_valid.value) and int(dut.event_leaves.value)
            if dut.event_valid.value == 1:
                length = int(dut.event_length.value)
                octets = int(dut.event_header.value).to_bytes(84, "little")
                frame = understood((octets + bytes(length))[:length])
                frame.length = length
                self.comes(frame, length, int(dut.event_queue.value), dut.event_kept.value == 1)
            if dut.event_leaves.value == 1:
                self.leaves()


CP = port_base(2) + 0x1000


async def compared(
    dut: Any, number: int, searches: int, set_point: int, rate: int, before: int = 0
) -> Reference:
    """Frames of two ports for a third one; what their sources are told.

    `before`: so many stand in the queue when its congestion point begins, and one has just left.
    """
    bench = Bench(dut, number)
    await bench.begin(capacity=CAPACITY, gain=0 if before else rate * 8_000)
    if before:  # units are theirs until the clear; a set point that nobody reaches
        silent = {"set_point": 1 << 29, "sampling": BY_OCCUPANCY, "units": UNITS}
        await bench.windows.set(CP, QCN_CP, **silent)
        await bench.windows.control(CP, ENABLE | CLEAR)
    for each in range(before + 1 if before else 0):  # the first one leaves at once
        await bench.send(0, bench.frame(0, 2, 1000 + each))
    if before:
        await bench.quiet()
    settings = {"set_point": set_point, "weight": 2, "seed": SEED, "jitter_on": 1}
    settings |= {"sampling": BY_OCCUPANCY, "searches": searches, "units": UNITS}
    scaled = {f"interval_{k}": octets // 150 for k, octets in enumerate(SAMPLE_INTERVALS)}
    await bench.windows.set(CP, QCN_CP, **settings, units_seed=UNITS_SEED, **scaled)
    await bench.windows.control(CP, ENABLE | CLEAR)
    reference = Reference(searches, set_point)
    reference.unknown = before
    cocotb.start_soon(reference.follow(dut))
    await bench.windows.set(port_base(2), SWITCH_PORT, gain=rate * 8_000)
    for each in range(60):
        for port in (0, 1):
            await bench.send(port, bench.frame(port, 2, each))
    await bench.quiet(3000)
    told = {port: [understood(o) for o in bench.received[port]] for port in (0, 1)}
    assert all(one.kind == CNM for ones in told.values() for one in ones)
    for port, ones in told.items():
        found = [tuple(int(one[name]) for name in TOLD) for one in ones]
        assert found == [one for one in reference.wanted if one[0] == port]
    assert await bench.windows.get(CP, QCN_CP, "messages") == len(reference.wanted)
    assert await bench.windows.get(CP, QCN_CP, "units_random") == int(reference.queue.lfsr)
    lost = await bench.windows.get(port_base(2), SWITCH_PORT, "frames_lost")
    assert len(bench.received[2]) + lost == len(bench.sent[0]) + len(bench.sent[1])
    assert reference.standing == []
    return reference


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_frame_of_a_queue_that_is_full_is_drawn(dut: Any) -> None:
    found = await compared(dut, cocotb.RANDOM_SEED, 0, 2_000, 2 * 10**9)
    assert found.strangers >= 15
    assert found.largest >= 15


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def events_wait_while_a_queue_that_is_nearly_empty_is_searched(dut: Any) -> None:
    """None is lost and none overtakes another, while the bus and the port are held."""
    found = await compared(dut, cocotb.RANDOM_SEED + 1, 0, 64, 10**12)
    assert found.held >= 1
    assert len(found.wanted) >= 15


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def after_some_searches_units_are_looked_through(dut: Any) -> None:
    found = await compared(dut, cocotb.RANDOM_SEED + 2, 2, 1_000, 2 * 10**9)
    assert found.strangers >= 15


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_that_stood_there_before_are_not_drawn(dut: Any) -> None:
    found = await compared(dut, cocotb.RANDOM_SEED + 3, 0, 1_000, 10**9, before=12)
    assert found.unknown == 0
    assert found.strangers >= 15
