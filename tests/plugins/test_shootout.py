"""The table and the figure of the plan `shootout`, and that the plan has what they read."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from plugins.shootout import SCHEMES, WORKLOADS, markdown, read, register


def fake(tmp_path, **phases):
    """A run folder with metrics that differ from scheme to scheme."""
    metrics = {
        workload: {
            name: values
            for number, prefix in enumerate(SCHEMES)
            for name, values in {
                f"{prefix}-f1": {"throughput_bps": 3e9, "latency_s.p99": 1e-3},
                f"{prefix}-f2": {"throughput_bps": 1e9 * number, "latency_s.p99": 2e-3},
                f"{prefix}-v": {"throughput_bps": 7e9},
                f"{prefix}-s.{prefix}-d1": {"queue_bytes.mean": 5e3},
                f"{prefix}-h2>{prefix}-s": {"pause.time_s": 4e-3},
                f"{prefix}-h1.rp0": {"feedback.received": 9},
            }.items()
        }
        for workload in WORKLOADS
    }
    (tmp_path / "result.json").write_text(json.dumps({"metrics": metrics | phases}))
    return tmp_path


def test_the_table_has_a_row_for_each_scheme_and_workload(tmp_path):
    found = read(fake(tmp_path))
    values = found["victim"]["fecn"]
    assert values["throughput"] == 5e9
    assert values["fairness"] == pytest.approx(25 / (4 * 13))
    assert (values["latency"], values["paused"], values["messages"]) == (2e-3, 4e-3, 9)
    rows = markdown(found).splitlines()
    assert len(rows) == 2 + len(SCHEMES) * len(WORKLOADS)
    assert "| victim | FECN | 5 | 7 | 0.481 | 5 | 2 | 4 | 9 |" in rows


def test_the_command_writes_both(tmp_path):
    app = typer.Typer()
    register(app)
    done = CliRunner().invoke(app, [str(fake(tmp_path)), "--out", str(tmp_path / "out"), "--json"])
    assert done.exit_code == 0
    assert set(json.loads(done.stdout)) == set(WORKLOADS)
    assert (tmp_path / "out" / "shootout.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "out" / "shootout.md").read_text().startswith("| workload")


def test_another_plans_run_is_refused(tmp_path):
    (tmp_path / "result.json").write_text('{"metrics": {"run": {}}}')
    with pytest.raises(BadInput, match="a run of the plan 'shootout'"):
        read(tmp_path)
    with pytest.raises(BadInput, match="name a run folder"):
        read(tmp_path / "none")


def test_the_plan_has_every_entity_that_is_read():
    plan = Plan.load(Registry.load().plans()["shootout"])
    known = plan.entities()
    for prefix in SCHEMES:
        for name in (f"{prefix}-f4", f"{prefix}-v", f"{prefix}-s.{prefix}-d1"):
            assert name in known
        assert f"{prefix}-h2>{prefix}-s" in known
    assert set(plan.phases) == set(WORKLOADS)
