"""frame_fifo.v: whole frames in order, dropped whole, with the queue's octets at every event; what
descriptors say, of frames that have left as well."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame

from tests.firmware.benches.clocking import drive, parameter, start
from tests.firmware.benches.streams import free, random_frame, sink, source, users


class Queue:
    """What the events say, held against a queue that is counted here."""

    def __init__(self, dut: Any, frames: list[AxiStreamFrame], capacity: int) -> None:
        self.dut, self.capacity = dut, capacity
        self.rng = random.Random(capacity)
        self.descriptors: list[tuple[int, int]] = []
        """Of every frame that was kept: length and stamp."""
        self.left: list[int] = []
        """How many were kept when a frame left."""
        self.late = 0
        """Descriptors that were read of frames that had left."""
        self.coming = deque(frames)
        self.waiting: deque[int] = deque()
        self.kept: list[AxiStreamFrame] = []
        self.dropped, self.octets = 0, 0
        self.short_of_memory = 0

    def look(self) -> tuple[int, int] | None:
        """Have a descriptor read that may be; what it says a clock later."""
        kept, late = len(self.descriptors), parameter("LATE")
        first = next((n for n, at in enumerate(self.left) if kept - at <= late), len(self.left))
        if not late or first == kept:
            return None
        number = first if self.rng.random() < 0.5 else self.rng.randrange(first, kept)
        self.late += number < len(self.left)
        drive(self.dut, look_at=number % parameter("FRAMES"))
        return self.descriptors[number]

    async def follow(self) -> None:
        dut, stamp = self.dut, 0
        while True:
            looked = self.look()
            drive(dut, stamp=stamp)
            await FallingEdge(dut.clk)
            if looked is not None:
                assert (int(dut.look_length.value), int(dut.look_stamp.value)) == looked
            if dut.frame_valid.value == 1:
                frame = self.coming.popleft()
                length = len(frame.tdata)
                assert int(dut.frame_length.value) == length
                assert int(dut.frame_queue.value) == self.octets
                fits = self.octets + length <= self.capacity
                if dut.frame_kept.value == 1:
                    assert fits
                    self.waiting.append(length)
                    self.descriptors.append((length, stamp))
                    self.kept.append(frame)
                    self.octets += length
                else:
                    self.dropped += 1
                    self.short_of_memory += fits
            if dut.leave_valid.value == 1:
                length = self.waiting.popleft()
                self.octets -= length
                self.left.append(len(self.descriptors))
                assert int(dut.leave_length.value) == length
                assert int(dut.leave_queue.value) == self.octets
            assert int(dut.octets.value) == self.octets
            stamp = self.rng.randrange(1 << parameter("STAMP_W"))


async def run(dut: Any, capacity: int, number: int, opening: float) -> Queue:
    """Send random frames, take all that come out; returns the queue that was followed."""
    rng = random.Random(cocotb.RANDOM_SEED + capacity)
    sender, receiver = source(dut, rng), sink(dut, rng)
    frames = [random_frame(rng, rng.randrange(2)) for _ in range(number)]
    await start(dut, capacity=capacity, stamp=0, open=0, look_at=0)
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
    assert queue.late >= 20 or not parameter("LATE")
    return queue


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_capacity_in_octets_drops_whole_frames(dut: Any) -> None:
    queue = await run(dut, capacity=2000, number=200, opening=0.05)
    assert queue.dropped >= 20
    assert len(queue.kept) >= 20
    assert queue.short_of_memory == 0 or parameter("LATE")  # few descriptors, used again and again


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
    await start(dut, capacity=1 << 20, stamp=0, open=1, look_at=0)
    frames = [AxiStreamFrame(rng.randbytes(rng.randrange(60, 300))) for _ in range(200)]
    words = sum(-(-len(frame.tdata) * 8 // len(dut.s_tdata)) for frame in frames)
    for frame in frames:
        await sender.send(frame)
    received = [await receiver.recv() for _ in frames]
    assert [bytes(f.tdata) for f in received] == [bytes(f.tdata) for f in frames]
    clocks = (received[-1].sim_time_end - received[0].sim_time_start) / 8000
    longest = max(-(-len(frame.tdata) * 8 // len(dut.s_tdata)) for frame in frames)
    assert clocks <= words + longest, f"{words} words took {clocks} clocks"
