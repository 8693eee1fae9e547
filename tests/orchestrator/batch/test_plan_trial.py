"""A plan over seeds and mutants for the page of the papers: what is counted, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.batch.plan_trial import PlanTrial, plan_expectations
from orchestrator.errors import Refused
from orchestrator.plan import Plan
from tests.orchestrator.batch.made import FULL
from tests.orchestrator.worlds import line_of_three

LESS = {"name": "less", "set": {"traffic.gen.rate": "500Mb/s"}}
ROOMY = {"name": "roomy", "set": {"nodes.switch.buffer": "200KB"}}
SAME = ROOMY | {
    "name": "alike",
    "set": {"nodes.switch.buffer": "300KB"},
    "equivalent": "never full",
}


def plan(**changes: Any) -> Plan:
    return Plan(**line_of_three(expect=[FULL], mutant=[LESS, ROOMY, SAME]) | changes)


def found(showing: PlanTrial, **utilization: float) -> dict[str, MeasuredPoint]:
    """Made-up results: full everywhere, and what each mutant has instead."""
    assert showing.trial is not None
    said = {one.subject.digest: one.mutant.name for one in showing.trial.changed}
    return {
        point.digest: MeasuredPoint(
            point, row(utilization.get(said.get(point.subject.digest, ""), 1.0)), False
        )
        for point in (*showing.own, *showing.mutants)
    }


def row(utilization: float) -> dict[str, Any]:
    fidelity = {"verdict": "valid", "reasons": []}
    return {
        "metrics": {"run": {"switch.sink": {"utilization": utilization}}},
        "fidelity": fidelity,
        "notes": [],
    }


def test_mutants_are_counted_as_mutate_counts_them() -> None:
    showing = PlanTrial.of(plan(), "simulated", [1, 2])
    judged = showing.judge(found(showing, less=0.5))
    assert judged["mutants"] == {
        "counted": 2,
        "seeds": [1, 2],
        "caught": 1,
        "as_said": False,
        "others": [
            {"name": "roomy", "outcome": "survived", "why": ""},
            {"name": "alike", "outcome": "same", "why": "never full"},
        ],
    }
    every = showing.judge(found(showing, less=0.5, roomy=0.4))["mutants"]
    assert (every["caught"], every["as_said"]) == (2, True)


def test_a_survivor_with_a_reason_is_as_said_and_counts_as_not_caught() -> None:
    listed = ROOMY | {"survives": "never full here"}
    showing = PlanTrial.of(plan(mutant=[LESS, listed]), "simulated", [1, 2])
    mutants = showing.judge(found(showing, less=0.5))["mutants"]
    assert (mutants["counted"], mutants["caught"], mutants["as_said"]) == (2, 1, True)
    (only,) = mutants["others"]
    assert only == {"name": "roomy", "outcome": "survived as said", "why": "never full here"}


def test_every_seed_counts_and_one_that_lacks_is_not_run() -> None:
    showing = PlanTrial.of(plan(), "simulated", [1, 2, 3])
    results = found(showing)
    results[showing.own[1].digest] = MeasuredPoint(showing.own[1], row(0.7), False)
    judged = showing.judge(results)
    (only,) = judged["rows"]
    assert (judged["verdict"], only["met_in"], only["count"]) == ("missed", 2, 3)
    assert only["mean"] == 0.9
    del results[showing.own[1].digest]
    judged = showing.judge(results)
    assert (judged["verdict"], judged["run"], judged["rows"]) == ("not run", 2, [])
    assert judged["mutants"]["caught"] is None


def test_a_mutant_that_lacks_a_seed_makes_no_count() -> None:
    showing = PlanTrial.of(plan(), "simulated", [1, 2])
    results = found(showing, less=0.5)
    del results[showing.mutants[-1].digest]
    judged = showing.judge(results)
    assert (judged["verdict"], judged["mutants"]["counted"]) == ("met", 2)
    assert judged["mutants"]["caught"] is None


def test_what_a_target_refuses_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*of: object) -> None:
        raise Refused("target simulated", "no such thing here", "Take another.")

    monkeypatch.setattr("orchestrator.run.execute_run.refuse_unsupported", refuse)
    showing = PlanTrial.of(plan(), "simulated", [1])
    assert showing.own == showing.mutants == []
    assert showing.judge({})["verdict"] == "refused"
    assert "no such thing here" in showing.judge({})["refused"]


def test_what_is_asked_is_known_before_anything_is_run() -> None:
    why = {"note": "line rate", "source": "text", "known_miss": "it starts late"}
    (only,) = plan_expectations(plan(expect=[FULL | why]))
    assert (only["min"], only["source"], only["note"]) == (0.9, "text", "line rate")
    assert only["differs"] == "it starts late"
    assert plan_expectations(plan())[0]["differs"] == ""
