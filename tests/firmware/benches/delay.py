"""delay_line.v: every frame leaves `delay` after it came, whole and in order, or is counted."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotb.utils import get_sim_time

from tests.firmware.benches.clocking import drive, start
from tests.firmware.benches.streams import free, random_frame, sink, source

CLOCK_PS = 8000
FALL_THROUGH = 6
"""Clocks at most from a frame's last word to its first word out, on top of the delay."""


async def run_clock(dut: Any) -> None:
    """`now` in ps, one period per clock."""
    now = 0
    while True:
        await FallingEdge(dut.clk)
        now += CLOCK_PS
        dut.now.value = now


async def note_ends(dut: Any, ends: list[int]) -> None:
    """When (ps) the last word of each frame goes in: the rising edge after this falling one."""
    while True:
        await FallingEdge(dut.clk)
        if dut.s_tvalid.value == 1 and dut.s_tready.value == 1 and dut.s_tlast.value == 1:
            ends.append(int(get_sim_time("ps")) + CLOCK_PS // 2)


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def the_delay_is_exact(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    sender, receiver = source(dut, rng), sink(dut, rng)
    free(receiver)
    await start(dut, now=0, delay=0)
    cocotb.start_soon(run_clock(dut))
    ends: list[int] = []
    cocotb.start_soon(note_ends(dut, ends))
    for delay in (0, 1_000_000, rng.randrange(5_000_000)):
        drive(dut, delay=delay)
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        for _ in range(20):
            frame = random_frame(rng, 0, longest=200)
            await sender.send(frame)
            await sender.wait()
            received = await receiver.recv()
            assert received.tdata == frame.tdata
            took = int(received.sim_time_start) - ends[-1]
            assert delay <= took <= delay + FALL_THROUGH * CLOCK_PS, (delay, took)


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def many_frames_on_the_way_keep_their_order(dut: Any) -> None:
    """Also while the delay changes; what did not fit is counted, nothing else is missing."""
    rng = random.Random(cocotb.RANDOM_SEED)
    sender, receiver = source(dut, rng), sink(dut, rng)
    await start(dut, now=0, delay=3_000_000)
    cocotb.start_soon(run_clock(dut))
    frames = [random_frame(rng, 0, longest=300) for _ in range(300)]
    for frame in frames:
        await sender.send(frame)
    received = []
    for _ in range(60_000):
        if rng.random() < 0.001:
            drive(dut, delay=rng.choice((0, 100_000, 3_000_000, 6_000_000)))
        await FallingEdge(dut.clk)
        while not receiver.empty():
            received.append(bytes(receiver.recv_nowait().tdata))
        if sender.idle() and len(received) + int(dut.dropped.value) == len(frames):
            break
    assert len(received) + int(dut.dropped.value) == len(frames)
    sent = iter(bytes(frame.tdata) for frame in frames)
    assert all(frame in sent for frame in received), "a frame out of order or damaged"
    assert int(dut.octets.value) == 0
    assert int(dut.dropped.value) >= 5
    assert len(received) >= 20
