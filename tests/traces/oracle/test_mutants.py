"""Nothing is found in our own captures, and the right rule in those of defective devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.assembly import assemble, record
from orchestrator.engine.node_api import quanta_time, serve, simulate
from orchestrator.engine.records import NEVER
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.progress import silent
from orchestrator.recording import Recording
from orchestrator.registry import Registry
from tests.traces.oracle.drawn_edits import OPERATORS
from tests.traces.oracle.mutants import MUTANTS, Mutant
from tests.traces.oracle.plans import PLANS
from tests.trials.oracle_edits import Judged, judged
from traces.oracle.conformance_judge import Settings, judge
from traces.oracle.rtl_tolerance import RtlTiming
from traces.plugin import tailback_run_files


def captured(
    resolved: ResolvedPlan, folder: Path, edit: Callable[[Recording], None] = lambda _: None
) -> list[Path]:
    """The captures of a simulated run, edited before they are written."""
    recording = Registry.load().target("simulated").run(resolved, silent)
    edit(recording)
    tailback_run_files(folder, recording, resolved.plan)
    return sorted((folder / "captures").iterdir())


def ignoring_pauses(resolved: ResolvedPlan, quanta: int, folder: Path) -> list[Path]:
    """The captures of a run whose NIC goes on sending for so many quanta of every pause."""
    assembly = assemble(resolved)
    world = assembly.world
    row = assembly.indices.port_rows["nic.switch"]
    port = world.ports[row]
    ignored = quanta_time(quanta, int(port.rate))
    received, hold_at, hold_until = 0, NEVER, 0
    for now in range(0, resolved.plan.duration + 1, 10**6):
        simulate(world, now, 10**6)
        if quanta and port.pause_received > received:
            received = int(port.pause_received)
            hold_at, hold_until = now + ignored, int(port.paused_until)
            port.paused_until = now
            serve(world, row, now)
        if now >= hold_at:
            port.paused_until, hold_at = max(hold_until, now), NEVER
            serve(world, row, now)
    recording = record("simulated", [(assembly, list(resolved.plan.nodes))], cpu_s=1, wall_s=1)
    tailback_run_files(folder, recording, resolved.plan)
    return sorted((folder / "captures").iterdir())


def resolved_plan(name: str, settings: tuple[str, ...] = ()) -> ResolvedPlan:
    return Plan.load(PLANS[name]).with_settings(settings).check(Registry.load())


@pytest.mark.parametrize("name", PLANS)
def test_our_own_captures_conform(name: str, tmp_path: Path) -> None:
    resolved = resolved_plan(name)
    found = judge(captured(resolved, tmp_path), resolved)
    assert found.conforming
    assert {node.name for node in found.nodes} == set(resolved.plan.nodes) - {"sink"}
    assert all(node.undecided == [] and node.frames > 500 for node in found.nodes)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_a_defect_is_found_and_its_rule_named(mutant: Mutant, tmp_path: Path) -> None:
    right = resolved_plan(mutant.plan, mutant.settings)
    paths = captured(mutant.put_into(right, tmp_path), tmp_path)
    found = judge(paths, right)
    assert [finding.rule for finding in found.findings] == [mutant.rule]
    clocks = RtlTiming(period_ps=8000)
    loose = Settings(window_ns=clocks.act_ns, late_ns=clocks.late_ns(right))
    found = judge(paths, right, loose)
    if mutant.clocked:
        assert [finding.rule for finding in found.findings] == [mutant.rule], "as a clocked device"
    else:
        assert not found.conforming


@pytest.mark.parametrize("name", ["pause", "pfc"])
@pytest.mark.parametrize(
    ("setting", "rule"),
    [("quanta=900", "pause.quanta"), ("high=104KB", "pause.stop"), ("low=55KB", "pause.go")],
)
def test_a_switch_that_pauses_otherwise(name: str, setting: str, rule: str, tmp_path: Path) -> None:
    """By PAUSE or by PFC, whose quanta are those of the priorities that it enables."""
    made = resolved_plan(name, (f"nodes.switch.pause.{setting}",))
    found = judge(captured(made, tmp_path), resolved_plan(name))
    assert [finding.rule for finding in found.findings] == [rule]


def test_a_pause_that_is_obeyed_late(tmp_path: Path) -> None:
    resolved = resolved_plan("pause")
    found = judge(ignoring_pauses(resolved, 100, tmp_path), resolved)
    assert [finding.rule for finding in found.findings] == ["pause.obey"]
    assert judge(ignoring_pauses(resolved, 0, tmp_path), resolved).conforming


# Drawn edits of captures are found and named by the rule that a reader names.

SEEDS = tuple(range(700_018, 700_036))
"""One for each scheme."""
MANY = 100


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_edit_is_found_and_named(seed: int) -> None:
    row = judged(seed)
    assert row.is_found, row
    assert row.is_named, row


@pytest.mark.trials
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [101, 102])
def test_a_hundred_drawn_edits(seed: int) -> None:
    rows: list[Judged] = [judged(seed * 10_000 + number) for number in range(MANY)]
    assert sum(row.is_found for row in rows) >= 0.98 * MANY
    assert sum(row.is_named for row in rows) >= 0.9 * MANY
    drawn = {row.operator for row in rows}
    assert drawn == set(OPERATORS)
