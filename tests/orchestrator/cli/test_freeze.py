"""`tailback freeze`: a prediction is one only if nothing of it has changed since."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from orchestrator.cli import main
from orchestrator.registry import Registry
from tests.orchestrator.batch.made import random_flow

HALF = {"metric": "utilization", "of": "switch.sink", "min": 0.3, "max": 0.7}


@pytest.fixture
def tailback() -> Callable[..., Result]:
    """The command line with everything that is installed, in this process."""
    app = main.assemble(Registry.load())
    return lambda *words: CliRunner().invoke(app, list(map(str, words)))


def written(folder: Path, **expect: object) -> Path:
    path = folder / "mine.toml"
    plan = random_flow(expect=[HALF | expect])
    path.write_text(plan.check(Registry.load()).plan.to_toml())
    return path


def ran(tailback: Callable[..., Result], *words: object) -> tuple[dict[str, Any], str]:
    """The manifest of a run, and what was said on stderr."""
    done = tailback("run", *words, "--no-live", "--json")
    assert done.exit_code in (0, 1), done.output
    result = json.loads(done.stdout)
    return json.loads((Path(result["folder"]) / "manifest.json").read_text()), done.stderr


def test_a_prediction_is_told_in_manifest_report_and_summary(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    plan, out = written(tmp_path), tmp_path / "mine.frozen.json"
    told = json.loads(tailback("freeze", plan, "--out", out, "--json").stdout)
    words = (plan, "--frozen", out, "--out", tmp_path / "runs")
    manifest, said = ran(tailback, *words)
    assert manifest["frozen"]["expectations"] == told["expectations"]
    assert manifest["frozen"]["at"] == told["at"] <= manifest["started"]
    assert manifest["frozen"]["changed"] == manifest["frozen"]["plan_changed"] == []
    assert "frozen" not in said
    (page,) = (tmp_path / "runs").glob("*/*/report.html")
    sentence = f"expected before the run, at {told['at']}"
    assert sentence in page.read_text()
    assert sentence in tailback("run", *words, "--no-live", "--no-report").stdout


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"max": 0.8}, "expect[0].max"),
        ({"of": "switch.nic"}, "expect[0].of"),
        ({"of_seeds": "median"}, "expect[0].of_seeds"),
    ],
)
def test_changed_expectations_are_no_prediction(
    tailback: Callable[..., Result], tmp_path: Path, change: dict[str, Any], key: str
) -> None:
    out = tmp_path / "mine.frozen.json"
    assert tailback("freeze", written(tmp_path), "--out", out).exit_code == 0
    plan = written(tmp_path, **change)
    words = (plan, "--frozen", out, "--out", tmp_path / "runs", "--no-report")
    manifest, said = ran(tailback, *words)
    assert manifest["frozen"]["changed"] == [key]
    assert "no prediction: expectations have changed since" in said
    assert key in said


def test_a_changed_plan_is_told_and_words_and_seed_are_free(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    out = tmp_path / "mine.frozen.json"
    assert tailback("freeze", written(tmp_path), "--out", out).exit_code == 0
    words = (written(tmp_path, note="why"), "--frozen", out, "--out", tmp_path / "runs")
    manifest, said = ran(tailback, *words, "--seed", 7, "--no-report")
    assert manifest["frozen"]["changed"] == manifest["frozen"]["plan_changed"] == []
    setting = ("--set", "traffic.gen.rate=400Mb/s")
    manifest, said = ran(tailback, *words, *setting, "--no-report")
    assert manifest["frozen"]["changed"] == []
    assert manifest["frozen"]["plan_changed"] == ["traffic.gen.rate"]
    assert "the plan has changed since then in other keys: traffic.gen.rate" in said


def test_several_seeds_keep_it_too(tailback: Callable[..., Result], tmp_path: Path) -> None:
    plan, out = written(tmp_path), tmp_path / "mine.frozen.json"
    assert tailback("freeze", plan, "--out", out).exit_code == 0
    words = ("--seeds", 2, "--jobs", 1, "--frozen", out, "--out", tmp_path / "runs")
    done = tailback("run", plan, *words)
    assert done.exit_code == 0, done.output
    assert "expected before the run, at" in done.stdout
    (path,) = (tmp_path / "runs").glob("*/*-seeds/manifest.json")
    assert json.loads(path.read_text())["frozen"]["changed"] == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"max": 0.7', '"max": 0.9', "was edited"),
        ('"at": "20', '"at": "99', "yet to come"),
        ('"at": "20', '"at": "x20', "damaged"),
        ('"tailback_frozen": 1', '"tailback_frozen": 2', "format 1"),
        ('{\n  "tail', "[", "no file of `tailback freeze`"),
        ('"table": {', '"table": [], "other": {', "no file of `tailback freeze`"),
    ],
)
def test_what_is_not_as_it_was_frozen_is_not_taken(
    tailback: Callable[..., Result], tmp_path: Path, old: str, new: str, said: str
) -> None:
    plan, out = written(tmp_path), tmp_path / "mine.frozen.json"
    assert tailback("freeze", plan, "--out", out).exit_code == 0
    assert old in out.read_text()
    out.write_text(out.read_text().replace(old, new, 1))
    done = tailback("run", plan, "--frozen", out, "--out", tmp_path / "runs")
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "runs").exists()


def test_nothing_is_frozen_twice_or_of_a_plan_that_expects_nothing(
    tailback: Callable[..., Result], tmp_path: Path
) -> None:
    plan, out = written(tmp_path), tmp_path / "mine.frozen.json"
    assert tailback("freeze", plan, "--out", out).exit_code == 0
    before = out.read_bytes()
    assert tailback("freeze", plan, "--out", out).exit_code == 2
    assert out.read_bytes() == before
    plan.write_text(random_flow().check(Registry.load()).plan.to_toml())
    done = tailback("freeze", plan, "--out", tmp_path / "other")
    assert done.exit_code == 2
    assert "expects nothing" in done.output
