"""Plans that others could change start no command without a yes; every command can refuse them."""

from __future__ import annotations

import inspect
import random
from importlib import import_module
from pathlib import Path

import pytest

from orchestrator import program_permission
from orchestrator.errors import Refused
from orchestrator.run.execute_run import run
from orchestrator.terminal.plan_loading import load_plan
from tests.orchestrator.test_private_cache import weakened
from tests.orchestrator.worlds import line_of_three

COMMANDS = ("run", "sweep", "papers", "console", "explain", "mutate")


@pytest.fixture(autouse=True)
def open_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """No choice was made; what a test chooses goes away with it."""
    monkeypatch.setenv(program_permission.VARIABLE, "")


def written(folder: Path) -> Path:
    from orchestrator.plan import Plan

    table = line_of_three(target="software")
    table["nodes"] |= {name: {"kind": "nic"} for name in ("nic", "sink")}
    table["traffic"] = {
        "gen": {"plugin": "sockets", "from": "nic", "to": "sink", "bidirectional": True}
    }
    table["programs"] = {"one": {"node": "nic", "command": ["touch", "here"]}}
    path = folder / "plan.toml"
    path.write_text(Plan(**table).to_toml())
    path.chmod(0o644)
    return path


@pytest.mark.parametrize("seed", range(6))
def test_a_plan_that_others_could_change_starts_no_command(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = weakened(tmp_path / "plans", random.Random(seed))
    plan = load_plan(str(written(folder)), [])
    assert program_permission.chosen() is False
    said = capsys.readouterr().err
    assert "starts commands as you (touch here)" in said
    with pytest.raises(Refused, match="programs are off"):
        run(plan, out=tmp_path / "runs")


def test_a_plan_of_this_user_may_and_a_choice_counts_more(tmp_path: Path) -> None:
    load_plan(str(written(tmp_path)), [])
    assert program_permission.chosen() is None
    tmp_path.chmod(0o777)
    program_permission.choose(True)
    load_plan(str(tmp_path / "plan.toml"), [])
    assert program_permission.chosen() is True
    program_permission.choose(None)
    assert program_permission.chosen() is True


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_starts_plans_can_refuse_programs(name: str) -> None:
    command = getattr(import_module(f"orchestrator.cli.{name}"), name)
    assert "programs" in inspect.signature(command).parameters
    assert "program_permission.choose(programs)" in inspect.getsource(command)
