"""token_bucket.v against engine.node.limiter: tokens and eligibility after every event."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge

from orchestrator.engine.node_api import BIT_PS, eligible_at, refill_tokens
from orchestrator.engine.records import LIMITER
from tests.firmware.benches.clocking import drive, parameter, rarely_round, start, until
from tests.firmware.benches.drawn import examples

SEQUENCES = 8
EVENTS = 30
"""Both for 4 limiters: with more of them every event takes longer and shows more."""
TURN = 9
"""Clocks that a limiter with a refill takes; a period is to be longer than N of them."""
QUIET = {
    "clear": 0,
    "now": 0,
    "depth": 0,
    "period": 1,
    "granularity": 0,
    "phase_valid": 0,
    "rate_valid": 0,
    "charge_valid": 0,
}


class Buckets:
    """The module and N limiters of the kernel, side by side."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng, self.n = dut, rng, parameter("N")
        self.limiters = np.zeros(self.n, LIMITER).view(np.recarray)
        self.tokens = [0] * self.n
        self.events, self.refusals = 0, 0

    async def clock(self) -> None:
        """One clock; remembers what the module writes."""
        await FallingEdge(self.dut.clk)
        if self.dut.write_valid.value == 1:
            self.tokens[int(self.dut.write_index.value)] = self.dut.write_tokens.value.to_signed()

    async def begin(self) -> None:
        """Any depth, period, granularity, phases that keep the kernel within 64 bits."""
        rng, dut = self.rng, self.dut
        self.now = 0
        period = (
            rarely_round(rng, 34, 10_000)
            if rng.random() < 0.3
            else rng.randrange(10_000, 20_000_000)
        )
        # up to 64 refills at once and a bucket that was overdrawn stay within an int64
        self.top_rate = min((1 << 40) - 1, ((1 << 56) - 1) // period)
        depth = rarely_round(rng, 62) if rng.random() < 0.3 else rng.randrange(1, 9001) * BIT_PS
        granularity = rng.choice((0, 0, 1, 1000, 10**6, rarely_round(rng, 40)))
        drive(dut, now=0, depth=depth, period=period, granularity=granularity, clear=1)
        await self.clock()
        drive(dut, clear=0)
        await self.clock()
        self.period = period
        self.tokens = [0] * self.n
        self.limiters[:] = 0
        for index, limiter in enumerate(self.limiters):
            limiter.depth, limiter.period, limiter.granularity = depth, period, granularity
            limiter.phase = rng.randrange(period)
            limiter.tick = limiter.phase - period
            await until(dut, dut.idle, 50 * self.n)
            drive(dut, phase_valid=1, phase_index=index, phase=int(limiter.phase))
            await self.clock()
            drive(dut, phase_valid=0)
            await self.clock()
        for _ in range(20 * self.n):
            await self.clock()
        self.active = [False] * self.n
        # each has to have many events: dozens would share what makes one active and empty
        self.few = rng.sample(range(self.n), min(4, self.n))

    async def accepted(self, ready: Any, **inputs: int) -> None:
        """Ask for something; `now` stands still until it is accepted."""
        drive(self.dut, **inputs)
        for _ in range(200):
            taken = ready.value == 1
            await self.clock()
            if taken:
                return
        raise AssertionError(f"{ready._name} stays 0")

    async def settled(self) -> None:
        """Wait until all that is due has been done: every bucket has had its turn twice since the
        last write, or long enough for a new rate (63 clocks) and nine refills of each."""
        looked = 0
        for _ in range(80 + 10 * TURN * self.n):
            await self.clock()
            looked = 0 if self.dut.write_valid.value == 1 else looked + int(self.dut.idle.value)
            if looked > 2 * self.n + 1:
                return

    async def event(self) -> None:
        """Time passes, then a frame is charged or a rate is set; then all tokens are compared."""
        rng, dut = self.rng, self.dut
        self.now += rng.choice(
            (0, 8000, rng.randrange(self.period), rng.randrange(9 * self.period))
        )
        drive(dut, now=self.now)
        index = rng.choice(self.few)
        limiter = self.limiters[index]
        self.events += 1
        refill_tokens(limiter, self.now)
        if not self.active[index] or rng.random() < 0.2:
            active = rng.random() < 0.8
            rate = min(rarely_round(rng, 40), self.top_rate)
            await self.accepted(
                dut.rate_ready, rate_valid=1, rate_index=index, rate_active=active, rate=rate
            )
            drive(dut, rate_valid=0)
            if active and not self.active[index]:
                limiter.tokens = 0
            limiter.rate = rate
            self.active[index] = active
        else:
            length = rng.choice((60, 1500, 9000, rng.randrange(1 << 16)))
            if int(limiter.tokens) > -(1 << 61):
                await self.accepted(
                    dut.charge_ready, charge_valid=1, charge_index=index, charge_length=length
                )
                drive(dut, charge_valid=0)
                limiter.tokens -= length * BIT_PS
        await self.settled()
        for number, other in enumerate(self.limiters):
            refill_tokens(other, self.now)
            assert self.tokens[number] == int(other.tokens), (number, self.now)
            may = not self.active[number] or int(eligible_at(other, self.now)) <= self.now
            assert (int(dut.eligible.value) >> number & 1) == may
            self.refusals += not may


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def tokens_equal_the_kernels(dut: Any) -> None:
    await start(dut, **QUIET)
    buckets = Buckets(dut, random.Random(cocotb.RANDOM_SEED))

    async def sequence(rng: random.Random) -> None:
        buckets.rng = rng
        await buckets.begin()
        for _ in range(rng.randrange(1, EVENTS * 4 // buckets.n + 10)):
            await buckets.event()

    sequences = max(4, SEQUENCES * 4 // buckets.n)
    await examples(dut, cocotb.RANDOM_SEED, sequences, QUIET, sequence)
    assert buckets.refusals * 5 >= buckets.events >= 20


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_late_refill_precedes_the_charge(dut: Any) -> None:
    """Charges that come with the clock running take the tokens of the very instant."""
    await start(dut, **QUIET)
    rng = random.Random(cocotb.RANDOM_SEED)
    buckets = Buckets(dut, rng)
    await buckets.begin()
    depth, period = 3000 * BIT_PS, max(125, 2 * TURN * buckets.n) * 8000
    drive(dut, depth=depth, period=period, granularity=0)
    for index, limiter in enumerate(buckets.limiters):
        limiter.depth, limiter.period, limiter.granularity = depth, period, 0
        await until(dut, dut.idle)
        drive(dut, phase_valid=1, phase_index=index, phase=period + 1000 * index)
        await buckets.clock()
        drive(dut, phase_valid=0)
        await buckets.accepted(
            dut.rate_ready, rate_valid=1, rate_index=index, rate_active=1, rate=10**10
        )
        drive(dut, rate_valid=0)
        limiter.rate, limiter.tick = 10**10, 1000 * index
    for limiter in buckets.limiters:
        limiter.tokens = 0
    for _ in range(200 + 20 * buckets.n):
        await buckets.clock()
    buckets.now, charges = 0, 0
    for _ in range(6000):
        buckets.now += 8000
        index = rng.randrange(buckets.n)
        asks = rng.random() < 0.05 and dut.charge_ready.value == 1
        drive(dut, now=buckets.now, charge_valid=int(asks), charge_index=index, charge_length=64)
        await buckets.clock()
        if asks:
            refill_tokens(buckets.limiters[index], buckets.now)
            buckets.limiters[index].tokens -= 64 * BIT_PS
            charges += 1
    drive(dut, charge_valid=0)
    for _ in range(64 + TURN * buckets.n):
        await buckets.clock()
    for number, limiter in enumerate(buckets.limiters):
        refill_tokens(limiter, buckets.now)
        assert buckets.tokens[number] == int(limiter.tokens)
    assert charges >= 50


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_refill_is_the_rate_times_the_period(dut: Any) -> None:
    """To the last bit, of every limiter its own: no bucket is full."""
    await start(dut, **QUIET)
    rng = random.Random(cocotb.RANDOM_SEED)
    buckets = Buckets(dut, rng)
    for _ in range(max(2, 48 // buckets.n)):
        rates = [rng.getrandbits(rng.randrange(30, 41)) for _ in range(buckets.n)]
        period = rng.randrange(10_000, min(1 << 34, (1 << 62) // max(*rates, 1)))
        drive(dut, now=0, depth=(1 << 62) - 1, period=period, granularity=0, clear=1)
        await buckets.clock()
        drive(dut, clear=0)
        await buckets.settled()  # each is refilled at 0 already, with nothing
        for index, rate in enumerate(rates):
            await buckets.accepted(
                dut.rate_ready, rate_valid=1, rate_index=index, rate_active=1, rate=rate
            )
            drive(dut, rate_valid=0)
            await buckets.settled()
        drive(dut, now=period)
        await buckets.settled()
        assert buckets.tokens == [rate * period for rate in rates], (rates, period)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def charges_pass_one_in_three_clocks(dut: Any) -> None:
    await start(dut, **QUIET)
    buckets = Buckets(dut, random.Random(cocotb.RANDOM_SEED))
    await buckets.begin()
    drive(dut, period=(1 << 32) - 1)
    await until(dut, dut.idle)
    drive(dut, phase_valid=1, phase_index=0, phase=10**9)
    await buckets.clock()
    drive(dut, phase_valid=0)
    await buckets.accepted(dut.rate_ready, rate_valid=1, rate_index=0, rate_active=1, rate=1)
    drive(dut, rate_valid=0)
    for _ in range(60):
        await buckets.clock()
    drive(dut, charge_valid=1, charge_index=0, charge_length=100)
    await until(dut, dut.charge_ready)
    for number in range(150):
        assert dut.charge_ready.value == int(number % 3 == 0)
        await buckets.clock()
    drive(dut, charge_valid=0)
    for _ in range(4):
        await buckets.clock()
    assert buckets.tokens[0] == -50 * 100 * BIT_PS
