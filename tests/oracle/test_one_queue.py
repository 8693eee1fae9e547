"""The negative control w = 0, against a model that shares nothing with the engine."""

from __future__ import annotations

from statistics import mean

import pytest

import tailback
from tests.oracle.one_queue import OneQueue

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
