"""The limiter's token bucket against a model in exact fractions of a bit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.jit import compiled
from orchestrator.engine.node.rate_limiter import eligible_at, is_more, on_frame_sent, refill_tokens
from orchestrator.engine.records import NEVER
from tests.orchestrator.worlds import one_limiter

BIT = 10**12
"""Tokens of the limiter per bit."""


@dataclass
class Bucket:
    """The bucket of NetFPGA-QCN, section 3.2, tick by tick, in bits."""

    depth: int
    period: int
    granularity: int
    rate: int
    tokens: Fraction = Fraction(0)
    now: int = 0

    def gain(self) -> Fraction:
        step = max(self.granularity, 1)
        return Fraction(self.rate // step * step * self.period, BIT)

    def advance(self, now: int) -> None:
        """Every multiple of the period in (self.now, now] is a refill."""
        for _ in range(now // self.period - self.now // self.period):
            self.tokens = min(self.tokens + self.gain(), Fraction(self.depth * 8))
        self.now = now

    def may_start(self) -> int:
        """The first instant from now on at which there are tokens above zero."""
        if self.tokens > 0:
            return self.now
        if self.gain() == 0:
            return NEVER
        tokens, tick = self.tokens, self.now // self.period
        while tokens <= 0:
            tokens, tick = tokens + self.gain(), tick + 1
        return tick * self.period


def agree(limiter: object, model: Bucket, now: int) -> None:
    """Both have the same tokens and let the next frame start at the same time."""
    model.advance(now)
    refill_tokens(limiter, now)
    assert Fraction(int(limiter.tokens), BIT) == model.tokens  # type: ignore[attr-defined]
    assert eligible_at(limiter, now) == model.may_start()


@settings(max_examples=150)
@given(data=st.data())
def test_tokens_are_the_models_whatever_happens_when(data: st.DataObject) -> None:
    """Time passes within and over ticks, rates change at any instant, frames overdraw."""
    period = data.draw(st.sampled_from([10**5, 16_000_000, 16_000_001]))
    depth = data.draw(st.integers(64, 100_000))
    fastest = min(depth * 8 * BIT // period, 10**12)
    rates = st.one_of(st.integers(1000, fastest), st.sampled_from([1000, fastest]))
    granularity = data.draw(st.sampled_from([0, 1, 7, 500_000]))
    rate = data.draw(rates)
    world = one_limiter(
        depth=depth * 8 * BIT, period=period, granularity=granularity, rate=rate, link_rate=fastest
    ).world
    limiter = world.limiters[0]
    model = Bucket(depth, period, granularity, rate)
    frame = world.frames[0]
    now = 0
    waits = st.one_of(
        st.just(0), st.integers(1, 3 * period), st.integers(0, 50).map(period.__mul__)
    )
    for _ in range(data.draw(st.integers(1, 25))):
        now += data.draw(waits)
        agree(limiter, model, now)
        if data.draw(st.booleans()):
            frame.length = data.draw(st.integers(64, min(9216, 20 * depth)))
            on_frame_sent(world, 0, frame, now)
            model.tokens -= frame.length * 8
        else:
            limiter.rate = model.rate = data.draw(rates)
        gain = model.gain()
        if gain == 0 or -model.tokens / gain < 1000:  # the model takes ticks one by one
            agree(limiter, model, now)
        else:
            now += period * int(-model.tokens / gain)
            model.tokens += int(-model.tokens / gain) * gain
            model.now = now
            agree(limiter, model, now)


@settings(max_examples=60)
@given(
    rate=st.integers(10**6, 10**9),
    length=st.integers(64, 1500),
    granularity=st.sampled_from([0, 500_000]),
)
def test_the_long_run_rate_is_exact(rate: int, length: int, granularity: int) -> None:
    """With a frame always waiting, what was sent is rate x time, but for one frame and one tick."""
    period = 16_000_000
    world = one_limiter(
        depth=3000 * 8 * BIT, period=period, granularity=granularity, rate=rate, link_rate=10**9
    ).world
    limiter, frame = world.limiters[0], world.frames[0]
    frame.length = length
    now = sent = 0
    for _ in range(2000):
        now = int(eligible_at(limiter, now))
        on_frame_sent(world, 0, frame, now)
        sent += 8 * length
    exact = rate // max(granularity, 1) * max(granularity, 1)
    gained = Fraction(exact * (now // period) * period, BIT)
    left = Fraction(int(limiter.tokens), BIT)
    assert sent == gained - left
    assert -8 * length < left <= Fraction(exact * period, BIT)


@compiled
def starts(w, lengths, found):
    """ps at which frames start that all wait from the beginning on."""
    limiter, frame, now = w.limiters[0], w.frames[0], 0
    for row in range(lengths.size):
        now = max(now, eligible_at(limiter, now))
        frame.length = lengths[row]
        on_frame_sent(w, 0, frame, now)
        found[row] = now


@pytest.mark.parametrize(
    ("rate", "period", "granularity"),
    [(999_999_937, 16_000_001, 0), (333_333_331, 15_999_989, 0), (1_000_003, 16_000_001, 7)],
)
def test_a_million_frames_start_without_drift(rate: int, period: int, granularity: int) -> None:
    """Frame n starts at the first tick k for which k refills are more than all frames before it."""
    count = 10**6
    lengths = np.random.default_rng(rate).integers(64, 1501, count)
    world = one_limiter(
        depth=20_000 * 8 * BIT, period=period, granularity=granularity, rate=rate, link_rate=10**9
    ).world
    found = np.zeros(count, np.int64)
    starts(world, lengths, found)
    gain = rate // max(granularity, 1) * max(granularity, 1) * period
    before, due = 0, 0
    for length, at in zip(lengths.tolist(), found.tolist(), strict=True):
        due = max(due, (before * 8 * BIT // gain + 1) * period)
        assert at == due
        before += length


def test_a_long_rest_fills_the_bucket_to_its_depth_and_no_further() -> None:
    world = one_limiter(depth=100_000 * 8 * BIT, period=10**5, rate=10**12, link_rate=10**12).world
    limiter = world.limiters[0]
    limiter.rate = 8 * 10**12
    for hours in (1, 2, 3):
        refill_tokens(limiter, hours * 3600 * BIT)
        assert limiter.tokens == limiter.depth
        assert limiter.tick == hours * 3600 * BIT


@pytest.mark.parametrize(
    ("room", "periods", "tokens"),
    [
        *((3, 1, 1), (3, 2, 2), (3, 3, 3), (3, 4, 3), (1, 1, 1)),
        *((0.5, 1, 0.5), (1.5, 2, 1.5), (3.5, 3, 3), (3.5, 4, 3.5), (3.5, 1000, 3.5)),
    ],
)
def test_every_period_adds_as_much_until_it_is_full(
    room: float, periods: int, tokens: float
) -> None:
    """In units of what a period adds: 1 Gb/s in 16 us are 16 kbit."""
    gain = 16_000 * BIT
    limiter = one_limiter(depth=int(room * gain), period=16 * 10**6, rate=10**9).world.limiters[0]
    for early, want in ((-1, min(tokens, room, periods - 1)), (0, tokens)):
        limiter.tokens, limiter.tick = 0, 0
        refill_tokens(limiter, periods * 16 * 10**6 + early)
        assert (limiter.tokens / gain, limiter.tick // (16 * 10**6)) == (want, periods + early)


@pytest.mark.parametrize(
    ("ticks", "gain"),
    [
        *((2, 1), (3, 7), (2, 1 << 61), (1 << 30, (1 << 31) - 1), ((1 << 30) - 1, 1 << 31)),
        *((1 << 30, 1 << 34), ((1 << 31) - 1, 1 << 33), (1 << 33, (1 << 31) - 1), (1 << 33, 3)),
        *((1 << 31, 1 << 31), (1 << 32, 1 << 32), (1 << 40, 1 << 50), (1 << 62, 2), (5, 1 << 62)),
    ],
)
def test_refills_are_compared_with_the_room_beyond_an_int64_too(ticks: int, gain: int) -> None:
    """A bucket of a link of 8 Tb/s that rests for days: a product that wraps round may be 0."""
    most = (1 << 63) - 1
    rooms = {1, gain, gain + 1, ticks * gain - 1, ticks * gain, ticks * gain + 1, most}
    for room in sorted(each for each in rooms if each <= most):
        found = is_more(np.int64(ticks), np.int64(gain), np.int64(room))
        assert bool(found) == (ticks * gain > room), room


def test_a_frame_may_start_with_the_first_token_and_what_was_not_counted_yet_counts() -> None:
    limiter = one_limiter(depth=10**6 * BIT, period=10**6, rate=10**9).world.limiters[0]
    limiter.tokens = 1
    assert eligible_at(limiter, 7) == 7
    limiter.tokens = 0
    assert eligible_at(limiter, 7) == 10**6
    assert eligible_at(limiter, 10**6 + 7) == 10**6 + 7


def test_a_rate_below_the_granularity_lets_nothing_start() -> None:
    world = one_limiter(depth=3000 * 8 * BIT, period=10**6, rate=400_000, granularity=500_000).world
    assert eligible_at(world.limiters[0], 10**9) == NEVER
