"""qcn_nic.v: a word in every clock of a frame, of the host's and of its own, out and in."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotbext.axi import AxiStreamFrame

from orchestrator.engine.records import DATA
from tests.firmware.benches.nic import Bench
from tests.firmware.benches.streams import assert_word_per_clock, descriptor, free, written

IDLE = 24
"""Clocks between two frames that wait, at most: the transmitter charges a bucket for each."""


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def words_pass_one_per_clock(dut: Any) -> None:
    """The host's frames and made ones leave without a pause within, a bucket's charge between."""
    bench = Bench(dut, cocotb.RANDOM_SEED + 4)
    await bench.begin()
    free(bench.host_in)
    free(bench.wire_out)
    await bench.flow(0, 300_000_000, 300, on=1)
    host = [
        written(descriptor(kind=DATA, length=length, source=3, destination=30, sequence=length))
        for length in (70, 128, 129, 500, 71, 127, 256, 499)
    ]
    free(bench.wire_in)
    free(bench.host_out)
    inbound = [bench.rng.randbytes(bench.rng.randrange(1, 400)) for _ in range(20)]
    for octets in host:
        await bench.host_in.send(AxiStreamFrame(octets))
    for octets in inbound:
        await bench.wire_in.send(AxiStreamFrame(octets))
    await bench.wait(1_500)
    received = [bench.host_out.recv_nowait() for _ in inbound]
    assert [bytes(frame.tdata) for frame in received] == inbound
    assert_word_per_clock(received, len(dut.m_tdata) // 8, idle=0)
    assert [octets for _, octets in bench.out if octets[11] == 3] == host
    assert len(bench.of(0)) >= 1
    first = [frame for frame in bench.frames if frame.tdata[11] == 3]
    assert_word_per_clock(bench.frames, len(dut.m_tdata) // 8, 1_500)
    begin, end = bench.frames.index(first[0]), bench.frames.index(first[-1])
    assert_word_per_clock(bench.frames[begin : end + 1], len(dut.m_tdata) // 8, IDLE)
