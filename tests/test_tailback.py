"""`import tailback`: run, load, look."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars
import pytest

import tailback
from orchestrator.plan import Plan

PLAN = Path(__file__).parent / "short.toml"
MODULES = "orchestrator.engine", "numba", "matplotlib", "pyarrow"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def run(base: Path) -> tailback.Run:
    return tailback.run(PLAN, out=base, seed=7)


def test_a_run_tells_what_came_of_it(run: tailback.Run) -> None:
    assert (run.result.seed, run.result.target) == (7, "simulated")
    assert run.verdict in ("met", "missed")
    assert run.fidelity["verdict"] == "valid"
    assert run.manifest["tailback"] == tailback.__version__
    assert run.plan["name"] in repr(run)
    assert run.metrics["run"]
    assert all(unit is not None for unit in run.units.values())
    assert len(run.expectations) == len(run.plan["expect"])


def test_samples_are_those_of_the_file_and_can_be_chosen(run: tailback.Run) -> None:
    from traces.samples import read_samples

    times, columns, values = read_samples(run.folder / "samples.parquet")
    every = run.samples()
    assert every.num_rows == values.size
    wanted = next(c for c in columns if c.quantity == "queue_bytes")
    one = run.samples(entity=wanted.entity, quantity="queue_bytes")
    assert one.column_names == ["time_ps", "node", "entity", "quantity", "value", "unit"]
    assert np.array_equal(one["time_ps"].to_numpy(), times)
    assert np.array_equal(one["value"].to_numpy(), values[:, columns.index(wanted)])
    two = run.samples(quantity=["queue_bytes", "frames_out"])
    assert set(two["quantity"].to_pylist()) == {"queue_bytes", "frames_out"}


def test_fairness_over_time_is_what_the_metrics_are_made_of(run: tailback.Run) -> None:
    table = run.fairness()
    assert table.column_names == ["time_ps", "fairness"]
    known = [value for value in table["fairness"].to_pylist() if value is not None]
    of = run.metrics["run"]["traffic"]
    assert len(known) > 30
    assert of["fairness.window_min"] == pytest.approx(min(known))
    assert of["fairness.window_mean"] == pytest.approx(np.mean(known))
    for wrong in ({"entity": "none"}, {"phase": "none"}):
        with pytest.raises(tailback.BadInput, match="'none' is no"):
            run.fairness(**wrong)


def test_pandas_polars_and_duckdb_read_the_same(run: tailback.Run) -> None:
    table = run.samples(quantity="queue_bytes")
    want = int(np.sum(table["value"].to_numpy()))
    assert table.to_pandas()["value"].sum() == want
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    assert frame["value"].sum() == want
    assert duckdb.from_arrow(table).aggregate("sum(value)").fetchall() == [(want,)]


def test_what_was_not_sampled_is_refused_with_what_was(run: tailback.Run) -> None:
    with pytest.raises(tailback.BadInput, match="'queue_byte' was not sampled; did you mean queue"):
        run.samples(quantity="queue_byte")
    with pytest.raises(tailback.BadInput, match="no sampled queue at 'nowhere'; "):
        run.plot("nowhere")


def test_it_plots_and_reports(run: tailback.Run, tmp_path: Path) -> None:
    assert not (run.folder / "report.html").exists()
    assert "<svg" in run.report.read_text("utf-8")
    run.plot().savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_the_same_seed_gives_the_same_and_settings_count(run: tailback.Run, base: Path) -> None:
    again = tailback.run(Plan.load(PLAN), out=base, seed=7)
    assert again.metrics == run.metrics
    entry = next(iter(run.plan["traffic"]))
    other = tailback.run(PLAN, out=None, seed=7, set={f"traffic.{entry}.frame": "256B"})
    assert other.plan["traffic"][entry]["frame"] == "256B"
    assert other.metrics != run.metrics
    same = tailback.run(PLAN, out=None, seed=7, set=[f"traffic.{entry}.frame=256B"])
    assert same.metrics == other.metrics


def test_a_temporary_run_goes_with_its_object() -> None:
    made = tailback.run(PLAN, out=None)
    folder = made.folder
    assert folder.is_dir()
    del made
    assert not folder.exists()


def test_runs_are_loaded_by_name(run: tailback.Run, base: Path) -> None:
    name = run.plan["name"]
    assert tailback.load(run.folder).metrics == run.metrics
    newest = tailback.load("latest", base=base)
    assert newest.folder == tailback.load(f"{name}/-1", base=base).folder
    with pytest.raises(tailback.BadInput, match="is a folder of runs"):
        tailback.load(base / name)


def test_mistakes_are_bad_input() -> None:
    with pytest.raises(tailback.BadInput, match="'seed=3' is not accepted; a list of KEY=VALUE"):
        tailback.run(PLAN, set="seed=3")
    with pytest.raises(tailback.BadInput, match="neither a file nor the name of a shipped plan"):
        tailback.run("quikstart", out=None)


def test_progress_is_told_to_a_function_and_to_nobody_else(
    capfd: pytest.CaptureFixture[str],
) -> None:
    stages: list[str] = []
    tailback.run(PLAN, out=None, progress=lambda news: stages.append(news.stage))
    assert "writing" in stages
    assert capfd.readouterr() == ("", "")
    tailback.run(PLAN, out=None, progress=True)
    assert "writing" in capfd.readouterr().err


def test_shipped_plans_are_named() -> None:
    assert tailback.plans()["quickstart"].is_file()


def test_importing_it_loads_none_of_what_a_run_needs() -> None:
    code = f"import sys, tailback; print([m for m in {MODULES} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
