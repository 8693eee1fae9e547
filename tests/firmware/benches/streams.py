"""Frames into and out of AXI-Stream ports, with idle and backpressure at random."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from orchestrator.engine.frames import encode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors


def pauses(rng: Any) -> Iterator[bool]:
    """Whether a side pauses, clock by clock: stretches without pauses, with some, with many."""
    for share in itertools.cycle((0.0, 0.2, 0.8)):
        for _ in range(rng.randrange(1, 120)):
            yield rng.random() < share


def source(dut: Any, rng: Any, prefix: str = "s") -> AxiStreamSource:
    """Sends frames into a port, with random idle."""
    made = AxiStreamSource(AxiStreamBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    made.set_pause_generator(pauses(rng))
    made.log.setLevel("WARNING")
    return made


def sink(dut: Any, rng: Any, prefix: str = "m") -> AxiStreamSink:
    """Takes frames from a port, with random backpressure."""
    made = AxiStreamSink(AxiStreamBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    made.set_pause_generator(pauses(rng))
    made.log.setLevel("WARNING")
    return made


def free(port: AxiStreamSource | AxiStreamSink) -> None:
    """No pauses from now on. Ending the generator alone leaves the port as it last said."""
    port.clear_pause_generator()
    port.pause = False


def assert_word_per_clock(frames: list[AxiStreamFrame], octets: int, idle: int) -> None:
    """Frames taken without backpressure stood still nowhere, with `idle` clocks between at most.

    `octets` are those of a word; clocks are of 8 ns.
    """
    for frame in frames:
        clocks = (frame.sim_time_end - frame.sim_time_start) // 8000 + 1
        assert clocks == -(-len(frame.tdata) // octets), (clocks, len(frame.tdata))
    between = [
        (after.sim_time_start - before.sim_time_end) // 8000 - 1
        for before, after in itertools.pairwise(frames)
    ]
    assert max(between) <= idle, between


def users(frame: AxiStreamFrame) -> set[int]:
    """The values of tuser in a frame."""
    return set(frame.tuser) if isinstance(frame.tuser, list) else {frame.tuser}


def random_frame(rng: Any, tuser: int, longest: int = 600) -> AxiStreamFrame:
    """A frame of any length from one octet on, with its own tuser."""
    length = rng.choice((1, 60, 64, rng.randrange(1, 40), rng.randrange(1, longest)))
    return AxiStreamFrame(rng.randbytes(length), tuser=tuser)


async def watch(dut: Any, rng: Any, octets: bytes, gaps: float) -> None:
    """Show a frame to a module that only watches, its words `gaps` apart at random."""
    width = len(dut.tdata) // 8
    for place in range(0, len(octets), width):
        part = octets[place : place + width]
        while rng.random() < gaps:
            dut.tvalid.value = 0
            await FallingEdge(dut.clk)
        filler = rng.randbytes(width - len(part))  # octets that tkeep excludes mean nothing
        dut.tdata.value = int.from_bytes(part + filler, "little")
        dut.tkeep.value = (1 << len(part)) - 1
        dut.tlast.value = place + width >= len(octets)
        dut.tvalid.value = 1
        await FallingEdge(dut.clk)
    dut.tvalid.value = 0


def descriptor(**fields: int) -> Any:
    """A frame descriptor of the core."""
    frame = empty_descriptors(1)
    for name, value in fields.items():
        frame[name] = value
    return frame[0]


def written(frame: Any) -> bytes:
    """The whole frame that a descriptor stands for, as orchestrator.engine.frames writes it."""
    octets = np.zeros(max(int(frame.length), 128), np.uint8)
    assert encode(frame, octets) > 0
    return octets[: int(frame.length)].tobytes()
