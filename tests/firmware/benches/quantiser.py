"""qcn_quantiser.v against the arithmetic of plugins.qcn_cp, driven as an unjittered sample."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from plugins.qcn_cp import QCN_CP
from tests.firmware.benches.clocking import drive, rarely_round, start, until
from tests.firmware.benches.drawn import examples
from tests.plugins.kernel_driver import KernelDriver

SEQUENCES, EVENTS = 50, 40
TOP = (1 << 32) - 1


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def feedback_equals_the_kernels(dut: Any) -> None:
    kernel = KernelDriver(QCN_CP)
    kernel.params["sample_base"] = 1
    seen = set()
    quiet = {"start": 0, "queue_bytes": 0, "old": 0, "set_point": 1, "weight": 0}
    await start(dut, **quiet)

    async def sample(rng: random.Random) -> None:
        set_point, weight = rarely_round(rng, 30, 1), rarely_round(rng, 7)
        queue, old = rarely_round(rng, 32), rarely_round(rng, 32)
        if rng.random() < 0.7:  # between no feedback and the greatest, where it takes every value
            wanted = rng.randrange(set_point * (2 * weight + 1) + 1)
            delta = rng.randrange(-set_point, set_point + 1)
            queue = min(max(set_point + wanted - weight * delta, 0), TOP)
            old = min(max(queue - delta, 0), TOP)
        kernel.params["set_point"], kernel.params["weight"] = set_point, weight
        kernel.state["old"], kernel.state["countdown"], kernel.state["started"] = old, 0, 1
        kernel.frame["length"] = 60
        kernel.entity["bytes"], kernel.entity["capacity"] = queue, 1 << 40
        kernel.call("arrival", 0)
        drive(dut, start=1, queue_bytes=queue, old=old, set_point=set_point, weight=weight)
        await FallingEdge(dut.clk)
        drive(dut, start=0)
        assert await until(dut, dut.done) <= 19
        message = {
            "feedback": int(dut.feedback.value),
            "offset": dut.offset.value.to_signed(),
            "delta": dut.delta.value.to_signed(),
        }
        expected = {name: int(kernel.message[name][0]) for name in message}
        assert message == expected, (set_point, weight, queue, old)
        seen.add(message["feedback"])

    async def sequence(rng: random.Random) -> None:
        for _ in range(rng.randrange(1, EVENTS + 1)):
            await sample(rng)

    await examples(dut, cocotb.RANDOM_SEED, SEQUENCES, quiet, sequence)
    assert len(seen) == 64, f"feedback values never seen: {sorted(set(range(64)) - seen)}"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def what_has_more_bits_than_the_limit_is_clipped_all_the_same(dut: Any) -> None:
    """F = 2^38: of its lower 38 bits none is set."""
    values = {"queue_bytes": (1 << 31) + 1, "old": 0, "set_point": 128, "weight": 127}
    await start(dut, start=0, **values)
    drive(dut, start=1)
    await FallingEdge(dut.clk)
    drive(dut, start=0)
    await until(dut, dut.done)
    assert int(dut.feedback.value) == 63
