"""cnm_parse.v against `decode` of engine.frames, amid other frames and damaged messages."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge

from orchestrator.engine.frames import decode
from orchestrator.engine.frames.address_index import mac_of
from orchestrator.engine.frames.frame_codec import sampled_length
from orchestrator.engine.records import CNM, DATA, PAUSE
from tests.firmware.benches.clocking import start
from tests.firmware.benches.streams import descriptor, watch, written


def random_message(rng: Any) -> bytes:
    """A message about a frame of ours."""
    sampled = rng.randrange(70, 3000)
    return written(
        descriptor(
            kind=CNM,
            length=int(sampled_length(sampled)),
            priority=rng.randrange(8),
            source=rng.randrange(1 << 24),
            destination=rng.randrange(1 << 24),
            inner=rng.randrange(1 << 24),
            mark=sampled,
            flow=rng.randrange(1 << 31),
            feedback=rng.randrange(64),
            offset=rng.randrange(-(1 << 21), 1 << 21),
            delta=rng.randrange(-(1 << 21), 1 << 21),
        )
    )


def random_octets(rng: Any) -> bytes:
    """A message, most often; a damaged one; another frame."""
    choice = rng.randrange(6)
    if choice == 0:
        common = {"source": rng.randrange(1 << 24), "destination": rng.randrange(1 << 24)}
        return written(descriptor(kind=DATA, length=rng.randrange(70, 1500), **common))
    if choice == 1:
        return written(descriptor(kind=PAUSE, length=60, source=3, feedback=rng.randrange(65536)))
    octets = bytearray(random_message(rng))
    if choice == 2:  # the type, the version, or the reserved bits
        octets[rng.choice((12, 13, 16, 17, 18))] ^= 1 << rng.randrange(8)
    if choice == 3:
        return bytes(octets[: rng.randrange(40, 62)])
    return bytes(octets)


def by_codec(octets: bytes) -> tuple[int, ...] | None:
    """What the codec reads in a message; None when the frame is none."""
    frame = descriptor()
    if int(decode(np.frombuffer(octets, np.uint8), len(octets), frame)) != CNM:
        return None
    macs = (int(mac_of(int(i))) for i in (frame.destination, frame.source, frame.inner))
    numbers = (frame.priority, frame.feedback, frame.offset, frame.delta, frame.mark)
    return (*macs, *(int(number) for number in numbers))


def by_module(dut: Any) -> tuple[int, ...]:
    """The message that the module shows."""
    macs = (int(port.value) for port in (dut.destination, dut.source, dut.inner))
    offset, delta = dut.offset.value.to_signed() * 64, dut.delta.value.to_signed() * 64
    priority, feedback = int(dut.priority_code.value), int(dut.feedback.value)
    return (*macs, priority, feedback, offset, delta, int(dut.msdu_length.value) + 16)


async def listen(dut: Any, received: list[Any]) -> None:
    while True:
        await FallingEdge(dut.clk)
        if dut.message_valid.value == 1:
            flow = int(dut.flow.value) if dut.has_flow.value == 1 else None
            received.append((by_module(dut), int(dut.cpid.value), flow))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def messages_are_read_as_by_the_codec(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, tvalid=0, tlast=0)
    received: list[Any] = []
    cocotb.start_soon(listen(dut, received))
    frames = [random_octets(rng) for _ in range(300)]
    expected = []
    for number, octets in enumerate(frames):
        await watch(dut, rng, octets, gaps=(0, 0.5)[number // 20 % 2])
        if (read := by_codec(octets)) is not None:
            expected.append((read, int.from_bytes(octets[20:28], "big"), None))
    for _ in range(5):
        await FallingEdge(dut.clk)
    assert received == expected
    assert 60 < len(expected) < 290


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def other_tags_are_understood(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, tvalid=0, tlast=0)
    received: list[Any] = []
    cocotb.start_soon(listen(dut, received))
    whole = random_message(rng)
    tagless = whole[:12] + whole[16:]
    flow = bytes.fromhex("22e9 abcd")
    for octets in (tagless, whole[:12] + flow + whole[16:], whole[:16] + flow + whole[16:]):
        await watch(dut, rng, octets, gaps=0.2)
    for _ in range(5):
        await FallingEdge(dut.clk)
    assert [flow for _, _, flow in received] == [None, 0xABCD, 0xABCD]
    assert {fields for fields, _, _ in received} == {by_codec(whole)}
