"""Search for the pace at which the machine holds a plan on a target in real time.

A small machine cannot send the frames of 10 Gb/s in real time, and is idle most of the time at 10
Mb/s. So a long plan is tried faster than real time first, and a short one slower, so that the same
lateness is a smaller share of the run; a plan whose run was too fast is run again at the pace that
the run advises.
"""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.batch.batch_executor import RunPoint
from orchestrator.batch.experiment import Point
from orchestrator.batch.result_store import Row
from orchestrator.plan import Plan
from orchestrator.run.verdict import INVALID
from orchestrator.targets.software.pace_step import SLOWEST

HELD = 2.5e8
"""Octets per second that a small machine sends on all links of a plan together: a first estimate,
which the runs correct."""
AT_FIRST_S = 20.0
"""A plan that would take longer is tried faster first, FASTEST times at most."""
FASTEST = 10.0
AT_LEAST_S = 8.0
"""A plan that would take less is tried slower: the cost is small against that of starting a run."""
AT_MOST_S = 240.0
"""A slower run that would take longer is not made; the faster one stays, as invalid."""
TRIES = 4

RunAt = Callable[[Point, float], Row]
"""Runs a point at a pace (seconds of the run per second)."""


def search_pace(run_at: RunAt, plan_of: Callable[[Point], Plan]) -> RunPoint:
    """Function that runs points; it repeats the first of a plan until it finds the plan's pace."""
    found: dict[str, float] = {}

    def carry(point: Point) -> Row:
        plan = plan_of(point)
        seconds = plan.duration / 1e12
        pace = found.get(point.subject.digest) or _first(plan)
        row = run_at(point, pace)
        for _ in range(TRIES - 1):
            slower = row["fidelity"].get("advised_pace")
            if row["fidelity"]["verdict"] != INVALID or not slower or seconds / slower > AT_MOST_S:
                break
            pace = slower
            row = run_at(point, pace)
        found[point.subject.digest] = pace
        return row

    return carry


def octets(plan: Plan) -> float:
    """Octets that all its links could carry during the plan."""
    return plan.duration / 1e12 * sum(link.rate for link in plan.links.values()) / 8


def real_seconds(plan: Plan) -> float:
    """Estimated duration (s) of a run in real time, at the pace that the machine holds."""
    return max(plan.duration / 1e12, octets(plan) / HELD)


def _first(plan: Plan) -> float:
    seconds = plan.duration / 1e12
    if plan.programs:  # programs follow the machine's clock
        return 1.0
    held = max(min(seconds / real_seconds(plan), seconds / AT_LEAST_S), SLOWEST)
    return held if held < 1 else min(max(1.0, seconds / AT_FIRST_S), FASTEST)
