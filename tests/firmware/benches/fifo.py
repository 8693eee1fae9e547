"""frame_fifo.v: whole frames in order, dropped whole, with the queue's octets at every event."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame

from tests.firmware.benches.clocking import drive, start
from tests.firmware.benches.streams import free, random_frame, sink, source, users


class Queue:
    """What the events say, held against a queue that is counted here."""

    def __init__(self, dut: Any, frames: list[AxiStreamFrame], capacity: int) -> None:
        self.dut, self.capacity = dut, capacity
        self.coming = deque(frames)
        self.waiting: deque[int] = deque()
        self.kept: list[AxiStreamFrame] = []
        self.dropped, self.octets, self.leaving = 0, 0, 0
        self.short_of_memory = 0

    async def follow(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            if dut.frame_valid.value == 1:
                frame = self.coming.popleft()
                length = len(frame.tdata)
                assert int(dut.frame_length.value) == length
                assert int(dut.frame_queue.value) == self.octets
                fits = self.octets + length <= self.capacity
                if dut.frame_kept.value == 1:
                    assert fits
                    self.waiting.append(length)
                    self.kept.append(frame)
                    self.octets += length
                else:
                    self.dropped += 1
                    self.short_of_memory += fits
            if dut.leave_valid.value == 1:
                length = self.waiting.popleft()
                self.octets -= length
                self.leaving += 1
                assert int(dut.leave_length.value) == length
                assert int(dut.leave_queue.value) == self.octets
            assert int(dut.octets.value) == self.octets


async def run(dut: Any, capacity: int, number: int, opening: float) -> Queue:
    """Send random frames, take all that come out; returns the queue that was followed."""
    rng = random.Random(cocotb.RANDOM_SEED + capacity)
    sender, receiver = source(dut, rng), sink(dut, rng)
    frames = [random_frame(rng, rng.randrange(2)) for _ in range(number)]
    await start(dut, capacity=capacity, stamp=0, open=0)
    queue = Queue(dut, frames, capacity)
    cocotb.start_soon(queue.follow())
    for frame in frames:
        await sender.send(frame)
    received: list[AxiStreamFrame] = []
    quiet = 0
    while quiet < 300:
        drive(dut, open=int(rng.random() < opening))
        await FallingEdge(dut.clk)
        quiet = 0 if queue.coming or queue.waiting or dut.m_tvalid.value == 1 else quiet + 1
        while not receiver.empty():
            received.append(receiver.recv_nowait())
    assert [bytes(frame.tdata) for frame in received] == [bytes(f.tdata) for f in queue.kept]
    assert [users(frame) for frame in received] == [users(frame) for frame in queue.kept]
    assert len(queue.kept) + queue.dropped == number
    return queue


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_capacity_in_octets_drops_whole_frames(dut: Any) -> None:
    queue = await run(dut, capacity=2000, number=200, opening=0.05)
    assert queue.dropped >= 20
    assert len(queue.kept) >= 20
    assert queue.short_of_memory == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_full_memory_drops_whole_frames(dut: Any) -> None:
    queue = await run(dut, capacity=1 << 20, number=400, opening=0.03)
    assert queue.short_of_memory >= 5
    assert len(queue.kept) >= 20


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_open_queue_loses_nothing(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    sender, receiver = source(dut, rng), sink(dut, rng)
    free(sender)
    free(receiver)
    await start(dut, capacity=1 << 20, stamp=0, open=1)
    frames = [AxiStreamFrame(rng.randbytes(rng.randrange(60, 300))) for _ in range(200)]
    words = sum(-(-len(frame.tdata) * 8 // len(dut.s_tdata)) for frame in frames)
    for frame in frames:
        await sender.send(frame)
    received = [await receiver.recv() for _ in frames]
    assert [bytes(f.tdata) for f in received] == [bytes(f.tdata) for f in frames]
    clocks = (received[-1].sim_time_end - received[0].sim_time_start) / 8000
    longest = max(-(-len(frame.tdata) * 8 // len(dut.s_tdata)) for frame in frames)
    assert clocks <= words + longest, f"{words} words took {clocks} clocks"
