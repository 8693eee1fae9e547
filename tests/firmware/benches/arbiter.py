"""axis_arbiter.v: two inputs with frames at hand leave in turn, a word per clock."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from tests.firmware.benches.clocking import start

FRAME = 3
"""Words of a frame."""


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def the_output_has_a_word_in_every_clock(dut: Any) -> None:
    width = len(dut.m_tdata)
    await start(dut, s_tvalid=0, s_tlast=0, s_tkeep=0, s_tdata=0, s_tuser=0, m_tready=1)
    sent, received = [0, 0], []
    for _ in range(303):
        dut.s_tvalid.value = 3
        dut.s_tdata.value = sent[1] << width | sent[0]
        dut.s_tlast.value = sum((sent[i] % FRAME == FRAME - 1) << i for i in (0, 1))
        await FallingEdge(dut.clk)
        ready = int(dut.s_tready.value)
        # what is ready now is taken at the next rising edge, with the values of this clock
        taken = [ready >> i & 1 for i in (0, 1)]
        if int(dut.m_tvalid.value):
            received.append((int(dut.m_source.value), int(dut.m_tdata.value)))
        await RisingEdge(dut.clk)
        sent = [number + one for number, one in zip(sent, taken, strict=True)]
    assert len(received) >= 300
    for origin in (0, 1):
        mine = [word for source, word in received if source == origin]
        assert mine == list(range(len(mine)))
    sources = [source for source, _ in received]
    assert all(
        len(set(sources[at : at + FRAME])) == 1 for at in range(0, len(sources) - FRAME, FRAME)
    )

    await RisingEdge(dut.clk)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def nothing_is_lost_when_the_output_waits(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, s_tvalid=0, s_tlast=0, s_tkeep=0, s_tdata=0, s_tuser=0, m_tready=0)
    width = len(dut.m_tdata)
    sent, received = [0, 0], []
    for _ in range(600):
        offered = rng.randrange(4) if rng.random() < 0.5 else 3
        offered |= sum((sent[i] % FRAME > 0) << i for i in (0, 1))  # a frame goes on once begun
        dut.s_tvalid.value = offered
        dut.s_tdata.value = sent[1] << width | sent[0]
        dut.s_tlast.value = sum((sent[i] % FRAME == FRAME - 1) << i for i in (0, 1))
        dut.m_tready.value = int(rng.random() < 0.5)
        await FallingEdge(dut.clk)
        taken = [int(dut.s_tready.value) & offered & 1 << i for i in (0, 1)]
        if int(dut.m_tvalid.value) and int(dut.m_tready.value):
            received.append((int(dut.m_source.value), int(dut.m_tdata.value)))
        await RisingEdge(dut.clk)
        sent = [number + bool(one) for number, one in zip(sent, taken, strict=True)]
    for origin in (0, 1):
        mine = [word for source, word in received if source == origin]
        assert mine == list(range(len(mine)))
        assert len(mine) >= sent[origin] - 3
        assert len(mine) > 50
