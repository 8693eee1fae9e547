"""TIMELY and Swift: what a round trip does to a rate, to a window."""

from __future__ import annotations

from math import sqrt

import pytest

from plugins.swift import SWIFT, Swift
from plugins.timely import TIMELY, Timely
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

US = 10**6
LINK = 10**10
FRAME = 1500
DELTA = 10**7


def timely(**params: object) -> Driver:
    rp = Driver(TIMELY, Timely(every=FRAME, **params), link_rate=LINK)
    rp.come("start")
    return rp


def trip(rp: Driver, rtt: int, now: int = 0, hops: int = 0) -> None:
    """A frame is acknowledged after this round trip."""
    rp.set(rtt=rtt, acked=FRAME)
    rp.come("acked", now, hops=hops)


def test_timely_rises_below_t_low_and_falls_above_t_high_whatever_the_gradient() -> None:
    rp = timely()
    assert (rp.active, rp.rate) == (1, LINK // 2)
    trip(rp, 30 * US)
    trip(rp, 49 * US)
    assert rp.rate == LINK // 2 + 2 * DELTA
    trip(rp, 1000 * US)
    rate = rp.rate
    trip(rp, 900 * US)
    assert rp.rate == pytest.approx(rate * (1 - 0.8 * (1 - 500 / 900)), rel=1e-4)


@pytest.mark.parametrize(("params", "weight"), [({}, 1 / 50), ({"weight": "7/8"}, 7 / 8)])
def test_timely_follows_the_gradient_in_between(params: dict[str, object], weight: float) -> None:
    rp = timely(**params)
    trip(rp, 100 * US)  # the first one has no difference
    rate = rp.rate
    assert rate == LINK // 2 + DELTA
    trip(rp, 104 * US)
    assert rp.rate == pytest.approx(rate * (1 - 0.8 * weight * 4 / 20), rel=1e-4)
    rate = rp.rate
    trip(rp, 80 * US)
    for _ in range(3):
        trip(rp, 80 * US)
    assert rp.rate == rate + 4 * DELTA
    trip(rp, 80 * US)
    assert rp.rate == rate + 4 * DELTA + 5 * DELTA, "hyper-active at the fifth in a row"


def test_a_gradient_of_nothing_is_not_below_it_and_one_below_t_low_counts() -> None:
    rp = timely()
    rate = rp.rate
    for _ in range(7):
        trip(rp, 80 * US)
    assert rp.rate == rate + 7 * DELTA, "equal round trips are no five in a row"
    rate = rp.rate
    for k in range(5):
        trip(rp, (45 - k) * US)
    assert rp.rate == rate + 5 * DELTA
    trip(rp, 60 * US)  # the smoothed difference is below 0 for some more
    assert rp.rate == rate + 5 * DELTA + 5 * DELTA


@pytest.mark.parametrize(
    ("params", "left"), [({}, 1 / 2), ({"most": "1/10"}, 9 / 10), ({"most": 1}, 1 / 500)]
)
def test_no_round_trip_takes_more_of_timelys_rate_than_it_may(
    params: dict[str, object], left: float
) -> None:
    """Neither by its gradient nor by its length: 0.8 (1 - 500 / 10^6) of it is more than half."""
    for trips in ((100 * US, 499 * US), (10**6 * US,)):
        rp = timely(weight="7/8", **params)
        rate = rp.rate
        for rtt in trips:
            rate, before = rp.rate, rate
            trip(rp, rtt)
        if len(trips) == 2:
            assert rp.rate == pytest.approx(max(before, rate) * left, rel=0.01)
        else:
            assert rp.rate == pytest.approx(rate * max(left, 1 - 0.8 * (1 - 500e-6)), rel=0.01)


def test_one_late_round_trip_is_no_congestion_by_the_authors_weight() -> None:
    """29 us late takes 2 %; with the weight of Zhu et al. and nothing to bound it, all there is."""
    for params, left in (({}, 0.98), (Timely.presets["ecn-or-delay"], 0.0)):
        rp = timely(**params)
        trip(rp, 51 * US)
        rate = rp.rate
        trip(rp, 80 * US)
        assert rp.rate == pytest.approx(max(rate * left, 10**7), rel=0.01)


@pytest.mark.parametrize(
    ("params", "rate", "us"),
    [
        (Timely(), 10**10, 1.25),
        (Timely(), 25 * 10**8, 5),
        (Timely(delta=2 * DELTA), 10**10, 2.5),
        (Timely(weight="7/8"), 10**10, 0.02857),
        (Swift(), 10**10, 1.5),
        (Swift(ai="1/2", beta="2/5"), 10**9, 15),
    ],
)
def test_what_a_scheme_bears_of_delays_that_are_no_queue(
    params: Timely | Swift, rate: int, us: float
) -> None:
    """That takes as much as it grows by: TIMELY's 10 Mb/s, Swift's segment per round trip."""
    assert params.delay_margin(rate) == pytest.approx(us * US, rel=1e-3)


def test_timely_counts_a_round_trip_per_its_octets_and_keeps_its_least_rate() -> None:
    rp = Driver(TIMELY, Timely(every=3 * FRAME, min_rate=10**9), link_rate=LINK)
    rp.come("start")
    for _ in range(6):
        trip(rp, 30 * US)
    assert rp.rate == LINK // 2 + 2 * DELTA
    for _ in range(300):
        trip(rp, 100_000 * US)
    assert rp.rate == 10**9


def swift(**params: object) -> Driver:
    rp = Driver(SWIFT, Swift(**params), link_rate=LINK)
    rp.come("start")
    return rp


def target_us(segments: float, hops: int = 0) -> float:
    """The target of a window, by the paper's formula with the plugin's constants."""
    alpha = 50 / (1 / sqrt(0.1) - 1 / sqrt(100))
    return 25 + hops + max(0.0, min(alpha / sqrt(segments) - alpha / sqrt(100), 50.0))


@pytest.mark.parametrize(("segments", "hops"), [(0.05, 0), (0.5, 0), (1, 3), (7, 0), (200, 2)])
def test_swift_grows_below_its_target_and_is_cut_above_it(segments: float, hops: int) -> None:
    rp = swift()
    wanted = target_us(segments, hops)
    rp.set(window=int(segments * FRAME))
    before = rp.window
    trip(rp, int((wanted - 0.1) * US), 1, hops)
    assert rp.window > before
    rp.set(window=before)
    trip(rp, int((wanted + 0.1) * US), 10**12, hops)
    assert rp.window == pytest.approx(before * (1 - 0.8 * 0.1 / (wanted + 0.1)), abs=3)
    assert rp.window < before or before < 200


def test_swift_grows_by_a_segment_per_window_of_acknowledgements() -> None:
    rp = swift()
    for _ in range(10):
        trip(rp, 10 * US)
    assert rp.window == pytest.approx(11 * FRAME, rel=0.01)
    rp.set(window=FRAME // 2)
    trip(rp, 10 * US)
    assert rp.window == pytest.approx(FRAME // 2 + FRAME, rel=0.01), "by one for each below one"


def test_swift_cuts_once_per_round_trip_and_by_half_at_the_most() -> None:
    rp = swift()
    trip(rp, 10_000 * US, 10**12)
    assert rp.window == 5 * FRAME
    trip(rp, 10_000 * US, 10**12 + 9_999 * US)
    assert rp.window == 5 * FRAME
    rp.come("lost", 10**12 + 10_000 * US)
    assert rp.window == 5 * FRAME // 2
    for k in range(2, 30):
        trip(rp, 10_000 * US, 10**12 + k * 10_000 * US)
    assert rp.window == 1, "a thousandth of a segment and no less"


@pytest.mark.parametrize("most", [8, 1_000])
def test_swifts_window_ends_at_its_largest(most: int) -> None:
    sender = Driver(SWIFT, Swift(most_window=most, initial_window=10), link_rate=10**10)
    sender.come("start")
    assert sender.window == min(10, most) * 1500
    for _ in range(most * 100):
        sender.set(acked=150_000, rtt=10 * US)
        sender.come("acked", 10**12)
        assert sender.window <= most * 1500
    assert sender.window == most * 1500


@pytest.mark.parametrize("module", ["plugins.swift", "plugins.timely"])
def test_the_page_has_the_parameters_of(module: str) -> None:
    assert check_page(module) > 0
