"""Mutants that a fixed seed draws, of a few quick plans: their rows catch all that count.

`make plan-mutants DRAW=200` tries more of them, and every plan.
"""

from __future__ import annotations

import os

import pytest

from orchestrator.batch.batch_executor import MeasuredPoint, run_points
from orchestrator.batch.drawn_trial import DrawnTrial
from orchestrator.batch.experiment import Point
from orchestrator.terminal.plan_loading import load_plan

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
