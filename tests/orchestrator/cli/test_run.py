"""`tailback run`: what it hands to the core, and what it makes of the outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

import orchestrator.run.execute_run
from orchestrator.cli.run import complete_target
from orchestrator.progress import Progress
from orchestrator.terminal import plan_loading


class Loaded(tuple[str, list[str]]):
    """A plan that is nothing but what it was loaded by."""

    target = "simulated"
    options: Mapping[str, str] = {}

    def with_settings(self, settings: list[str], said: str) -> Loaded:
        self.target = settings[0].removeprefix("target=")
        return self

    def with_options(
        self, catalog: object, given: Mapping[str, str], called: Mapping[str, str]
    ) -> Loaded:
        self.options = given
        return self


@pytest.fixture
def core(monkeypatch):
    """A core that notes what it was asked and answers with a verdict."""
    asked: dict[str, object] = {"verdict": "met"}

    def run(plan, **options):
        options["progress"](Progress("compiling", 0.0, "first run, about 8 s"))
        asked.update(options, plan=plan)
        result = {
            "plan": "p",
            "target": "simulated",
            "seed": 1,
            "verdict": asked["verdict"],
            "expectations": [],
            "fidelity": {"verdict": "valid", "reasons": []},
            "performance": {"data_frames": 1, "wall_s": 0.1},
        }
        return SimpleNamespace(folder=Path("/runs/p/1"), result=result)

    def prepare(registry, plan, advise):
        return SimpleNamespace(plan=plan, options=None), None, {}

    monkeypatch.setattr(orchestrator.run.execute_run, "run", run)
    monkeypatch.setattr(orchestrator.run.execute_run, "prepare", prepare)
    monkeypatch.setattr(plan_loading, "load_plan", lambda name, changes: Loaded((name, changes)))
    return asked


@pytest.mark.parametrize(
    ("verdict", "code"),
    [("met", 0), ("unjudged", 0), ("missed", 1), ("uncertain", 3), ("invalid", 3)],
)
def test_the_verdict_is_the_exit_code(tailback, core, verdict, code):
    core["verdict"] = verdict
    done = tailback("run", "quickstart")
    assert done.exit_code == code
    assert f"verdict   {verdict}" in done.stdout


def test_options_reach_the_core(tailback, core, tmp_path):
    more = ["--target", "software", "--seed", "7", "--out", tmp_path, "--no-report"]
    more += ["--pace", "0.5"]
    tailback("run", "my.toml", "--set", "a.b=1", "--set", "c=2KB", *more)
    assert core["plan"] == ("my.toml", ["a.b=1", "c=2KB"])
    assert (core["plan"].target, core["seed"], core["out"]) == ("software", 7, tmp_path)
    assert core["report"] is False
    assert core["plan"].options == {"pace": "0.5"}


def test_progress_and_broken_plugins_go_to_stderr(tailback, core):
    done = tailback("run", "quickstart")
    assert "compiling (first run, about 8 s)" in done.stderr
    assert "broken 1.0" in done.stderr
    assert "compiling" not in done.stdout


def test_a_machine_gets_the_result_and_the_folder(tailback, core):
    found = json.loads(tailback("run", "quickstart", "--json").stdout)
    assert found["folder"] == "/runs/p/1"
    assert found["verdict"] == "met"


def test_the_shell_completes_targets(registry):
    assert complete_target("sim") == [("simulated", "discrete events")]
    assert complete_target("x") == []
