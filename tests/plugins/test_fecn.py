"""FECN's fixed numbers, its switch and its ends, and the calculator of its stability."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from pydantic import ValidationError

from orchestrator.engine.records import CNM, ECHO, NEVER
from plugins.fecn_cp import FECN_CP, UNIT, FecnCongestionPoint, queue_control
from plugins.fecn_endpoints import FECN_RP, FecnReactionPoint
from plugins.fecn_stability import pause_interval, stability
from tests.plugins.described import check_page
from tests.plugins.scheme_driver import Driver

FRAME, GBIT = 1500, 10**9
LINK = 10 * GBIT
MS = 10**9


def control(queue: int, **params: object) -> float:
    """f of a queue in frames."""
    record = FecnCongestionPoint(**params).record().view(np.recarray)[0]
    return int(queue_control(record, queue)) / UNIT


@pytest.mark.parametrize(
    ("frames", "expected"),
    [(0, 1.002), (16, 1), (32, 0.91667), (80, 0.73333), (100, 0.67692)],
)
def test_the_hyperbola_has_the_papers_values(frames, expected):
    assert control(frames * FRAME) == pytest.approx(expected, abs=5e-6)


def test_the_hyperbola_never_falls_below_c():
    assert control(10**9) == pytest.approx(0.1, abs=1e-6)
    assert control(100 * FRAME, c=Fraction(4, 5)) == pytest.approx(0.8, abs=1e-6)


def test_the_linear_function_is_equation_2():
    for frames in (16, 20, 40, 100):
        expected = 1 - 0.06 * (frames - 16) / 16
        found = control(frames * FRAME, function="linear", k=Fraction("0.06"))
        assert found == pytest.approx(expected, abs=2e-6)
    assert control(0, function="linear") == pytest.approx(1.002, abs=2e-6)
    assert control(8 * FRAME, function="linear") == pytest.approx(1.001, abs=2e-6)


def test_a_later_stage_is_steeper_and_the_last_one_goes_on():
    found = {
        stages: [control(n * 16 * FRAME, function="multistage", stages=stages) for n in range(1, 6)]
        for stages in (1, 2, 3)
    }
    assert found[1] == pytest.approx([1, 0.998, 0.996, 0.994, 0.992], abs=3e-6)
    assert found[2] == pytest.approx([1, 0.998, 0.994, 0.990, 0.986], abs=3e-6)
    assert found[3] == pytest.approx([1, 0.998, 0.994, 0.988, 0.982], abs=3e-6)


def switch(**params: object) -> Driver:
    """A queue of 10 Gb/s that one frame has come to."""
    given = {"average": Fraction(1), "gamma": Fraction(1)} | params
    cp = Driver(FECN_CP, FecnCongestionPoint(**given), service_rate=LINK, bytes=16 * FRAME)
    cp.set(congestion_point_timer=NEVER)
    cp.come("arrival", 0, length=0)
    assert cp.congestion_point_timer == given.get("interval", MS)
    return cp


def interval(cp: Driver, octets: int) -> int:
    """One interval in which so many octets arrive; the advertised rate."""
    cp.come("arrival", 0, length=octets)
    cp.come("timer", cp.congestion_point_timer)
    return int(cp.state["rate"][0])


def test_the_advertised_rate_is_divided_by_the_load():
    cp = switch(expected_flows=10)
    assert int(cp.state["rate"][0]) == GBIT
    full = LINK // 8 // 1000
    assert interval(cp, full) == pytest.approx(GBIT, rel=1e-5)
    assert interval(cp, 2 * full) == pytest.approx(GBIT / 2, rel=1e-5)
    assert interval(cp, full // 4) == pytest.approx(2 * GBIT, rel=1e-5)
    assert interval(cp, full // 100) == LINK, "never more than the link"


def test_the_rate_is_averaged_and_gamma_counts_above_the_set_point():
    full = LINK // 8 // 1000
    assert interval(switch(average=Fraction(1, 4)), 2 * full) == pytest.approx(
        0.875 * GBIT, rel=1e-5
    )
    cp = switch(gamma=Fraction("0.98"))
    assert interval(cp, full) == pytest.approx(GBIT, rel=1e-5)
    cp.set(bytes=32 * FRAME)
    assert interval(cp, full) == pytest.approx(0.98 * 0.916667 * GBIT, rel=1e-5)


@pytest.mark.parametrize("alpha", [Fraction(1, 8), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("beta", [Fraction(0), Fraction(1, 2), Fraction(3, 2)])
def test_additive_control_is_equation_5(alpha, beta):
    full = LINK // 8 // 1000
    for gamma, frames, load in product((0.98, 1), (0, 8, 16, 40, 100), (0, 0.5, 0.98, 1, 1.5)):
        cp = switch(function="additive", alpha=alpha, beta=beta, gamma=Fraction(str(gamma)))
        cp.set(bytes=frames * FRAME)
        spare = float(alpha) * (gamma - load) * full
        excess = float(beta) * (frames - 16) * FRAME
        step = max(1 + (spare - excess) / (gamma * full), 1 / 16)
        assert interval(cp, int(load * full)) == pytest.approx(GBIT * step, rel=1e-5)


def test_additive_control_stays_within_its_bounds():
    full = LINK // 8 // 1000
    eager = {"function": "additive", "alpha": Fraction(10), "beta": Fraction(10)}
    assert interval(switch(**eager), 0) == pytest.approx(5 * GBIT, rel=1e-5)
    assert interval(switch(**eager), 40 * full) == pytest.approx(GBIT / 16, rel=1e-5)
    long = switch(**eager, interval=10**12)
    long.set(bytes=10**8, service_rate=10**13)
    assert 0 < interval(long, 10**12) <= 10**13


def test_a_probe_is_lowered_and_never_raised():
    cp = switch()
    cp.come("probe", feedback=LINK)
    assert cp.frame["feedback"][0] == GBIT
    cp.come("probe", feedback=GBIT // 2)
    assert cp.frame["feedback"][0] == GBIT // 2


def test_numbers_that_would_not_fit_are_refused():
    with pytest.raises(ValidationError, match="ratio of numbers up to 4096"):
        FecnCongestionPoint(a=Fraction(10_001, 10_000))


def test_a_source_asks_every_interval_and_obeys_the_echo():
    rp = Driver(FECN_RP, FecnReactionPoint(initial_rate=GBIT), link_rate=LINK, timer=NEVER)
    rp.come("start", 5)
    assert (rp.active, rp.rate) == (1, GBIT)
    assert 5 <= rp.timer < 5 + MS
    assert rp.come("timer", rp.timer) == 1
    assert rp.message["feedback"][0] == LINK
    rp.come("feedback", 9, kind=ECHO, feedback=3 * GBIT)
    assert rp.rate == 3 * GBIT
    rp.come("feedback", 9, kind=CNM, feedback=63)
    assert rp.rate == 3 * GBIT


def test_alpha_and_the_three_slopes():
    found = stability(LINK, MS, FRAME, 16 * FRAME)
    assert found.alpha == Fraction(2500, 3)
    assert (float(found.deadbeat_slope), float(found.limit)) == (0.0192, 0.0384)
    expected = {"0.0192": "converges in one step", "0.0384": "oscillates", "0.039": "diverges"}
    assert {k: found.verdict(Fraction(k)) for k in expected} == expected
    one = found.queues(Fraction("0.0192"), Fraction(60), 3)
    assert one == [16, 16, 16]
    two = found.queues(Fraction("0.0384"), Fraction(60), 4)
    assert two == [-28, 60, -28, 60]
    three = found.queues(Fraction("0.039"), Fraction(17), 200)
    assert abs(three[-1] - 16) > 100


@pytest.mark.parametrize("average", ["1", "1/2", "1/4", "9/10"])
def test_the_limit_with_averaging_is_where_the_model_stops_converging(average):
    found = stability(LINK, MS, FRAME, 16 * FRAME, Fraction(average))
    inside, outside = (found.limit_averaged * Fraction(part, 100) for part in (98, 102))
    settled = [float(abs(q - 16)) for q in found.queues(inside, Fraction(17), 600)]
    assert max(settled[-20:]) < max(settled[:20]) / 2
    left = [float(abs(q - 16)) for q in found.queues(outside, Fraction(17), 600)]
    assert max(left[-20:]) > 2 * max(left[:20])


def test_the_longest_pause_is_24_microseconds():
    assert pause_interval(LINK, 100 * FRAME, 80 * FRAME) == Fraction(24, 10**6)


@pytest.mark.parametrize("module", ["plugins.fecn_cp", "plugins.fecn_endpoints"])
def test_the_page_has_the_parameters_of(module: str) -> None:
    assert check_page(module) > 0
