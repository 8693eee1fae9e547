"""The delay margin of QCN's fluid model, against the model itself integrated in time."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.plan.units import parse_duration
from orchestrator.terminal.plan_loading import load_plan
from plugins.qcn_stability import Loop

GIGABIT = 1e9 / 8 / 1500


def loop(sources: int, weight: float) -> Loop:
    """NetFPGA's parameters at 1 Gb/s: Q_eq of 33 KB, one frame of a hundred sampled."""
    return Loop(GIGABIT, sources, weight, 22, 0.01, 100, 0.5e6 / 8 / 1500)


def swings(of: Loop, delay: float) -> float:
    """By how much a small push has grown, or shrunk, between early and late in a long run.

    The equations of the module's head, linear, by steps of Euler; it knows nothing of frequencies.
    """
    step = delay / 200
    a = of.share * of.rate / of.sources
    k = (1 - of.share) ** -of.cycle - 1
    late = int(60 / of.crossover() / step)
    behind = round(delay / step)
    f = np.zeros(late + behind)
    r = t = 0.0
    q = 1.0
    queue = np.zeros(late)
    for at in range(late):
        f[at + behind] = q + of.weight / (of.rate * of.share) * of.sources * r
        slope_r = (
            -of.gain * a * (of.rate / of.sources) * f[at]
            - of.gain * a * of.rest * r
            + a / (2 * k) * (t - r)
        )
        slope_t = -a * (t - r)
        queue[at] = q
        q += step * of.sources * r
        r += step * slope_r
        t += step * slope_t
    early, end = queue[late // 4 : late // 2], queue[3 * late // 4 :]
    return float(np.ptp(end) / np.ptp(early))


@pytest.mark.parametrize("sources", [1, 8])
@pytest.mark.parametrize("weight", [0.5, 2])
def test_it_is_where_the_model_begins_to_swing(sources: int, weight: float) -> None:
    of = loop(sources, weight)
    assert swings(of, 0.85 * of.longest_delay()) < 1 < swings(of, 1.15 * of.longest_delay())


def test_growth_of_the_queue_is_what_damps() -> None:
    """w = 0 leaves an integrator behind an integrator."""
    margins = [loop(8, weight).longest_delay() for weight in (0, 0.5, 1, 2, 4)]
    assert margins == sorted(margins)
    assert margins[0] < 0.2e-3 < 2e-3 < margins[3]


def test_more_sources_bear_longer_delays() -> None:
    margins = [loop(sources, 2).longest_delay() for sources in (1, 2, 4, 8, 16)]
    assert margins == sorted(margins)


def test_the_shipped_map_is_laid_under_these_numbers() -> None:
    sweep = load_plan("qcn-stability", []).sweep
    assert sweep is not None
    assert [line.at["weight"] for line in sweep.overlay] == ["0", "1", "2", "4"]
    for line in sweep.overlay:
        for sources, delay in line.points:
            round_trip = loop(int(sources), float(line.at["weight"])).longest_delay()
            assert 2 * parse_duration(delay) / 1e12 == pytest.approx(round_trip, rel=1e-3)
