"""Trials of drawn mutants: which of them count, which rows catch them, and what is said of the
others."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.batch import drawn_trial
from orchestrator.batch.batch_executor import MeasuredPoint
from orchestrator.batch.drawn_trial import DrawnTrial
from orchestrator.batch.experiment import SIMULATED, Experiment, Point
from orchestrator.batch.kernel_edit import KernelEdit, apply_edit
from orchestrator.batch.mutation_trial import MutatedPlan
from orchestrator.batch.point_worker import PointRunner
from orchestrator.batch.worker_replies import DONE
from orchestrator.engine.jit import plain
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.apply_mutant import mutated
from orchestrator.plan.mutant_table import Mutant
from orchestrator.registry import Registry
from tests.orchestrator.batch.made import random_flow

BUSY = {"metric": "utilization", "of": "switch.sink", "min": 0.45}
"""The flow sends at half of the link's rate, by chance."""
ANY = {"metric": "queue_bytes.max", "of": "switch.sink", "max": "1MB"}
NONE = {"plugin": "bernoulli", "from": "nic", "to": "sink", "rate": 5 * 10**8, "peak": 10**9}
TWO = {"gen": NONE, "other": NONE | {"rate": 10**8}}


def run(points: list[Point], failures: dict[str, str] | None) -> list[MeasuredPoint]:
    """As the workers do, in this process: most of a worker's time is its start."""
    found, runner = list[MeasuredPoint](), PointRunner()
    try:
        for point in points:
            apply_edit(point.subject.kernel)
            outcome, result = runner.answer(point.subject.table, point.seed)
            if outcome == DONE:
                found.append(MeasuredPoint(point, result, False))
            else:
                assert failures is not None
                failures[point.subject.digest] = str(result)
    finally:
        apply_edit(None)
    return found


def change(plan: Plan, **what: Any) -> MutatedPlan:
    mutant = Mutant(name="made", note=str(what), **what)
    other = mutated(plan, mutant)
    return MutatedPlan(mutant, other, Experiment.of(other, SIMULATED))


def tried(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, *drawn: MutatedPlan, seeds: int = 5
) -> dict[str, Any]:
    monkeypatch.setattr(drawn_trial, "draw_mutants", lambda *how: list(drawn))
    return DrawnTrial(plan, len(drawn), 1, range(1, seeds + 1)).run(run)


def flow(*expect: dict[str, Any], **changes: Any) -> Plan:
    return random_flow(expect=list(expect), **changes)


@pytest.mark.parametrize(
    ("expect", "what", "outcome"),
    [
        (BUSY, {"set": {"traffic.gen.rate": "250Mb/s"}}, "caught"),
        (ANY, {"set": {"traffic.gen.rate": "250Mb/s"}}, "survived"),
        (BUSY, {"set": {"traffic.gen.rate": "500Mb/s"}}, "equivalent"),  # it says so already
        (BUSY, {"set": {"nodes.switch.buffer": "149KB"}}, "equivalent"),  # never full
        (BUSY, {"set": {"traffic.gen.rate": "502Mb/s"}}, "within seeds"),
        (ANY, {"set": {"links.up.delay": "1us"}}, "within seeds"),
    ],
)
def test_what_comes_of_a_change(
    monkeypatch: pytest.MonkeyPatch, expect: dict[str, Any], what: dict[str, Any], outcome: str
) -> None:
    plan = flow(expect)
    result = tried(monkeypatch, plan, change(plan, **what))
    (mutant,) = result["mutants"]
    assert mutant["outcome"] == outcome, mutant
    assert result["counted"] == (outcome in ("caught", "survived"))
    assert result["ok"] == (outcome != "survived")
    assert bool(mutant["caught_by"]) == (outcome == "caught")
    assert bool(mutant["moved"]) == (outcome in ("caught", "survived"))


def test_a_survivor_says_what_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = flow(ANY)
    result = tried(monkeypatch, plan, change(plan, set={"traffic.gen.rate": "250Mb/s"}))
    moved = {one["quantity"]: one for one in result["mutants"][0]["moved"]}
    rate = moved["throughput_bps of gen in run"]
    assert rate["before"] == pytest.approx(5e8, rel=0.1)
    assert rate["after"] == pytest.approx(2.5e8, rel=0.1)


def test_a_kernel_that_does_the_same_is_equivalent_and_one_that_fails_is_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = flow(BUSY)
    base = Experiment.of(plan, SIMULATED)
    source = next(one for one in Registry.load().algorithms if one.name == "bernoulli")
    kernel = plain(source.kernels["next"])
    of = kernel.__module__, kernel.__name__
    own = ast.unparse(ast.parse(inspect.getsource(kernel)))
    head, _, body = own.partition("\n")
    drawn = [
        MutatedPlan(
            Mutant.model_construct(name="made", note=text, set={}, drop=[], expected_misses=[]),
            plan,
            base.with_kernel(KernelEdit(*of, f"{head}\n{text}\n", text)),
        )
        for text in (f"    unused = 1\n{body}", "    return missing")
    ]
    result = tried(monkeypatch, plan, *drawn)
    assert [one["outcome"] for one in result["mutants"]] == ["equivalent", "not run"]
    assert "missing" in result["mutants"][1]["reasons"]
    assert result["ok"]


def test_an_entity_that_the_mutant_removed_has_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = flow(ANY, traffic=TWO)
    gone = {"metric": "throughput_bps", "of": "other", "min": "50Mb/s"}
    judged = flow(gone, traffic=TWO)
    removed = change(plan, drop=["traffic.other"])
    assert tried(monkeypatch, plan, removed)["mutants"][0]["outcome"] == "within seeds"
    result = tried(monkeypatch, judged, change(judged, drop=["traffic.other"]))
    assert result["mutants"][0]["outcome"] == "within seeds"
    assert result["mutants"][0]["without_its_entity"]


def test_a_survivor_counts_only_if_it_moves_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = flow(ANY)
    removed = change(plan, set={"traffic.gen.rate": "250Mb/s"})
    further = range(6, 11)

    def lucky(points: list[Point], failures: dict[str, str] | None) -> list[MeasuredPoint]:
        """With further seeds the mutant measures what the plan does."""
        found = run(points, failures)
        own = run([Point(Experiment.of(plan, SIMULATED), one.seed) for one in points], None)
        return [
            replace(one, row=same.row) if one.point.seed in further else one
            for one, same in zip(found, own, strict=True)
        ]

    monkeypatch.setattr(drawn_trial, "draw_mutants", lambda *how: [removed])
    result = DrawnTrial(plan, 1, 1, range(1, 6)).run(lucky)
    assert result["mutants"][0]["outcome"] == "within seeds"
    assert result["ok"]


def test_what_cannot_be_tried_is_refused() -> None:
    with pytest.raises(BadInput, match=r"no \[\[expect\]\]"):
        DrawnTrial(random_flow(), 1, 1, [1, 2])
    with pytest.raises(BadInput, match="shows no spread"):
        DrawnTrial(flow(BUSY), 1, 1, [1])
