"""Search for the pace at which the machine holds a plan on a target in real time.

In a second of 10 Gb/s there are more frames than a small machine can send, in 100 s of 10 Mb/s it
is idle for most of the time. So a long plan is tried faster than the clock first, a short one is
given its time, since a machine that is late by as much is late by less of the run then; and one
whose run says that it was too fast is run again at the pace which that run advises.
"""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.plan import Plan
from orchestrator.points.carry import Carry
from orchestrator.points.store import Row
from orchestrator.points.subject import Point
from orchestrator.run.verdict import INVALID
from orchestrator.targets.software.paces import SLOWEST

HELD = 2.5e8
"""Octets per second that a small machine sends, all links of a plan taken together: about what a
run takes. What it really holds the runs themselves say."""
AT_FIRST_S = 20.0
"""A plan that would take longer is tried faster first, FASTEST times at most."""
FASTEST = 10.0
AT_LEAST_S = 8.0
"""A plan that would take less is tried slower: it costs little, beside beginning a run at all."""
AT_MOST_S = 240.0
"""A slower run that would take longer is not made; the quicker one stands, and is invalid."""
TRIES = 4

RunAt = Callable[[Point, float], Row]
"""Runs a point at a pace (seconds of the run per second)."""


def at_a_pace_it_holds(run_at: RunAt, plan_of: Callable[[Point], Plan]) -> Carry:
    """What runs points, the first of a plan as often as it takes to find the plan's pace."""
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
    """What all its links could carry together."""
    return plan.duration / 1e12 * sum(link.rate for link in plan.links.values()) / 8


def real_seconds(plan: Plan) -> float:
    """About how long a run of it in real time takes: as long as it says, or at the pace held."""
    return max(plan.duration / 1e12, octets(plan) / HELD)


def _first(plan: Plan) -> float:
    seconds = plan.duration / 1e12
    if plan.programs:  # they know no clock but the machine's
        return 1.0
    held = max(min(seconds / real_seconds(plan), seconds / AT_LEAST_S), SLOWEST)
    return held if held < 1 else min(max(1.0, seconds / AT_FIRST_S), FASTEST)
