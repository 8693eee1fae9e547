"""frame_header.v: first octets and length of frames of every length, back to back and apart."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from tests.firmware.benches.clocking import start
from tests.firmware.benches.streams import watch


async def listen(dut: Any, received: list[tuple[bytes, int]]) -> None:
    """Note down every frame that the module tells of."""
    size = len(dut.header) // 8
    while True:
        await FallingEdge(dut.clk)
        if dut.frame_done.value == 1:
            octets = int(dut.header.value).to_bytes(size, "little")
            received.append((octets, int(dut.length.value)))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def headers_and_lengths(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, tvalid=0, tlast=0)
    received: list[tuple[bytes, int]] = []
    cocotb.start_soon(listen(dut, received))
    size = len(dut.header) // 8
    lengths = [*range(1, 150), *(rng.randrange(1, 1600) for _ in range(60)), 9000]
    rng.shuffle(lengths)
    frames = [rng.randbytes(length) for length in lengths]
    for number, frame in enumerate(frames):
        await watch(dut, rng, frame, gaps=(0, 0.5)[number // 20 % 2])
    for _ in range(4):
        await FallingEdge(dut.clk)
    assert received == [(frame[:size].ljust(size, b"\0"), len(frame)) for frame in frames]
