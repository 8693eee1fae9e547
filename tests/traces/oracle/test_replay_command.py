"""The command `replay`: what it prints, writes, refuses and answers with."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner, Result

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.traces.oracle.plans import PAUSED, QCN
from traces import trace_commands
from traces.oracle.conformance_rules import RULES


def series(path: Path, entity: str, quantity: str) -> dict[int, int]:
    """Samples by time of one quantity in a Parquet table."""
    wanted = [("entity", "=", entity), ("quantity", "=", quantity)]
    table = pq.read_table(path, filters=wanted)
    return dict(zip(table["time_ps"].to_pylist(), table["value"].to_pylist(), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated run whose plan says weight 2."""
    done = run(Plan.load(QCN), out=tmp_path_factory.mktemp("runs"), report=False)
    assert done.folder is not None
    return done.folder


def replay(*words: object) -> Result:
    app = typer.Typer()
    trace_commands.register(app)
    return CliRunner().invoke(app, ["replay", *map(str, words)])


def test_a_run_conforms(folder: Path, tmp_path: Path) -> None:
    done = replay("--run", folder, "--json", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["conforming"] is True
    assert found["first"] is None
    ours = series(tmp_path / "out" / "states.parquet", "switch.sink", "queue_bytes")
    runs = series(folder / "samples.parquet", "switch.sink", "queue_bytes")
    both = sorted(ours.keys() & runs.keys())
    assert len(both) > 200
    assert max(abs(ours[time] - runs[time]) for time in both) <= 1500
    rates = series(tmp_path / "out" / "states.parquet", "nic.rp0", "current_rate")
    of_run = series(folder / "samples.parquet", "nic.rp0", "current_rate")
    assert len(rates) > 200
    assert all(of_run[time] == rate for time, rate in rates.items())


def test_other_parameters_are_a_departure(folder: Path, tmp_path: Path) -> None:
    other = ("--run", folder, "--set", "nodes.switch.congestion_point.weight=1")
    done = replay(*other, "--out", tmp_path)
    assert done.exit_code == 1
    assert "cp.feedback" in done.stdout
    assert "as if the weight were 2" in done.stdout
    assert (tmp_path / "departure-switch.png").is_file()
    first = json.loads((tmp_path / "replay.json").read_text())["first"]
    assert first["node"] == "switch"
    assert first["expected"]["offset"] == first["seen"]["offset"]
    assert first["expected"]["feedback"] < first["seen"]["feedback"]


def test_a_rule_can_be_switched_off(folder: Path) -> None:
    fast = ("--run", folder, "--set", "nodes.nic.reaction_point.ai_rate=10Mb/s")
    assert replay(*fast).exit_code == 1
    done = replay(*fast, "--without", "rp.active", "--json")
    assert done.exit_code == 0, done.output
    nic = json.loads(done.stdout)["nodes"][0]
    assert [one["rule"] for one in nic["excused"]] == ["rp.active"]


def test_one_capture_alone_judges_what_it_can(folder: Path) -> None:
    done = replay(folder / "captures" / "nic-switch.pcapng", "--plan", folder / "plan.toml")
    assert done.exit_code == 0, done.output
    assert "conforms" in done.stdout
    done = replay(folder / "captures" / "switch-sink.pcapng", "--plan", folder / "plan.toml")
    assert isinstance(done.exception, BadInput)
    assert "what came in at switch.nic was not captured" in str(done.exception)


def test_a_full_capture_ends_the_judgement(tmp_path: Path) -> None:
    short = Plan.load(QCN.replace("frames = 60000", "frames = 5000"))
    done = run(short, out=tmp_path, report=False)
    found = replay("--run", done.folder, "--json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert 0 < told["until_s"] < 0.25
    assert "was full" in told["notes"][0]


def test_what_if(folder: Path) -> None:
    done = replay("--run", folder, "--what-if", "nodes.switch.congestion_point.weight=0", "--json")
    assert done.exit_code == 0, done.output
    (switch,) = json.loads(done.stdout)["nodes"]
    begun = switch["frames"][0]["time_s"]
    assert switch["as_it_was"]["frames"] > 50
    # the first message differs: what a NIC sends on hearing it comes a link's delay later
    assert 50e-6 < switch["horizon_s"] - min(begun, 0.001312848) < 52e-6
    same = replay("--run", folder, "--what-if", "nodes.switch.congestion_point.weight=2", "--json")
    assert json.loads(same.stdout)["nodes"][0]["horizon_s"] is None


def test_the_rules_are_listed() -> None:
    listed = json.loads(replay("--rules", "--json").stdout)
    assert [one["name"] for one in listed] == list(RULES)
    assert all(one["says"] and one["source"] for one in listed)


def test_bad_input(folder: Path, tmp_path: Path) -> None:
    paused = tmp_path / "paused.toml"
    paused.write_text(PAUSED.replace("nodes.nic", "nodes.host").replace('"nic"', '"host"'))
    cases = {
        "give either --plan": (folder / "captures" / "nic-switch.pcapng",),
        "is no run folder": ("--run", tmp_path),
        "--without": ("--run", folder, "--without", "cp.nonsense"),
        "--late": ("--run", folder, "--late", "5"),
        "give captures": ("--plan", folder / "plan.toml"),
    }
    for text, words in cases.items():
        done = replay(*words)
        assert isinstance(done.exception, BadInput), (text, done.output, done.exception)
        assert text in str(done.exception)
        assert done.exception.exit_code == 2
