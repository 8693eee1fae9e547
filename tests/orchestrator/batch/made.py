"""Plans and points of the tests: a line of three for a few milliseconds."""

from __future__ import annotations

from typing import Any

from orchestrator.batch.experiment import Experiment, Point
from orchestrator.plan import Plan
from tests.orchestrator.worlds import line_of_three

FULL = {"metric": "utilization", "of": "switch.sink", "min": 0.9}


def random_flow(**changes: Any) -> Plan:
    """Frames in slots by chance, at half of the link's rate: every seed is a little different."""
    gen = {"plugin": "bernoulli", "from": "nic", "to": "sink", "rate": 5 * 10**8, "peak": 10**9}
    return Plan(**line_of_three(traffic={"gen": gen}) | changes)


def points(plan: Plan, *seeds: int) -> list[Point]:
    """Those of a plan, with these seeds."""
    subject = Experiment.of(plan)
    return [Point(subject, seed) for seed in seeds]
