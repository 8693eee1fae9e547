"""One word per clock: what is offered is taken in every clock, what leaves stands still nowhere.

Held for modules that pass a stream on (ports s_ and m_) and for those that make frames (m_ alone).
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamFrame

from tests.firmware.benches.clocking import drive, start
from tests.firmware.benches.delay import CLOCK_PS, run_clock
from tests.firmware.benches.streams import assert_word_per_clock, free, sink, source

FRAMES = 24
SETTINGS = {
    "now": 0,
    "delay": 0,
    "capacity": 1 << 20,
    "stamp": 0,
    "open": 1,
    "user": 0,
    "clear": 0,
    "source_mac": 0x02_54_42_00_00_01,
    "cpid": 1,
    "header": 0,
    "feedback": 9,
    "offset": 640,
    "delta": -640,
    "request_pfc": 1,
    "request_classes": 255,
    "request_quanta": 77,
    "request_valid": 0,
    "enable": 0,
    "whole": 0,  # a frame is due before the one ahead of it has left
    "rest": 0,
    "rate": 1,
    "source": 1,
    "destination": 2,
    "priority_code": 3,
    "flow": 4,
    "ecn": 0,
}
"""Inputs that these modules have beside a stream's; each takes those that it knows."""


def settings(dut: Any, **more: int) -> dict[str, int]:
    """The settings that this module has."""
    return {name: value for name, value in (SETTINGS | more).items() if hasattr(dut, name)}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def no_clock_is_idle(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    octets = len(dut.m_tdata) // 8
    if hasattr(dut, "s_tdata"):
        await passed(dut, rng, octets)
    else:
        await made(dut, rng, octets)


async def passed(dut: Any, rng: random.Random, octets: int) -> None:
    """Frames back to back, the shortest of one word."""
    sender, receiver = source(dut, rng), sink(dut, rng)
    free(sender)
    free(receiver)
    await start(dut, **settings(dut))
    if hasattr(dut, "now"):
        cocotb.start_soon(run_clock(dut))
    lengths = [rng.choice((octets, 60, 64, rng.randrange(1, 9 * octets))) for _ in range(FRAMES)]
    lengths += [1] * FRAMES
    frames = [AxiStreamFrame(rng.randbytes(length)) for length in lengths]
    words = [-(-length // octets) for length in lengths]
    for frame in frames:
        sender.send_nowait(frame)
    offered = taken = 0
    while taken < sum(words):
        await FallingEdge(dut.clk)
        offered += int(dut.s_tvalid.value)
        taken += int(dut.s_tvalid.value) and int(dut.s_tready.value)
        assert offered == taken, f"{offered - taken} of {offered} words were held up"
    received = [await receiver.recv() for _ in frames]
    assert [bytes(frame.tdata) for frame in received] == [bytes(f.tdata) for f in frames]
    # what keeps whole frames lets one go while the next, which may be longer, comes in
    assert_word_per_clock(received, octets, idle=max(words))
    clocks = (received[-1].sim_time_end - received[0].sim_time_start) // CLOCK_PS + 1
    assert clocks <= sum(words) + max(words), f"{sum(words)} words took {clocks} clocks"


async def made(dut: Any, rng: random.Random, octets: int) -> None:
    """Frames that are asked for without a pause: one clock between two for the next request."""
    receiver = sink(dut, rng)
    free(receiver)
    length = rng.randrange(70, 700)
    await start(dut, **settings(dut, length=length))
    if hasattr(dut, "now"):
        cocotb.start_soon(run_clock(dut))
    for _ in range(4):  # a header's checksum takes its time
        await FallingEdge(dut.clk)
    drive(dut, **{name: 1 for name in ("request_valid", "enable") if hasattr(dut, name)})
    frames = [await receiver.recv() for _ in range(FRAMES)]
    assert_word_per_clock(frames, octets, idle=1)
