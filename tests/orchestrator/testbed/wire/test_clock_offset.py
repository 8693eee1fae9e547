"""The estimate of a clock: its bound holds whatever the network did."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.testbed.wire.clock_offset import LEAST_SPAN_NS, Comparison, Exchange

MS, S = 10**6, 10**9


def watched(
    offset: int,
    drift_ppb: int,
    seconds: float,
    seed: int = 1,
    capture_delay_ns: tuple[int, int] = (20_000, MS),
) -> tuple[Comparison, int]:
    """Exchanges with a clock that is off and runs apart, over a network with delays of its own
    in each direction; and our time at the end."""
    draw = random.Random(seed)
    comparison = Comparison()
    now = 5_000 * S
    began = now

    def theirs(at: int) -> int:
        return at + offset + drift_ppb * (at - began) // S

    while now < began + seconds * S:
        there, back = (draw.randint(*capture_delay_ns) for _ in range(2))
        received, answered = now + there, now + there + draw.randint(1000, 50_000)
        back_at = answered + back
        comparison.add(Exchange.of(now, theirs(received), theirs(answered), back_at))
        now = back_at + S // 4
    return comparison, now


@given(
    st.integers(-(10**15), 10**15),
    st.integers(-40_000, 40_000),
    st.sampled_from([1.0, 5.0, 30.0]),
    st.integers(0, 10**6),
)
def test_the_truth_lies_within_the_bound(offset, drift, seconds, seed):
    comparison, now = watched(offset, drift, seconds, seed)
    until = now + 2 * S
    estimate = comparison.estimate(until)
    assert estimate is not None
    for at in (now, until):
        truth = offset + drift * (at - 5_000 * S) // S
        assert abs(estimate.offset(at) - truth) <= estimate.error_ns + 2


def test_drift_is_found_once_there_was_time_to_see_it():
    comparison, now = watched(123 * MS, 20_000, 60.0)
    estimate = comparison.estimate(now)
    assert estimate is not None
    assert estimate.drift_ppb == pytest.approx(20_000, abs=2_000)
    later = estimate.at + 1000 * S
    assert estimate.offset(later) - estimate.offset_ns == 1000 * estimate.drift_ppb
    assert estimate.theirs(later) - later == estimate.offset(later)
    assert comparison.exchanges[-1].at - comparison.exchanges[0].at > LEAST_SPAN_NS


def test_a_busy_network_widens_the_bound_and_a_quiet_moment_narrows_it():
    busy, now = watched(0, 0, 5.0, capture_delay_ns=(5 * MS, 9 * MS))
    before = busy.estimate(now)
    assert before is not None
    assert before.error_ns > 4 * MS
    busy.add(Exchange.of(now, now + 10_000, now + 11_000, now + 21_000))
    after = busy.estimate(now)
    assert after is not None
    assert abs(after.offset(now)) <= after.error_ns


@pytest.mark.parametrize("half_ns", [10, 40_000])
def test_a_bound_is_half_the_width_and_grows_with_the_time_ahead(half_ns: int):
    """Two undisciplined clocks run apart by 50 ppm at most."""
    comparison = Comparison()
    for number in range(3):
        at = 2 * number * S
        comparison.add(Exchange(at, 1000 - half_ns, 1000 + half_ns))
    now, later = comparison.estimate(4 * S), comparison.estimate(6 * S)
    assert now is not None
    assert later is not None
    assert (now.offset_ns, now.error_ns) == (1000, half_ns)
    assert later.error_ns == half_ns + 100_000


def test_a_bound_covers_what_is_furthest_from_the_estimate():
    comparison = Comparison()
    for number, middle in enumerate((0, 700, 100)):
        comparison.add(Exchange(2 * number * S, middle - 50, middle + 50))
    estimate = comparison.estimate()
    assert estimate is not None
    assert (estimate.offset_ns, estimate.error_ns) == (100, 650)


def test_one_kernel_has_one_clock():
    comparison, now = watched(0, 0, 1.0)
    comparison.same = True
    estimate = comparison.estimate(now)
    assert estimate is not None
    assert (estimate.offset_ns, estimate.error_ns) == (0, 0)


def test_ptp_is_used_when_it_knows_better_and_only_then():
    comparison, now = watched(7 * MS, 0, 5.0)
    comparison.disciplined = (7 * MS, 500)
    estimate = comparison.estimate(now)
    assert estimate is not None
    assert (estimate.method, estimate.offset_ns, estimate.error_ns) == ("PTP", 7 * MS, 500)
    comparison.disciplined = (7 * MS, S)
    estimate = comparison.estimate(now)
    assert estimate is not None
    assert estimate.method == "exchanges"


def test_an_exchange_over_a_step_of_a_clock_says_nothing():
    comparison = Comparison()
    comparison.add(Exchange(at=0, low=10, high=5))
    assert comparison.estimate() is None
