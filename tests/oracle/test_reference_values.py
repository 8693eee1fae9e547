"""The oracle itself, held to values that the papers and docs/settled/algorithms.md state."""

from __future__ import annotations

from statistics import fmean, mean, pstdev

import pytest

import tailback
from tests.oracle.jitter import Jitter
from tests.oracle.one_queue import OneQueue
from tests.oracle.pseudocode_cp import CongestionPoint, CpParameters
from tests.oracle.pseudocode_rp import ACTIVE, INACTIVE, RateLimiter, RpParameters

C = 10_000_000_000


def after_one_message(fb: int = 32) -> RateLimiter:
    """A limiter that was just activated from C."""
    limiter = RateLimiter(RpParameters(C=C))
    limiter.qlen = 1
    limiter.feedback(fb)
    return limiter


def expire_byte_counter(limiter: RateLimiter) -> None:
    """Send until the byte counter expires, and not an octet more."""
    limiter.transmit(limiter.tx_bcount + 1)


def test_the_gap_halves_with_every_recovery_cycle() -> None:
    limiter = after_one_message(fb=64)  # beyond 6 bits: one half, so that the gap is a round number
    loss = C - limiter.crate
    for cycle in range(1, 6):
        expire_byte_counter(limiter)
        assert C - limiter.crate == loss >> cycle
    assert (C - limiter.crate) / loss == 0.03125


def test_five_recoveries_then_active_increase_and_half_intervals_after_the_fifth() -> None:
    limiter = after_one_message()
    intervals, targets = [], []
    for _ in range(7):
        expire_byte_counter(limiter)
        intervals.append(limiter.tx_bcount)
        targets.append(limiter.trate)
    assert intervals == [150_000] * 4 + [75_000] * 3
    assert targets == [C] * 5 + [C + 5_000_000, C + 10_000_000]


def test_hyper_active_increase_needs_both_stages_above_the_threshold() -> None:
    limiter = after_one_message()
    for _ in range(6):
        expire_byte_counter(limiter)
        limiter.timer_expired()
    target = limiter.trate
    limiter.timer_expired()  # stages 6 and 7: min is one above the threshold
    assert limiter.trate - target == 50_000_000
    expire_byte_counter(limiter)  # stages 7 and 7
    assert limiter.trate - target == 150_000_000


def test_one_message_cuts_63_of_128_at_most() -> None:
    assert after_one_message(fb=63).crate == C * 65 // 128


def test_a_second_message_before_a_byte_expiry_keeps_target_and_byte_counter() -> None:
    limiter = after_one_message()
    limiter.transmit(1500)
    limiter.timer_expired()
    limiter.feedback(10)
    assert (limiter.trate, limiter.tx_bcount) == (C, 148_500)
    expire_byte_counter(limiter)
    rate = limiter.crate
    limiter.feedback(10)
    assert (limiter.trate, limiter.tx_bcount) == (rate, 150_000)


def test_a_target_ten_times_the_rate_is_cut_to_an_eighth() -> None:
    limiter = after_one_message(fb=63)
    while limiter.trate <= 10 * limiter.crate:
        limiter.feedback(63)
    expire_byte_counter(limiter)
    assert limiter.trate == C // 8


def test_a_limiter_at_the_link_rate_is_released_when_its_queue_is_empty() -> None:
    limiter = after_one_message(fb=1)
    while limiter.crate < C:
        limiter.timer_expired()
    limiter.transmit(1500)
    assert limiter.state == ACTIVE
    limiter.qlen = 0
    limiter.transmit(1500)
    assert (limiter.state, limiter.timer, limiter.timer_scount) == (INACTIVE, None, 0)


def sample(qlen: int, qlen_old: int = 0, **parameters: int) -> tuple[int, int]:
    """(quantised feedback or 0, next interval) of a congestion point that samples at once."""
    point = CongestionPoint(CpParameters(**parameters))
    point.qlen, point.qlen_old, point.time_to_mark = qlen, qlen_old, 0
    message = point.arrival(1500)
    return (message.fb if message else 0), point.time_to_mark


def test_feedback_is_six_bits_of_the_clipped_range() -> None:
    assert sample(26_000, 26_000) == (0, 150_000)  # F = 0
    assert sample(28_063, 28_063) == (0, 150_000)  # F * 63 / 130 000 = 0.9998
    assert sample(28_064, 28_064) == (1, 150_000)
    assert sample(60_000) == (63, 18_500)  # F = 154 000, clipped to 130 000
    assert sample(30_000, 60_000) == (0, 150_000)  # falls fast: no message above the set point


@pytest.mark.parametrize(("qlen", "index"), [(33_000, 0), (67_000, 2), (107_000, 4)])
def test_the_interval_follows_the_value_just_sent(qlen: int, index: int) -> None:
    fb, interval = sample(qlen, qlen)
    assert fb >> 3 == index
    assert interval == (150_000, 75_000, 50_000, 37_500, 30_000)[index]
    assert sample(qlen, qlen, sample_base=300_000) == (fb, 2 * interval)


def test_offset_and_difference_of_a_message() -> None:
    point = CongestionPoint(CpParameters())
    point.time_to_mark, point.qlen, point.qlen_old = 0, 40_000, 30_000
    message = point.arrival(64)
    assert message is not None
    assert (message.qoff, message.qdelta, point.qlen_old) == (14_000, 10_000, 40_000)


def test_the_counter_expires_below_zero_and_starts_unjittered() -> None:
    point = CongestionPoint(CpParameters(), Jitter(1))
    point.qlen = 60_000
    assert [point.arrival(1500) is None for _ in range(101)] == [True] * 100 + [False]


def test_jitter_is_uniform_within_15_percent() -> None:
    jitter = Jitter(1)
    draws = [jitter(1_000_000) for _ in range(20_000)]
    assert 850_000 <= min(draws) < 850_100
    assert 1_149_900 < max(draws) < 1_150_000
    assert fmean(draws) == pytest.approx(1_000_000, rel=0.002)
    assert pstdev(draws) == pytest.approx(300_000 / 12**0.5, rel=0.01)


# The negative control w = 0, against a model that shares nothing with the engine.

US = 10**6
SEEDS = (1, 2)
QUEUE_BOUND = 2400
"""Octets. The mean queue of one seed deviates by 0.8 KB in both (20 seeds), so the difference of
two means over two seeds by 0.8 KB; three times that."""
UTILIZATION_BOUND = 0.02


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "round_trip"), [("netfpga-fig11", 100 * US), ("netfpga-fig12", 500 * US)]
)
def test_without_weight_the_queue_is_as_short_as_the_pseudo_code_makes_it(
    plan: str, round_trip: int
) -> None:
    apart = [
        OneQueue(weight=0, round_trip=round_trip, sources=8, seed=s).between(1, 5) for s in SEEDS
    ]
    settings = {"nodes.switch.congestion_point.weight": 0, "capture.ports": []}
    runs = [tailback.run(plan, seed=s, set=settings, out=None) for s in SEEDS]
    high = [run.metrics["high"]["switch.sink"] for run in runs]
    ours = mean(port["queue_bytes.mean"] or 0 for port in high)
    assert ours == pytest.approx(mean(o.queue for o in apart), abs=QUEUE_BOUND)
    utilization = mean(port["utilization"] or 0 for port in high)
    assert utilization == pytest.approx(mean(o.utilization for o in apart), abs=UTILIZATION_BOUND)


@pytest.mark.slow
def test_the_model_is_the_papers_with_the_weight() -> None:
    """It stands at the set point; two empty queues would agree above, too."""
    settled = OneQueue(weight=2, round_trip=100 * US, sources=8, seed=1).between(1, 3)
    assert 31_000 < settled.queue < 39_000
    assert settled.utilization > 0.99
