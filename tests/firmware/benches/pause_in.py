"""pause_parse.v: the PAUSE and PFC frames among others, with their classes and times."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from tests.firmware.benches.clocking import start
from tests.firmware.benches.pause_frames import packed, pause_frame, pfc_frame
from tests.firmware.benches.streams import watch

Received = tuple[int, int, int, int]


async def listen(dut: Any, received: list[Received]) -> None:
    ports = (dut.pfc, dut.source, dut.classes, dut.quanta)
    while True:
        await FallingEdge(dut.clk)
        if dut.pause_valid.value == 1:
            pfc, source, classes, quanta = (int(port.value) for port in ports)
            received.append((pfc, source, classes, quanta))


def random_octets(rng: Any) -> tuple[bytes, Received | None]:
    """A frame and what is to be received of it; None when it is neither PAUSE nor PFC."""
    source = rng.randbytes(6)
    classes = rng.randrange(256)
    quanta = [rng.randrange(1 << 16) for _ in range(8)]
    mac = int.from_bytes(source, "big")
    if rng.random() < 0.5:
        octets = pfc_frame(source, classes, quanta)
        received = (1, mac, classes, packed(quanta))
    else:
        octets = pause_frame(source, quanta[0])
        received = (0, mac, 0xFF, packed(quanta[:1] * 8))
    choice = rng.randrange(6)
    if choice == 0:  # another address, another type, another opcode
        place = rng.choice((*range(6), 12, 13, 14, 15))
        damaged = bytearray(octets)
        damaged[place] ^= 2 << rng.randrange(7)  # bit 0 would make PFC of an opcode and back
        return bytes(damaged), None
    if choice == 1:
        return octets[: rng.randrange(17, 60)], None
    if choice == 2:
        return octets + rng.randbytes(rng.randrange(1, 40)), received
    return octets, received


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_are_read(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, tvalid=0, tlast=0)
    received: list[Received] = []
    cocotb.start_soon(listen(dut, received))
    expected = []
    for number in range(200):
        octets, told = random_octets(rng)
        await watch(dut, rng, octets, gaps=(0, 0.5)[number // 20 % 2])
        if told is not None:
            expected.append(told)
    for _ in range(5):
        await FallingEdge(dut.clk)
    assert received == expected
    assert 50 < len(expected) < 190
