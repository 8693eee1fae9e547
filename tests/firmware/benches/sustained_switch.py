"""qcn_switch.v: a word in every clock of a frame, from end to end."""

from __future__ import annotations

from typing import Any

import cocotb

from tests.firmware.benches.streams import assert_word_per_clock, free
from tests.firmware.benches.switch import Bench

IDLE = 6
"""Clocks between two frames at a port, at most: lookup and queue take them one by one."""


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def words_pass_one_per_clock(dut: Any) -> None:
    """Through input, bus, lookup, queue and output: a frame is never held up within."""
    bench = Bench(dut, cocotb.RANDOM_SEED + 3)
    await bench.begin()
    for end in (*bench.sources, *bench.sinks):
        free(end)
    octets = len(dut.m1_tdata) // 8
    for number in range(12):
        await bench.send(0, bench.frame(0, 1, number))
    await bench.quiet(300)
    assert bench.received[1] == bench.sent[0]
    # a queue of whole frames: one longer than that before it is not yet there when that has left
    assert_word_per_clock(bench.frames[1], octets, idle=700 // octets)

    bench.sinks[1].pause = True
    for number in range(12):
        await bench.send(0, bench.frame(0, 1, number))
    await bench.quiet(300)
    bench.sinks[1].pause = False
    await bench.quiet(300)
    assert bench.received[1] == bench.sent[0]
    # one frame had come as far as the output
    assert_word_per_clock(bench.frames[1][13:], octets, IDLE)
