"""Verdict of a distributed run: hosts, clock agreement, results of runs that ended early."""

from __future__ import annotations

from typing import Any

from orchestrator.plan import ResolvedPlan
from orchestrator.run.run_fidelity import DEGRADED, INVALID, VALID
from orchestrator.run.verdict import check
from orchestrator.targets.software.timing_demand import demand_of
from orchestrator.testbed.controller.clock_correction import ClockCorrection
from orchestrator.testbed.wire.clock_offset import Estimate


def clocks(
    resolved: ResolvedPlan, estimates: dict[str, Estimate], pace: float = 1.0
) -> dict[str, Any]:
    """The clock part of a result: per machine, the bound for all, what it is measured against.

    Two machines may be off by both their errors. The plan measures nothing shorter than its
    reaction time: its own feedback loop cannot distinguish less from noise. Errors are in
    the run's time: at a pace of 0.1 clocks that are 10 us apart put its frames 1 us apart. Offsets
    are those of the clocks.
    """
    tables = {name: estimate.table() for name, estimate in estimates.items()}
    for name, table in tables.items():
        table["error_s"] = pace * estimates[name].error_ns / 1e9
    bound_s = sum(sorted((float(row["error_s"]) for row in tables.values()), reverse=True)[:2])
    measured_s = demand_of(resolved).reaction_ps / 1e12
    return {
        "machines": tables,
        "error_s": bound_s,
        "measured_s": measured_s,
        "verdict": VALID if bound_s <= measured_s else DEGRADED,
    }


def add_retimings(
    clock_table: dict[str, Any], retimings: dict[str, ClockCorrection], duration_ps: int
) -> None:
    """Per machine, what was added to the times of its captures, and how far from the controller's
    time its samples were taken and its timeline was carried out: these can only be reported."""
    for machine, retiming in retimings.items():
        row = clock_table["machines"][machine]
        row["captures"] = retiming.table()
        row["samples"] = {"off_s": retiming.furthest_ps(duration_ps) / 1e12}
    rows = clock_table["machines"].values()
    off_s = max((row["samples"]["off_s"] for row in rows), default=0.0)
    if off_s > clock_table["measured_s"]:
        clock_table |= {"verdict": DEGRADED, "off_s": off_s}


def with_clocks(fidelity: dict[str, Any], clock_table: dict[str, Any]) -> dict[str, Any]:
    """The fidelity of a run, degraded when its clocks were too far apart."""
    if clock_table["verdict"] == VALID:
        return fidelity
    measures = f"the plan measures times of {clock_table['measured_s'] * 1e6:.3g} us"
    reasons = []
    if clock_table["error_s"] > clock_table["measured_s"]:
        apart = f"{clock_table['error_s'] * 1e6:.3g} us"
        reasons.append(f"degraded: the clocks of the machines may be {apart} apart; {measures}")
    if "off_s" in clock_table:
        off = f"{clock_table['off_s'] * 1e6:.3g} us"
        reasons.append(
            f"degraded: samples and timeline of a machine were {off} off its time; {measures}"
        )
    grade = fidelity["verdict"] if fidelity["verdict"] == INVALID else DEGRADED
    return fidelity | {"verdict": grade, "reasons": [*fidelity["reasons"], *reasons]}


def ended_early(resolved: ResolvedPlan, cause: str, target: str) -> dict[str, Any]:
    """The result of a run that did not come to its end."""
    plan = resolved.plan
    return {
        "tailback": 1,
        "plan": plan.name,
        "title": plan.title,
        "target": target,
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
