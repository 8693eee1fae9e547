"""pause_timer.v against `quanta_time`: each class is silent exactly until its time is over."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.engine.node_api import QUANTUM_PS, quanta_time
from tests.firmware.benches.clocking import drive, start
from tests.firmware.benches.pause_frames import packed

RATES = (125_000, 10**6, 10**9, 10**10, 25 * 10**9, 2**21 * 5**6, 10**11, 4 * 10**11)
"""The lowest gives a quantum of nearly all the bits that there are, one of them an odd quantum."""


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def classes_are_silent_for_their_quanta(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    await start(dut, now=0, quantum=0, pause_valid=0, classes=0, quanta=0, hold_valid=0, hold=0)
    now, ends = 0, [0] * 8
    for turn in range(40):
        rate = rng.choice(RATES)
        # later and later, until the time has all of its bits
        now = max(now, (1 << 22 + turn) - rng.randrange(20 * QUANTUM_PS // rate))
        assert QUANTUM_PS % rate == 0
        drive(dut, quantum=QUANTUM_PS // rate)
        for _ in range(5):
            now += rng.randrange(1, 20 * QUANTUM_PS // rate)
            classes = rng.randrange(256)
            quanta = [rng.choice((0, 1, 0xFFFF, rng.randrange(40))) for _ in range(8)]
            drive(dut, now=now, pause_valid=1, classes=classes, quanta=packed(quanta))
            await FallingEdge(dut.clk)
            drive(dut, pause_valid=0)
            for n, time in enumerate(quanta):
                if classes >> n & 1:
                    ends[n] = now + int(quanta_time(time, rate))
            for later in (now, *(end + extra for end in ends for extra in (-1, 0))):
                if later < now:
                    continue
                drive(dut, now=later)
                for _ in range(3):
                    await FallingEdge(dut.clk)
                silent = sum((later < end) << n for n, end in enumerate(ends))
                assert int(dut.paused.value) == silent


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_host_holds_until_it_says_or_a_frame_says(dut: Any) -> None:
    quantum = QUANTUM_PS // 10**10
    values = {"now": 10**9, "quantum": quantum, "classes": 0xFF, "quanta": packed([2] * 8)}
    await start(dut, **values, pause_valid=0, hold_valid=0, hold=0)
    await said(dut, "hold_valid", hold=1)
    drive(dut, now=10**15)
    await FallingEdge(dut.clk)
    assert int(dut.paused.value) == 0xFF  # however long it takes
    await said(dut, "hold_valid", hold=0)
    assert int(dut.paused.value) == 0
    await said(dut, "hold_valid", hold=1)
    await said(dut, "pause_valid")
    assert int(dut.paused.value) == 0xFF
    drive(dut, now=10**15 + 2 * quantum)
    await FallingEdge(dut.clk)
    assert int(dut.paused.value) == 0  # the frame has taken the place of the host's word


async def said(dut: Any, valid: str, **values: int) -> None:
    """One clock of `valid`, then those until it acts."""
    drive(dut, **{valid: 1}, **values)
    await FallingEdge(dut.clk)
    drive(dut, **{valid: 0})
    for _ in range(3):
        await FallingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_ends_every_pause_and_takes_none(dut: Any) -> None:
    values = {"now": 10**9, "quantum": 51_200, "classes": 0xFF, "quanta": packed([9] * 8)}
    await start(dut, **values, pause_valid=0, hold_valid=0, hold=0)
    await said(dut, "pause_valid")
    assert int(dut.paused.value) == 0xFF
    drive(dut, rst=1, pause_valid=1)
    for _ in range(3):
        await FallingEdge(dut.clk)
        assert int(dut.paused.value) == 0
    drive(dut, rst=0, pause_valid=0)
    for _ in range(3):
        await FallingEdge(dut.clk)
        assert int(dut.paused.value) == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_hold_is_for_all_times(dut: Any) -> None:
    await start(dut, now=0, quantum=51_200, pause_valid=0, hold_valid=0, hold=0)
    for now in (0, (1 << 62) - 2):
        drive(dut, now=now)
        await said(dut, "hold_valid", hold=1)
        assert int(dut.paused.value) == 0xFF
        await said(dut, "hold_valid", hold=0)
        assert int(dut.paused.value) == 0
