"""Which mutants the shipped plans list. That they are caught is held by `make plan-mutants`.

That command fails for a mutant that survives without a reason, so that at most those survive whose
reason is listed, and their share is bounded here.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from orchestrator.batch.batch_executor import MeasuredPoint, run_points
from orchestrator.batch.drawn_trial import DrawnTrial
from orchestrator.batch.experiment import Point
from orchestrator.plan import Plan
from orchestrator.plan.mutant_table import Mutant
from orchestrator.registry import Registry
from orchestrator.terminal.plan_loading import load_plan

MOST_SURVIVE = 0.05
"""Of all that are listed; those that are the same do not count."""
WITHOUT = {
    "netfpga-fig11-w0": "it is a mutant itself",
    "ibm-rack640": "above a minute a run; ibm-rack64 is the same in small",
    "iperf-p4qcn": "programs run on software alone",
    "iperf-qcn": "programs run on software alone",
    "iperf-udp": "programs run on software alone",
}
"""Plans with a reaction point and expectations, and no mutants."""


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    registry = Registry.load()
    return {name: Plan.load(path, registry) for name, path in registry.plans().items()}


def counted(plan: Plan) -> list[Mutant]:
    return [mutant for mutant in plan.mutant if not mutant.equivalent]


def sets(part: str, value: object) -> Callable[[Mutant], bool]:
    return lambda mutant: any(
        key.endswith(f".{part}") and given == value for key, given in mutant.set.items()
    )


def switches_off(mutant: Mutant) -> bool:
    return any(key.endswith(("reaction_point", "congestion_point")) for key in mutant.drop)


def schemes(plan: Plan) -> set[str]:
    """The plugins of its hosts' reaction points; none where no congestion point notifies them."""
    if "congestion_point" not in plan.to_toml():
        return set()
    points = [getattr(node, "reaction_point", None) for node in plan.nodes.values()]
    return {point.plugin for point in points if point is not None}


def test_survivors_that_are_listed_are_few(plans: dict[str, Plan]) -> None:
    every = [mutant for plan in plans.values() for mutant in counted(plan)]
    survive = [mutant.name for mutant in every if mutant.survives]
    assert len(every) > 400
    assert len(survive) <= MOST_SURVIVE * len(every), survive


def test_every_scheme_is_switched_off_and_qcn_made_not_to_cut(plans: dict[str, Plan]) -> None:
    lacking = []
    for name, plan in plans.items():
        used = schemes(plan)
        if not used or not plan.expect or name in WITHOUT:
            continue
        caught = [mutant for mutant in counted(plan) if not mutant.survives]
        if not any(map(switches_off, caught)):
            lacking.append(f"{name}: no mutant without its scheme")
        if "qcn-rp" in used and not any(map(sets("gd", 0), caught)):
            lacking.append(f"{name}: no mutant with Gd = 0")
    assert not lacking


def test_what_has_no_mutants_is_there(plans: dict[str, Plan]) -> None:
    assert {name for name in WITHOUT if not plans[name].mutant} == set(WITHOUT)


@pytest.mark.parametrize("name", [f"netfpga-fig{number:02}" for number in range(8, 14)])
def test_the_figures_of_netfpga_are_judged_by_the_weight(plans: dict[str, Plan], name: str) -> None:
    found = [mutant for mutant in counted(plans[name]) if sets("weight", 0)(mutant)]
    assert found
    assert not any(mutant.survives for mutant in found)


# Mutants that a fixed seed draws, of a few quick plans: their rows catch all that count.
#
# `make plan-mutants DRAW=200` tries more of them, and every plan.

SEED, DRAWN, SEEDS = 5, 6, range(1, 6)


def run(points: list[Point], failures: dict[str, str] | None) -> list[MeasuredPoint]:
    return run_points(points, jobs=len(os.sched_getaffinity(0)), failures=failures)


@pytest.mark.parametrize("name", ["dctcp", "timely"])
def test_no_drawn_mutant_that_counts_survives(name: str) -> None:
    result = DrawnTrial(load_plan(name, []), DRAWN, SEED, SEEDS).run(run)
    survivors = {
        one["change"]: one["moved"] for one in result["mutants"] if one["outcome"] == "survived"
    }
    assert not survivors
    assert result["ok"]
    assert len(result["mutants"]) == DRAWN
    assert any(one["kernel"] for one in result["mutants"])
    assert result["caught"] >= 2
