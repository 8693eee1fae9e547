"""What many machines add to a result: who hosted what, how well their clocks agreed, and the
result of a run that ended before its time."""

from __future__ import annotations

from typing import Any

from orchestrator.fidelity import DEGRADED, INVALID, VALID
from orchestrator.plan import ResolvedPlan
from orchestrator.targets.software.demand import demand_of
from orchestrator.verdict import check
from orchestrator.wire.clock import Estimate


def clocks(resolved: ResolvedPlan, estimates: dict[str, Estimate]) -> dict[str, Any]:
    """The clock part of a result: per machine, the bound for all, what it is measured against.

    Two machines may be off by both their errors. The plan measures nothing shorter than its
    reaction time: what takes less cannot be told from noise by its own feedback loop.
    """
    errors = sorted((estimate.error_ns for estimate in estimates.values()), reverse=True)
    bound_s = sum(errors[:2]) / 1e9
    measured_s = demand_of(resolved).reaction_ps / 1e12
    return {
        "machines": {name: estimate.table() for name, estimate in estimates.items()},
        "error_s": bound_s,
        "measured_s": measured_s,
        "verdict": VALID if bound_s <= measured_s else DEGRADED,
    }


def with_clocks(fidelity: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """The fidelity of a run, degraded when its clocks were too far apart."""
    if told["verdict"] == VALID:
        return fidelity
    reason = (
        f"degraded: the clocks of the machines may be {told['error_s'] * 1e6:.3g} us apart; the "
        f"plan measures times of {told['measured_s'] * 1e6:.3g} us"
    )
    grade = fidelity["verdict"] if fidelity["verdict"] == INVALID else DEGRADED
    return fidelity | {"verdict": grade, "reasons": [*fidelity["reasons"], reason]}


def ended_early(resolved: ResolvedPlan, cause: str) -> dict[str, Any]:
    """The result of a run that did not come to its end."""
    plan = resolved.plan
    return {
        "tailback": 1,
        "plan": plan.name,
        "title": plan.title,
        "target": "software",
        "seed": plan.seed,
        "verdict": INVALID,
        "cause": cause,
        "metrics": {},
        "units": {},
        "expectations": check(plan, {}, bare=False),
        "fidelity": {"verdict": INVALID, "reasons": [f"invalid: {cause}"]},
        "notes": [],
        "performance": {"data_frames": 0, "cpu_s": 0.0, "wall_s": 0.0, "frames_per_cpu_s": 0.0},
    }
