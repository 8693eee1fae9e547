"""qcn_cp.v against the kernels of plugins.qcn_cp: state and message after every event."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from plugins.qcn_cp import QCN_CP, SAMPLE_BASE, SAMPLE_INTERVALS
from tests.firmware.benches.clocking import drive, rarely_round, start
from tests.firmware.benches.drawn import examples
from tests.plugins.kernel_driver import KernelDriver

SEQUENCES = 80
"""What hypothesis draws hangs on the constants in our sources, too: enough for every kind of answer
to come often, whatever these are."""
EVENTS = 50
ABOUT = ("silent", "arriving", "head", "at random")
"""Whose source is told, by what the kernel answers."""
IDLE = {"clear": 0, "event_valid": 0, "event_departure": 0, "event_length": 0}


def packed(intervals: list[int]) -> int:
    """Eight intervals as the module takes them: index 0 in the lowest bits."""
    return sum(interval << (30 * index) for index, interval in enumerate(intervals))


class Pair:
    """The module and the kernel with the same parameters and seed."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng, self.kernel = dut, rng, KernelDriver(QCN_CP)
        self.counts: Counter[str] = Counter()

    async def begin(self) -> None:
        """A congestion point with any parameters that its registers may hold."""
        rng, dut = self.rng, self.dut
        self.kernel.written[:] = 0
        seed = rarely_round(rng, 32, 1)
        self.kernel.state["lfsr"] = seed
        self.scale = rng.choice((1_000, 20_000, 150_000, (1 << 30) - 1))
        params = {
            "set_point": rarely_round(rng, 30, 1)
            if rng.random() < 0.3
            else rng.randrange(64, 60000),
            "weight": rarely_round(rng, 7),
            "sample_base": rng.randrange(1, self.scale + 1),
            "sampling": rng.randrange(4),
            "counts": rng.randrange(2),
            "jitter": rng.randrange(2),
        }
        for name, value in params.items():
            self.kernel.params[name] = value
        base = params["sample_base"]
        intervals = [interval * base // SAMPLE_BASE for interval in SAMPLE_INTERVALS]
        drive(
            dut,
            clear=1,
            seed=seed,
            set_point=params["set_point"],
            weight=params["weight"],
            intervals=packed(intervals),
            sampling=params["sampling"],
            counts_arriving=params["counts"],
            jitter_on=params["jitter"],
        )
        await FallingEdge(dut.clk)
        drive(dut, clear=0)
        self.set_point = params["set_point"]

    async def event(self) -> None:
        """One frame arrives or departs."""
        rng, dut, kernel = self.rng, self.dut, self.kernel
        departure = rng.randrange(2)
        length = rng.choice((60, 64, 1500, rng.randrange(60, 9001), rng.randrange(1 << 16)))
        queue = rarely_round(rng, 32) if rng.random() < 0.1 else rng.randrange(4 * self.set_point)
        queue = min(queue, (1 << 32) - 1)
        capacity = min(queue + rng.choice((0, length - 1, length, 150_000)), (1 << 32) - 1)
        kernel.frame["length"] = length
        kernel.entity["bytes"], kernel.entity["capacity"] = queue, max(capacity, 0)
        kernel.message["feedback"] = 0
        told = kernel.call("departure" if departure else "arrival", 0)
        drive(
            dut,
            event_valid=1,
            event_departure=departure,
            event_length=length,
            event_queue=queue,
            event_capacity=max(capacity, 0),
        )
        await FallingEdge(dut.clk)
        drive(dut, event_valid=0)
        received = 0
        for _ in range(60):
            if dut.message_valid.value == 1:
                received = int(dut.message_about.value)
            if dut.event_ready.value == 1:
                break
            await FallingEdge(dut.clk)
        assert received == told
        state = {
            "countdown": dut.countdown.value.to_signed(),
            "started": int(dut.started.value),
            "old": int(dut.old.value),
            "lfsr": int(dut.random.value),
        }
        assert state == {name: int(kernel.state[name][0]) for name in state}
        if told:
            message = {
                "feedback": int(dut.message_feedback.value),
                "offset": dut.message_offset.value.to_signed(),
                "delta": dut.message_delta.value.to_signed(),
            }
            assert message == {name: int(kernel.message[name][0]) for name in message}
        self.counts[ABOUT[told]] += 1


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_event_equals_the_kernels(dut: Any) -> None:
    await start(dut, **IDLE)
    pair = Pair(dut, random.Random(cocotb.RANDOM_SEED))

    async def sequence(rng: random.Random) -> None:
        pair.rng = rng
        await pair.begin()
        for _ in range(rng.randrange(1, EVENTS + 1)):
            await pair.event()

    await examples(dut, cocotb.RANDOM_SEED, SEQUENCES, IDLE, sequence)
    dut._log.info("%s", dict(pair.counts))
    assert min(pair.counts[kind] for kind in ABOUT) >= 20


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_without_a_sample_pass_one_per_clock(dut: Any) -> None:
    await start(dut, **IDLE)
    pair = Pair(dut, random.Random(cocotb.RANDOM_SEED))
    await pair.begin()
    drive(dut, intervals=packed([(1 << 30) - 1] * 8), sampling=0, counts_arriving=1)
    await FallingEdge(dut.clk)
    drive(dut, event_valid=1, event_departure=0, event_length=64, event_queue=0)
    for _ in range(100):
        assert dut.event_ready.value == 1
        await FallingEdge(dut.clk)
    assert dut.countdown.value.to_signed() == (1 << 30) - 1 - 100 * 64


FULL = {"weight": 0, "sampling": 0, "counts_arriving": 1, "jitter_on": 0, "seed": 1}
QUIETEST = 6300
"""A set point at which 100 octets more are a feedback of one more."""


async def sampled(dut: Any, feedback: int, intervals: list[int]) -> None:
    """A congestion point started afresh takes a frame that is sampled at once."""
    drive(dut, clear=1, set_point=QUIETEST, intervals=packed([5, *intervals[1:]]), **FULL)
    await FallingEdge(dut.clk)
    drive(dut, clear=0)
    await FallingEdge(dut.clk)
    assert (dut.started.value, int(dut.old.value), dut.message_valid.value) == (0, 0, 0)
    queue = QUIETEST + 100 * feedback
    drive(dut, event_valid=1, event_departure=0, event_length=60, event_queue=queue)
    await FallingEdge(dut.clk)
    drive(dut, event_valid=0, intervals=packed(intervals))


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def every_feedback_has_its_message_and_its_interval(dut: Any) -> None:
    await start(dut, **IDLE)
    rng = random.Random(cocotb.RANDOM_SEED)
    for feedback in range(64):
        intervals = [(1 << 29) + rng.randrange(1 << 29) for _ in range(8)]
        await sampled(dut, feedback, intervals)
        # the next frame waits meanwhile, and is counted behind the sample
        drive(dut, event_valid=1, event_length=100, event_queue=rng.randrange(1 << 32))
        messages = 0
        for _ in range(80):
            messages += int(dut.message_valid.value)
            if dut.event_ready.value == 1:
                break
            await FallingEdge(dut.clk)
        assert (messages, int(dut.message_feedback.value)) == (int(feedback > 0), feedback)
        assert int(dut.old.value) == QUIETEST + 100 * feedback
        await FallingEdge(dut.clk)
        drive(dut, event_valid=0)
        assert dut.countdown.value.to_signed() == intervals[feedback >> 3] - 100


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_or_a_clear_ends_a_sample(dut: Any) -> None:
    """At any clock of it: no message comes later, and nothing is remembered."""
    await start(dut, **IDLE)
    for clocks in range(26):
        for name in ("rst", "clear"):
            await sampled(dut, 60, [1000] * 8)
            for _ in range(clocks):
                await FallingEdge(dut.clk)
            drive(dut, **{name: 1})
            await FallingEdge(dut.clk)
            drive(dut, **{name: 0})
            for _ in range(30):
                assert dut.message_valid.value == 0, (name, clocks)
                assert (int(dut.old.value), dut.started.value) == (0, 0), (name, clocks)
                assert dut.event_ready.value == 1
                await FallingEdge(dut.clk)
