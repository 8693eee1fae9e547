"""A metric from outside in one file: expected, drawn, with a panel in the report, and verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.test_third_party import (  # noqa: F401  (cache is a fixture)
    HERE,
    Command,
    cache,
    copied,
    install,
    installed,
    python,
    tailback,
)

METRIC = "queue_bytes.empty_share"
PLAN = HERE / "empty-share.toml"


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Command:  # noqa: F811
    """Python with the metric installed."""
    return installed(HERE / "empty-share", tmp_path_factory, cache)


@pytest.fixture(scope="module")
def folder(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the plan that expects and draws the metric."""
    out = tmp_path_factory.mktemp("runs")
    done = tailback(command, "run", PLAN, "--no-live", "--out", out)
    assert done.returncode == 0, done.stderr
    (found,) = (out / "empty-share").glob("*Z-*")
    return found


def test_it_is_measured_and_expected(folder: Path) -> None:
    result = json.loads((folder / "result.json").read_text("utf-8"))
    assert result["units"][METRIC] == "ratio"
    shares = {phase: of["switch.sink"][METRIC] for phase, of in result["metrics"].items()}
    assert {"run", "half", "back"} <= set(shares)
    assert shares["half"] < shares["run"] < 1
    (row,) = [row for row in result["expectations"] if row["metric"] == METRIC]
    assert row["met"]
    assert row["value"] == shares["half"]
    assert METRIC not in result["metrics"]["run"]["traffic"]


def test_it_is_missed_where_the_band_is_another(command: Command, tmp_path: Path) -> None:
    text = PLAN.read_text("utf-8").replace("max = 0.9", "min = 0.9")
    (tmp_path / "missed.toml").write_text(text, "utf-8")
    done = tailback(command, "run", tmp_path / "missed.toml", "--no-live", "--no-report", "--json",
                    "--out", tmp_path)  # fmt: skip
    assert done.returncode == 1, done.stderr


def test_it_is_drawn_and_has_a_panel(folder: Path) -> None:
    page = (folder / "report.html").read_text("utf-8")
    assert "Queue that is empty" in page
    panel = page.partition('<section class="metric">')[2].partition("</section>")[0]
    assert "<h2>Time without a queue</h2>" in panel
    assert METRIC in panel
    assert "<svg" in panel
    assert "switch.sink" in panel


def test_its_panel_is_drawn_again(command: Command, folder: Path, tmp_path: Path) -> None:
    done = tailback(command, "report", folder, "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert "Time without a queue" in (tmp_path / "page.html").read_text("utf-8")


def test_a_plan_is_refused_where_no_entity_has_it(command: Command, tmp_path: Path) -> None:
    text = PLAN.read_text("utf-8").replace('of = "switch.sink"\nphase', 'of = "gen"\nphase')
    (tmp_path / "wrong.toml").write_text(text, "utf-8")
    done = tailback(command, "run", tmp_path / "wrong.toml", "--no-live")
    assert done.returncode == 2
    assert "gen has no such metric; what has it: " in done.stderr


def test_without_the_plugin_the_metric_is_unknown(
    cache: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    done = tailback(python(tmp_path, cache, tmp_path), "run", PLAN, "--no-live")
    assert done.returncode == 2
    assert METRIC in done.stderr
    assert "there is no such metric" in done.stderr


def test_a_capsule_holds_where_the_verifier_has_the_metric(
    command: Command,
    cache: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    plain = python(tmp_path / "nothing", cache, tmp_path)
    done = tailback(plain, "run", "quickstart", "--no-live", "--no-report", "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "r" / "quickstart").glob("*Z-*")
    packed = tailback(plain, "pack", run, "--out", tmp_path / "c.zip")
    assert packed.returncode == 0, packed.stderr
    verified = tailback(command, "verify", tmp_path / "c.zip", "--json")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert json.loads(verified.stdout)["verdict"] == "holds"
