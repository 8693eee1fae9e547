"""The fluid models are solved as printed, and the shipped plans expect what comes of them."""

from __future__ import annotations

import random
from math import exp

import numpy as np
import pytest

from orchestrator.plan import Plan
from orchestrator.plan.expectation_checks import unit_of
from orchestrator.plan.metric_registry import bound
from orchestrator.registry import Registry
from tests.referees import dcqcn_flow, dcqcn_fluid, timely_fluid
from tests.referees.dcqcn_fluid import Dcqcn

NEAR, FAR = 4e-6, 85e-6
OCTETS = 1000
"""Of a packet of the model, and of a frame of the plan."""
FRAMES = 250_000
"""That leave a port of 40 Gb/s in the plan's phase of 50 ms."""


def bounds_of(plan: str, expected: str) -> tuple[float, float]:
    """Bounds of an expectation of a shipped plan: its name, or `METRIC of ENTITY in PHASE`."""
    registry = Registry.load()
    every = Plan.load(registry.plans()[plan], registry).check(registry).plan.expect
    (found,) = (
        one
        for one in every
        if expected == (one.name or f"{one.metric} of {one.of} in {one.phase}")
        and one.relative_to is None
    )
    unit = unit_of(found.metric, None)
    least, most = (float(bound(text or 0, unit, bare=False)) for text in (found.min, found.max))
    return least, most


@pytest.mark.parametrize("flows", [1, 2, 5, 10])
def test_nothing_changes_at_the_fixed_point(flows: int) -> None:
    model, rate = Dcqcn(), 5e6 / flows
    p = model.fixed_marking(flows)
    a, b, _, d, _ = model.shares(p, rate)
    alpha = 1 - (1 - p) ** (model.tau_alpha * rate)
    target = rate + a * alpha / (model.tau * (b + d))
    changes = model.change((rate, target, alpha), p, rate)
    scales = (rate / model.tau, target / model.tau, 1 / model.tau_alpha)
    assert np.abs(np.array(changes) / scales).max() < 1e-6
    assert model.marking(model.queue_at(p)) == pytest.approx(p)
    off = model.change((rate, target, alpha), 1.1 * p, rate)
    assert off[0] < -0.01 * rate, "more marks take rate"


def test_the_series_has_its_first_term() -> None:
    """Equation 14 is where the exponentials of equation 11 are 1: with rare marks, of one flow."""
    rare = Dcqcn(r_ai=1e-4)
    assert rare.approximate_marking(1) == pytest.approx(rare.fixed_marking(1), rel=0.01)
    usual = Dcqcn()
    assert usual.approximate_marking(2) == pytest.approx(9.25e-4, rel=0.001)
    assert usual.approximate_marking(10) == pytest.approx(7.85e-3, rel=0.001)


def test_it_is_where_figure_4_is() -> None:
    """20.2 KB and 125 KB are read off its axis, whose lines are as thick as 2 %."""
    model = Dcqcn()
    queues = [model.queue_at(model.fixed_marking(flows)) for flows in (2, 10)]
    assert queues == pytest.approx([20.2, 125], rel=0.03)


@pytest.mark.parametrize("flows", [2, 10])
def test_near_it_settles_at_the_fixed_point(flows: int) -> None:
    model = Dcqcn()
    solution = dcqcn_fluid.solve(model, [flows], NEAR, 0.12)
    end = solution.queue[-10_000:]
    assert end.mean() == pytest.approx(model.queue_at(model.fixed_marking(flows)), rel=0.01)
    assert end.std() < 0.2
    assert solution.rates[-1, 0] == pytest.approx(model.link / flows, rel=0.001)


def test_flows_that_begin_later_get_the_same_rate() -> None:
    solution = dcqcn_fluid.solve(Dcqcn(), [1, 1], NEAR, 0.1, starts=[0, 0.01], step=2e-6)
    assert solution.rates[5_000 - 1].tolist() == [pytest.approx(5e6), 0]
    assert solution.rates[-1] == pytest.approx([2.5e6, 2.5e6], rel=0.03)


def test_far_ten_flows_swing_and_two_do_not() -> None:
    swings = {
        flows: np.percentile(
            dcqcn_fluid.solve(Dcqcn(), [flows], FAR, 0.13).queue[-30_000:], [5, 95]
        )
        for flows in (2, 10)
    }
    assert swings[2] == pytest.approx([20, 20], abs=6)
    assert swings[10] == pytest.approx([0, 223], abs=5)


def test_half_the_step_gives_the_same() -> None:
    coarse, fine = (
        dcqcn_fluid.solve(Dcqcn(), [10], NEAR, 0.02, step=step) for step in (2e-6, 1e-6)
    )
    apart = np.abs(coarse.queue - fine.queue[::2])
    assert apart.max() < 0.003 * fine.queue.max(), "where marks jump, at KMAX"
    assert apart[-5_000:].max() < 0.1
    with pytest.raises(ValueError, match="below one step"):
        dcqcn_fluid.solve(Dcqcn(), [1], 1e-7, 0.01)


def within_a_fifth(bounds: tuple[float, float], value: float) -> bool:
    return bounds == pytest.approx((0.8 * value, 1.2 * value), rel=0.006)


@pytest.mark.parametrize("flows", [2, 10])
def test_the_plan_expects_the_fixed_point(flows: int) -> None:
    model, name = Dcqcn(), f"near{flows}"
    p = model.fixed_marking(flows)
    queue, marked = (
        bounds_of("dcqcn-fluid", f"{metric} of {name}-s.{name}-d in steady")
        for metric in ("queue_bytes.mean", "frames.marked")
    )
    assert within_a_fifth(queue, OCTETS * model.queue_at(p))
    assert within_a_fifth(marked, FRAMES * p)
    alpha = 1 - (1 - p) ** (model.tau_alpha * model.link / flows)
    found = bounds_of("dcqcn-fluid", f"dcqcn-rp.alpha.mean of {name}-h1.rp0 in steady")
    assert within_a_fifth(found, alpha)


@pytest.mark.parametrize("flows", [2, 10])
def test_the_plan_expects_what_chance_makes_of_it(flows: int) -> None:
    model = Dcqcn()
    p = dcqcn_flow.fixed_marking(model, flows)
    queue = bounds_of("dcqcn-fluid", f"queue-near{flows}-by-chance")
    assert within_a_fifth(queue, OCTETS * model.queue_at(p))
    if flows == 2:
        assert within_a_fifth(bounds_of("dcqcn-fluid", "marks-near2-by-chance"), FRAMES * p)


HALVES = (2.375, 2.4375, 2.46875, 2.484375, 2.4921875)
"""Packets per us after a cut of 5 % of 2.5: each stage of fast recovery halves what is missing."""


@pytest.mark.parametrize(
    ("gap", "stages", "last"),
    [(100, HALVES[:1], HALVES[1]), (700, (*HALVES, 2.49859375), 2.504296875)],
)
def test_one_flow_goes_through_the_stages(
    monkeypatch: pytest.MonkeyPatch, gap: int, stages: tuple[float, ...], last: float
) -> None:
    """From the fifth stage on the target grows by 0.005. Marks of the first 50 us bring no CNP."""

    class Even:
        """Draws that make each gap the same."""

        def __init__(self, seed: int) -> None:
            assert seed == 1

        def random(self) -> float:
            return 1 - exp(-gap * 1e-3)

    monkeypatch.setattr(random, "Random", Even)
    monkeypatch.setattr(dcqcn_flow, "CUTS", 1)
    before = 50 * stages[0]
    time = 55 * len(stages) + (gap + before - 55 * sum(stages)) / last
    expected = (gap + before) / time * 1e6
    assert dcqcn_flow.mean_rate(Dcqcn(), 1e-3) == pytest.approx(expected, rel=1e-9)


def test_one_flow_is_slower_with_more_marks() -> None:
    rates = [dcqcn_flow.mean_rate(Dcqcn(), p) for p in (5e-4, 1e-3, 2e-3)]
    assert rates == sorted(rates, reverse=True)
    with pytest.raises(ValueError, match="between 0 and 1"):
        dcqcn_flow.mean_rate(Dcqcn(), 0)


def test_the_plan_expects_the_limit_cycle() -> None:
    model = Dcqcn()
    solution = dcqcn_fluid.solve(model, [10], FAR, 0.13)
    queue, rate = solution.queue[-30_000:], 10 * solution.rates[-30_000:, 0]
    low, high = np.percentile(queue, [5, 95])
    port = "far10-s.far10-d"
    swing = bounds_of("dcqcn-fluid", f"queue_bytes.amplitude of {port} in steady")
    assert within_a_fifth(swing, OCTETS * (high - low) / 2)
    used = np.where(queue > 0, 1.0, np.minimum(rate / model.link, 1.0)).mean()
    least, most = bounds_of("dcqcn-fluid", f"utilization of {port} in steady")
    assert least < used < most


def test_timely_keeps_the_shares_that_it_began_with() -> None:
    model = timely_fluid.Timely(segment=512e3)
    for begins in ((5e9, 5e9), (7e9, 3e9)):
        solution = timely_fluid.solve(model, begins, 0.2)
        rates = solution.rates[100_000:].mean(axis=0)
        assert solution.queue[100_000:].max() == pytest.approx(66.6 * 8e3, rel=0.01)
        if begins[0] == begins[1]:
            assert rates[0] == rates[1]
            continue
        assert rates == pytest.approx([6.44e9, 2.97e9], rel=0.01)
        for number, figure in ((0, 6.3e9), (1, 2.8e9)):
            for phase in ("early", "steady"):
                name = f"throughput_bps of uneven-{number + 1} in {phase}"
                least, most = bounds_of("timely-start-rates", name)
                assert within_a_fifth((least, most), figure)
                assert least < rates[number] < most


def test_timely_with_an_update_for_each_segment_drifts_apart() -> None:
    """Where the equations keep 7 and 3 Gb/s, single updates take ever more from the slower flow."""
    model = timely_fluid.Timely(segment=512e3)
    rates = timely_fluid.solve_by_segment(model, (7e9, 3e9), 0.2).rates
    early, late = rates[10_000:60_000].mean(axis=0), rates[100_000:].mean(axis=0)
    assert early[0] / early[1] > 2
    assert late[0] / late[1] > 1.5 * early[0] / early[1]
