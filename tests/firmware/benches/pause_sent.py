"""pause_control.v against the kernels of plugins.pause, event by event."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from orchestrator.engine.node_api import QUANTUM_PS
from orchestrator.engine.records import NEVER
from plugins.pause import PAUSE
from tests.firmware.benches.clocking import drive, rarely_round, start
from tests.plugins.kernel_driver import KernelDriver

RATES = (125_000, 10**9, 10**10, 25 * 10**9, 2**21 * 5**6, 10**11, 4 * 10**11)
"""The lowest has a quantum of nearly all the bits that there are, one an odd quantum."""


class Driver(KernelDriver):
    """PAUSE has no random source."""

    def restart(self, params: dict[str, int], rate: int) -> None:
        self.written[:] = 0
        for name, value in params.items():
            self.params[name] = value
        self.entity["pause_rate"], self.entity["pause_timer"] = rate, NEVER


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_event_equals_the_kernels(dut: Any) -> None:
    rng = random.Random(cocotb.RANDOM_SEED)
    kernel, counts = Driver(PAUSE), Counter[str]()
    await start(dut, now=0, event_valid=0, pause_ready=1)
    for turn in range(40):
        rate = RATES[turn % len(RATES)]
        high = rarely_round(rng, 30, 1) if rng.random() < 0.3 else rng.randrange(1, 200_000)
        params = {"high": high, "low": rng.randrange(high), "quanta": rarely_round(rng, 16)}
        if turn < len(RATES):  # all bits of the bound and of the time
            high = (1 << 30) - 1 - rng.randrange(1000)
            params |= {"high": high, "quanta": 0xFFFF}
        drive(dut, rst=1, quantum=QUANTUM_PS // rate, **params)
        kernel.restart(params, rate)
        for _ in range(3):
            await FallingEdge(dut.clk)
        assert dut.event_ready.value == 0
        drive(dut, rst=0)
        now = rng.choice((0, rng.randrange(1 << 61)))
        for _ in range(60):
            due = int(kernel.entity["pause_timer"][0])
            length = int(params["quanta"]) * QUANTUM_PS // rate
            now = min(now + rng.randrange(1, length // 3 + 2), due)
            # the due time itself belongs to the refresh
            event = "timer" if now == due else rng.choice(("enqueue", "dequeue"))
            queue = rng.choice((high, high + 1, params["low"], rng.randrange(2 * high)))
            queue = rng.choice((queue, max(params["low"] - 1, 0)))
            kernel.entity["bytes"] = queue
            asked = kernel.call(event, now)
            if event == "timer":  # not a ps before
                drive(dut, now=now - 1)
                await FallingEdge(dut.clk)
                assert dut.pause_valid.value == 0
            drive(
                dut,
                now=now,
                event_valid=int(event != "timer"),
                event_in=int(event == "enqueue"),
                event_queue=queue,
                event_now=now,
            )
            await FallingEdge(dut.clk)
            drive(dut, event_valid=0)
            assert dut.event_ready.value == 1
            assert int(dut.pause_valid.value) == asked, (event, queue, params)
            if asked:
                assert int(dut.pause_quanta.value) == int(kernel.message["feedback"][0])
                counts[event] += 1
            assert int(dut.stopped.value) == int(kernel.state["stopped"][0])
            timer = int(dut.timer.value) if dut.timer_set.value == 1 else NEVER
            assert timer == int(kernel.entity["pause_timer"][0])
    dut._log.info("%s", dict(counts))
    assert min(counts[event] for event in ("enqueue", "dequeue", "timer")) >= 20


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def an_untaken_pause_says_the_newest(dut: Any) -> None:
    await start(dut, now=0, event_valid=0, pause_ready=0, high=10, low=5, quanta=7, quantum=100)
    for queue, went_in in ((11, 1), (4, 0)):
        drive(dut, event_valid=1, event_in=went_in, event_queue=queue, event_now=0)
        await FallingEdge(dut.clk)
    drive(dut, event_valid=0)
    assert (dut.pause_valid.value, int(dut.pause_quanta.value)) == (1, 0)
    drive(dut, pause_ready=1)
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    assert dut.pause_valid.value == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_refresh_waits_for_an_event_and_a_pause_to_be_taken(dut: Any) -> None:
    values = {"high": 10, "low": 5, "quanta": 8, "quantum": 100, "event_queue": 11}
    await start(dut, now=0, event_valid=0, pause_ready=0, **values)
    for _ in range(4):
        await FallingEdge(dut.clk)
        assert dut.pause_valid.value == 0
    drive(dut, event_valid=1, event_in=1, event_now=0)
    await FallingEdge(dut.clk)
    drive(dut, event_valid=0)
    for _ in range(4):
        assert (dut.pause_valid.value, int(dut.pause_quanta.value)) == (1, 8)
        await FallingEdge(dut.clk)
    drive(dut, pause_ready=1)
    await FallingEdge(dut.clk)
    assert dut.pause_valid.value == 0
    drive(dut, now=400, event_valid=1, event_now=400)  # due, but a frame comes in this clock
    await FallingEdge(dut.clk)
    assert (dut.pause_valid.value, int(dut.timer.value)) == (0, 400)
    drive(dut, event_valid=0)
    await FallingEdge(dut.clk)
    assert (dut.pause_valid.value, int(dut.timer.value)) == (1, 800)
