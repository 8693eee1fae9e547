"""Slowdowns by size of a run of `shootout-sizes`, and that the plan has what is read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.recording import MessageTable
from orchestrator.registry import Registry
from plugins.shootout import register
from plugins.shootout_sizes import CLASSES, SCHEMES, is_shootout_sizes, markdown, read
from traces.message_table import write_messages


def fake(folder: Path) -> Path:
    """Of scheme n a hundred messages of 10 KB with slowdowns 1 to 100, times n + 1; one of 10 001 B
    and one of 3 MB; one more that was never complete."""
    flows = [(f"{prefix}-t.0", f"{prefix}-t") for prefix in SCHEMES]
    sizes = [10_000] * 100 + [10_001, 3_000_000, 5]
    slow = np.array([*range(1, 101), 7, 8, 0])
    done = [np.where(slow > 0, 50 + slow * 1000 * (n + 1), -1) for n in range(len(flows))]
    count = len(sizes)
    table = MessageTable(
        flows,
        np.repeat(np.arange(len(flows)), count),
        np.full(count * len(flows), 50),
        np.tile(sizes, len(flows)),
        np.concatenate(done),
        np.full(count * len(flows), 1000),
    )
    write_messages(folder / "messages.parquet", table)
    metrics = {"run": {f"{prefix}-t": {} for prefix in SCHEMES}}
    (folder / "result.json").write_text(json.dumps({"metrics": metrics}))
    return folder


def test_percentiles_are_those_of_each_class(tmp_path: Path) -> None:
    found = read(fake(tmp_path))
    assert list(found) == list(SCHEMES)
    assert found["qcn"]["to 10 KB"] == {"messages": 100, "p50": 50, "p99": 99}
    assert found["fecn"]["to 10 KB"]["p99"] == 3 * 99
    assert found["qcn"]["to 100 KB"] == {"messages": 1, "p50": 7, "p99": 7}
    assert found["qcn"]["to 1 MB"] == {"messages": 0, "p50": None, "p99": None}
    assert found["qcn"]["more"]["p99"] == 8
    row = markdown(found).splitlines()[2]
    assert row == "| QCN | 50 | 99 | 7 | 7 |  |  | 8 | 8 | 102 |"


def test_the_command_tells_which_plan_it_was(tmp_path: Path) -> None:
    app = typer.Typer()
    register(app)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, [str(fake(tmp_path)), "--out", str(out), "--json"])
    assert done.exit_code == 0
    assert list(json.loads(done.stdout)["pfc"]) == list(CLASSES)
    assert (out / "shootout-sizes.png").read_bytes()[:4] == b"\x89PNG"
    assert (out / "shootout-sizes.md").read_text().startswith("| scheme")
    assert "102" in CliRunner().invoke(app, [str(tmp_path)]).stdout


@pytest.mark.parametrize("damage", [b"", b"PAR1 no", None])
def test_a_damaged_run_is_named(tmp_path: Path, damage: bytes | None) -> None:
    path = fake(tmp_path) / "messages.parquet"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(BadInput, match="a run of the plan 'shootout-sizes'"):
        read(tmp_path)
    assert not is_shootout_sizes({"run": 5})
    assert not is_shootout_sizes({})


def test_the_plan_has_every_scheme_and_the_same_messages_for_all() -> None:
    registry = Registry.load()
    plan = Plan.load(registry.plans()["shootout-sizes"], registry)
    assert {f"{prefix}-t" for prefix in SCHEMES} == set(plan.traffic)
    from orchestrator.assembly.message_schedules import schedules

    tables = dict(schedules(plan.check(registry)))
    first = [flow[["start", "octets"]].tolist() for flow in tables["pfc-t"].flows]
    assert sum(map(len, first)) > 1000
    for carried in tables.values():
        assert [flow[["start", "octets"]].tolist() for flow in carried.flows] == first
