"""The oracle follows the stages of a link: it blames no device for what the plan's stages do."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from tests.traces.oracle.plans import QCN
from tests.traces.oracle.test_mutants import captured
from traces.oracle.conformance_judge import Settings, judge

STAGES = {
    "loss": '{ plugin = "lossy-delay", loss_rate = "1/50", frame_kinds = "data" }',
    "bursts": '{ plugin = "gilbert-elliott", to_bad = "1/100", to_good = "1/3" }',
    "errors": '{ plugin = "bit-errors", bit_error_rate = "1/1000000" }',
    "altered": '{ plugin = "bit-errors", bit_error_rate = "1/100000", fcs = "right" }',
    "copies": '{ plugin = "duplication", duplication_rate = "1/50" }',
    "disorder": '{ plugin = "reordering", reordering_rate = "1/50", hold = "100us" }',
    "jitter": '{ plugin = "jittered-delay", jitter = "30us" }',
}
LINKS = {"up": "nic.switch", "down": "switch.sink"}


def resolved(link: str = "up", *stages: str, seed: int = 1) -> ResolvedPlan:
    text = QCN.replace('"0.25s"', '"0.06s"').replace('"0.1s"', '"0.04s"')
    data = Plan.load(text).to_table()
    if stages:
        line = ", ".join(STAGES[name] for name in stages)
        return (
            Plan.load(text)
            .with_settings([f"links.{link}.delay_line=[{line}]", f"seed={seed}"])
            .check(Registry.load())
        )
    return Plan(**data).check(Registry.load())


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("link", LINKS)
def test_no_device_is_blamed_for_what_a_stage_does(stage: str, link: str, tmp_path: Path) -> None:
    plan = resolved(link, stage)
    found = judge(captured(plan, tmp_path), plan)
    assert found.findings == []
    assert all(node.frames > 100 for node in found.nodes if node.name != "sink")


@pytest.mark.parametrize("window_ns", [0, 2000])
def test_no_device_is_blamed_for_what_several_stages_do(window_ns: int, tmp_path: Path) -> None:
    """Nor where departures are followed, of devices with clocks of their own."""
    plan = resolved("up", "jitter", "loss", "copies", "disorder", "errors", "bursts")
    assert judge(captured(plan, tmp_path), plan, Settings(window_ns=window_ns)).findings == []


@pytest.mark.parametrize("stages", [["loss"], ["copies"], ["disorder"], ["errors"], ["bursts"]])
def test_a_device_is_blamed_for_the_same_where_the_plan_has_no_stages(
    stages: list[str], tmp_path: Path
) -> None:
    assert judge(captured(resolved("up", *stages), tmp_path), resolved()).findings


def test_a_device_with_its_stages_in_another_order_departs(tmp_path: Path) -> None:
    seen = captured(resolved("up", "copies", "loss"), tmp_path)
    assert judge(seen, resolved("up", "loss", "copies")).findings
