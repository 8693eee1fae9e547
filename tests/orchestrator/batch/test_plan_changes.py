"""Changes of plans: each operator changes what it says, and a seed draws the same ones."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest

from orchestrator.batch.experiment import SIMULATED, Experiment
from orchestrator.batch.mutant_draw import draw_mutants
from orchestrator.batch.plan_changes import PlanChange, PlanChanges, _kind, _scaled
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from orchestrator.terminal.plan_loading import load_plan

OPERATORS = (
    *("number changed", "other value", "thresholds swapped", "exchanged", "plugin removed"),
    *("source removed", "source doubled", "source silent", "host removed", "step removed"),
)


@pytest.fixture(scope="module")
def fig11() -> Plan:
    return load_plan("netfpga-fig11", [])


def drawn(plan: Plan, count: int = 300) -> list[PlanChange]:
    changes, random = PlanChanges(plan.check(Registry.load())), Random(1)
    return [changes.draw(random) for _ in range(count)]


@pytest.mark.parametrize(
    ("value", "factor", "scaled"),
    [
        ("25ms", "1/2", "12.5ms"),
        ("33KB", "4/5", "26.4KB"),
        ("66B", "4/5", "53B"),
        ("950Mb/s", "6/5", "1140Mb/s"),
        ("25ms", "0", "0ms"),
        ("1/128", "2", "1/64"),
        ("0.5", "1/2", "1/4"),
        ("2.5ms", "1/2", "1.25ms"),
        ("1ms", "1/2", "0.5ms"),
        ("1000Gb/s", "2", "2000Gb/s"),
        (5, "6/5", 6),
        (5, "1/2", 2),
        (True, "2", None),
        ("enqueued", "2", None),
        ("cnm", "2", None),
    ],
)
def test_numbers_are_scaled_as_plans_write_them(value: Any, factor: str, scaled: Any) -> None:
    assert _scaled(value, Fraction(factor)) == scaled


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("25ms", "s"),
        ("33KB", "B"),
        ("950Mb/s", "b/s"),
        ("1/128", "ratio"),
        ("0.5", "ratio"),
        (5, ""),
    ],
)
def test_only_quantities_of_one_kind_are_swapped(value: Any, kind: str) -> None:
    assert _kind(value) == kind


def test_nothing_is_drawn_that_changes_nothing(fig11: Plan) -> None:
    for one in drawn(fig11):
        if one.operator == "number changed" and "= 0" not in one.change:
            _, _, rest = one.change.partition(" = ")
            new, _, old = rest.partition(" for ")
            assert new != old, one.change


def test_every_operator_is_drawn(fig11: Plan) -> None:
    found = {one.operator for one in drawn(fig11)}
    assert found == set(OPERATORS)


def test_alike_holders_change_together_or_one_alone(fig11: Plan) -> None:
    numbers = [one for one in drawn(fig11, 2000) if one.operator == "number changed"]
    sizes = {len(one.set) for one in numbers if "reaction_point.gd" in one.change}
    assert sizes == {1, 2}


def test_what_operators_change(fig11: Plan) -> None:
    by_change = {one.change: one for one in drawn(fig11, 2000)}
    removed = by_change["source removed: gen3"]
    assert (removed.set, removed.drop) == ({}, ("traffic.gen3",))
    host = by_change["host removed: nic2"]
    assert host.drop == tuple(f"traffic.gen{at}" for at in range(5, 9))
    silent = by_change["source silent: gen8 from 6s on"]
    assert silent.set["timeline"][-1] == {"at": "6s", "stop": "gen8"}
    assert len(silent.set["timeline"]) == 3
    assert by_change["source doubled: gen1"].set == {"traffic.gen1.flows": 2}
    assert by_change["step removed: timeline[1]"].drop == ("timeline[1]",)
    swapped = "thresholds swapped: nodes.*.reaction_point.ai_rate and hai_rate (500kb/s, 5Mb/s)"
    assert by_change[swapped].set == {
        f"nodes.{nic}.reaction_point.{key}": rate
        for nic in ("nic1", "nic2")
        for key, rate in (("ai_rate", "5Mb/s"), ("hai_rate", "500kb/s"))
    }
    assert "plugin removed: nodes.switch.congestion_point" in by_change


def test_values_of_two_networks_are_exchanged() -> None:
    plan = load_plan("fecn-table1", [])
    found = [one for one in drawn(plan, 2000) if one.operator == "exchanged"]
    of_switches = [one for one in found if "congestion_point" in one.change]
    for one in of_switches or found:
        first, second = one.set
        assert first.split(".")[2:] == second.split(".")[2:]
        assert len(set(map(str, one.set.values()))) == 2
    assert found


def test_a_seed_draws_the_same_and_another_seed_others(fig11: Plan) -> None:
    subject = Experiment.of(fig11, SIMULATED)
    names = [
        [one.mutant.note for one in draw_mutants(fig11, subject, 12, seed)] for seed in (3, 3, 4)
    ]
    assert names[0] == names[1] != names[2]
    assert len(set(names[0])) == 12
    kernels = [one for one in draw_mutants(fig11, subject, 40, 3) if one.subject.kernel]
    assert 10 < len(kernels) < 30
