"""axis_slice.v: what goes in comes out, in order, at one word per clock when nothing pauses."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiStreamFrame

from tests.firmware.benches.clocking import start
from tests.firmware.benches.streams import free, random_frame, sink, source


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_pass_unchanged(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    sender, receiver = source(dut, rng), sink(dut, rng)
    await start(dut)
    frames = [random_frame(rng, tuser=rng.randrange(2)) for _ in range(200)]
    for frame in frames:
        await sender.send(frame)
    for frame in frames:
        received = await receiver.recv()
        assert received.tdata == frame.tdata
        assert set(received.tuser if isinstance(received.tuser, list) else [received.tuser]) == {
            frame.tuser
        }
    assert receiver.empty()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def one_word_per_clock(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    sender, receiver = source(dut, rng), sink(dut, rng)
    free(sender)
    free(receiver)
    await start(dut)
    octets = rng.randbytes(100 * len(dut.s_tdata) // 8)
    await sender.send(AxiStreamFrame(octets))
    received = await receiver.recv()
    assert received.tdata == octets
    clocks = (received.sim_time_end - received.sim_time_start) / 8000
    assert clocks <= 100, f"100 words took {clocks} clocks, at {get_sim_time('ns')} ns"
