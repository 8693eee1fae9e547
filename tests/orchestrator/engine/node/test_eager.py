"""Runs without any deferral measure what runs that defer departures and deliveries measure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from typer.testing import CliRunner

from orchestrator.assembly import Assembly, assemble, record
from orchestrator.assembly.lazy_eligibility import VARIABLE
from orchestrator.cli.main import assemble as command_line
from orchestrator.engine.node.event_loop import simulate
from orchestrator.errors import BadInput
from orchestrator.fuzz.cross_target import EAGER_EVENTS, EagerComparison
from orchestrator.fuzz.fuzz_loop import Options, hunt
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.plan import composed
from orchestrator.plan.units import parse_duration
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from tests.orchestrator.engine.node.test_lazy_egress import fan
from tests.orchestrator.random_plans import plans
from tests.orchestrator.worlds import Table, line_of_three, recorded, run_until

BELOW_PS = 10**12
LONG = {"all-reduce", "credits-incast", "fecn-additive", "fecn-table1", "fecn-table2"}
LONG |= {"ibm-fabric", "ibm-rack64", "ibm-rack640", "nscc", "shootout", "shootout-sizes", "swift"}
"""Shipped plans below that duration that take more than a second of a core in both ways."""
CALM = [HealthCheck.too_slow, HealthCheck.data_too_large]


def shipped() -> list[str]:
    """Names of the shipped plans of less than a second."""
    registry = Registry.load()
    lasts = {name: composed(path)[1]["duration"] for name, path in registry.plans().items()}
    return sorted(name for name, said in lasts.items() if parse_duration(said) < BELOW_PS)


def resolved(name: str) -> ResolvedPlan:
    registry = Registry.load()
    return Plan.load(registry.plans()[name], registry).check(registry)


def lazy_and_eager(table: Table) -> tuple[Assembly, Assembly]:
    checked = Plan(**table).check(Registry.load())
    return assemble(checked, eager=False), assemble(checked, eager=True)


SHIPPED = shipped()


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in SHIPPED]
)
def test_a_shipped_plan_measures_the_same(name: str) -> None:
    checked = resolved(name)
    finding = EagerComparison()(checked, recorded_lazily(checked))
    assert finding is None, finding


def recorded_lazily(checked: ResolvedPlan) -> Recording:
    lazy = assemble(checked, eager=False)
    simulate(lazy.world, checked.plan.duration + 1, EAGER_EVENTS)
    return record("simulated", [(lazy, list(checked.plan.nodes))], cpu_s=0.0, wall_s=0.0)


def test_most_of_the_shipped_plans_defer_something() -> None:
    deferring = 0
    for name in sorted(set(SHIPPED) - LONG):
        world = assemble(resolved(name), eager=False).world
        deferring += int(world.clock[0].late or world.clock[0].late_nics or world.ports.ahead.any())
    assert deferring > 10


@settings(max_examples=40, suppress_health_check=CALM)
@given(plan=plans())
def test_drawn_plans_measure_the_same(plan: Table) -> None:
    finding = EagerComparison()(Plan(**plan).check(Registry.load()), recorded(plan))
    assert finding is None, finding


@pytest.mark.parametrize("sources", [1, 2, 3])
def test_overloaded_lazy_ports_measure_the_same(sources: int) -> None:
    """Drawn plans seldom have a lazy port with a queue: a sync left out of `enqueue` shows here."""
    checked = Plan(**fan(sources)).check(Registry.load())
    assert assemble(checked, eager=False).world.ports.late.any()
    finding = EagerComparison()(checked, recorded_lazily(checked))
    assert finding is None, finding


@pytest.mark.parametrize("table", [line_of_three(), fan(3)], ids=["line", "fan"])
def test_runs_that_stop_at_the_instant_of_an_event_have_done_the_same(table: Table) -> None:
    """The end of a run is exclusive: what is due at that very time is left, deferred or not."""
    pair = lazy_and_eager(table)
    assert pair[0].world.clock[0].late_nics or pair[0].world.clock[0].late
    for _ in range(400):
        due = int(pair[1].world.tree[1, 0])
        for until in (due, due + 1):
            done = []
            for assembly in pair:
                world = assembly.world
                simulate(world, until, EAGER_EVENTS)
                sent = [world.flows["frames_sent"], world.flows["bytes_sent"]]
                sent += [world.ports["frames_out"], world.queues["frames_out"]]
                done.append([column.tolist() for column in sent])
            assert done[0] == done[1], until


def test_hunted_plans_measure_the_same() -> None:
    comparison = EagerComparison()
    assert not hunt(Options(plans=30, seed=46), (comparison,)).found
    assert comparison.compared > 20


@pytest.mark.trials
@pytest.mark.timeout(7200)
def test_ten_thousand_hunted_plans_measure_the_same() -> None:
    comparison = EagerComparison()
    assert not hunt(Options(plans=10_000, seed=4600), (comparison,)).found
    assert comparison.compared > 9_000


def test_an_eager_world_defers_nothing() -> None:
    lazy, eager = lazy_and_eager(line_of_three())
    assert lazy.world.clock[0].late_nics
    assert lazy.world.ports.ahead.any()
    assert lazy.world.clock[0].direct
    for field in ("late", "late_nics", "direct"):
        assert eager.world.clock[0][field] == 0, field
    for field in ("late", "patience", "ahead", "entries"):
        assert not eager.world.ports[field].any(), field
    for field in ("calm", "deaf"):
        assert not eager.world.queues[field].any(), field
    for assembly in (lazy, eager):
        run_until(assembly, assembly.resolved.plan.duration + 1)
    assert eager.world.clock[0].unseen == 0
    assert eager.world.clock[0].events > lazy.world.clock[0].events


def test_the_environment_and_the_option_make_a_world_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = Plan(**line_of_three()).check(Registry.load())
    option = Plan(**line_of_three(targets={"simulated": {"eager": True}})).check(Registry.load())
    assert not assemble(option).world.ports.ahead.any()
    for value, deferred in (("1", False), ("0", True), ("", True)):
        monkeypatch.setenv(VARIABLE, value)
        assert bool(assemble(checked).world.ports.ahead.any()) is deferred
    monkeypatch.setenv(VARIABLE, "yes")
    with pytest.raises(BadInput, match="'yes' is not accepted; 1"):
        assemble(checked)


def test_the_command_takes_the_option_and_refuses_another_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["run", "netfpga-fig11-scaled", "--no-report", "--out", str(tmp_path)]
    run = CliRunner().invoke(command_line(Registry.load()), [*arguments, "--eager"])
    assert run.exit_code == 0, run.output
    (text,) = (path.read_text("utf-8") for path in tmp_path.rglob("plan.toml"))
    assert "eager = true" in text
    monkeypatch.setenv(VARIABLE, "2")
    refused = CliRunner().invoke(command_line(Registry.load()), arguments)
    assert isinstance(refused.exception, BadInput) or refused.exit_code == 2
