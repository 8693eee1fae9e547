"""`tailback sweep` as it is typed: tables, questions, codes, and what is left when it is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from orchestrator.cli import main
from orchestrator.cli import sweep as command
from orchestrator.live import session_registry
from orchestrator.registry import Registry
from tests.orchestrator.batch.made import random_flow
from tests.patience import PATIENCE_S

RATES = "traffic.gen.rate=100Mb/s..900Mb/s/5"
SHARE = "utilization of switch.sink in run"


@pytest.fixture
def tailback() -> Callable[..., Result]:
    """The command line with everything that is installed, in this process."""
    app = main.assemble(Registry.load())
    return lambda *words: CliRunner().invoke(app, list(map(str, words)))


def written(folder: Path, **changes: object) -> Path:
    """A plan file: half of a link's rate by chance."""
    path = folder / "mine.toml"
    path.write_text(random_flow(**changes).check(Registry.load()).plan.to_toml())
    return path


def test_a_table_a_folder_and_json(tailback: Callable[..., Result], tmp_path: Path) -> None:
    words = ("sweep", written(tmp_path), "--over", RATES, "--seeds", 2, "--jobs", 1)
    words += ("--out", tmp_path / "runs", "--draw", SHARE)
    done = tailback(*words)
    assert done.exit_code == 0, done.output
    assert "5 places of traffic.gen.rate, 10 points" in done.stdout
    assert "300 Mb/s" in done.stdout
    assert " ± " in done.stdout
    result = json.loads(tailback(*words, "--json").stdout)
    assert result["points"] == 10
    assert pq.read_table(Path(result["folder"]) / "points").num_rows == 10


def test_a_long_one_says_so_and_asks(
    tailback: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "LONG_S", 0.0)
    words = ("sweep", written(tmp_path), "--over", RATES, "--seeds", 4, "--jobs", 1)
    words += ("--out", tmp_path / "runs")
    asked = tailback(*words)
    assert asked.exit_code == 2
    assert "up to 20 points: this takes about" in asked.output
    assert "--yes begins" in asked.output
    assert not (tmp_path / "runs" / "line-of-three").exists()
    lines = (tmp_path / "runs" / ".points" / "line-of-three.jsonl").read_bytes().splitlines()
    assert len(lines) == 4, "what was tried to know how long it takes is kept"
    assert tailback(*words, "--yes").exit_code == 0


def test_one_of_few_points_that_take_long_asks_before_one_is_done(
    tailback: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "LONG_S", 10.0)
    plan = written(tmp_path, duration=3600 * 10**12, sample_interval=10**12)
    words = ("sweep", plan, "--over", RATES, "--jobs", 1, "--out", tmp_path / "runs")
    asked = tailback(*words)
    assert asked.exit_code == 2
    assert "up to 5 points: this takes about" in asked.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing is varied"),
        (["--over", "sources=1,2"], "sweep.names"),
        (["--over", RATES, "--design", "lhs", "--points", "1"], "--points"),
        (["--over", RATES, "--edge", "no"], "METRIC > VALUE"),
        (["--over", RATES, "--draw", "nothing"], "--draw"),
    ],
)
def test_what_is_not_accepted_says_what_is(
    tailback: Callable[..., Result], tmp_path: Path, words: list[str], said: str
) -> None:
    done = tailback("sweep", written(tmp_path), *words, "--jobs", 1, "--out", tmp_path / "runs")
    assert done.exit_code == 2
    assert said in done.output


def test_the_shell_completes_keys(tmp_path: Path) -> None:
    context = type("Context", (), {"params": {"plan": "quickstart"}})
    keys = command.complete_key(context, "nodes.switch.congestion_point.we")  # type: ignore[arg-type]
    assert keys == ["nodes.switch.congestion_point.weight="]
    assert "sources=" in command.complete_key(context, "so")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_ten_moments_it_loses_nothing_and_counts_nothing_twice(tmp_path: Path) -> None:
    """A run of it undisturbed says what has to come; each killed one leaves more of it behind."""
    plan = written(tmp_path, duration=40 * 10**12)
    words = [sys.executable, "-m", "orchestrator.cli", "sweep", str(plan), "--over", RATES]
    words += ["--seeds", "6", "--jobs", "2", "--json", "--yes", "--out"]
    live = tmp_path / "live"
    live.mkdir(mode=0o700)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    environment[session_registry.VARIABLE] = str(live)
    store = tmp_path / "runs" / ".points" / "line-of-three.jsonl"
    chance, kept = random.Random(1), 0
    for wanted in sorted(chance.sample(range(28), 10)):
        process = subprocess.Popen(
            [*words, str(tmp_path / "runs")],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while lines(store) < wanted and process.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        gone(environment[session_registry.VARIABLE])
        assert lines(store) >= kept, "what was kept stays"
        kept = lines(store)
    last = subprocess.run([*words, str(tmp_path / "runs")], env=environment, capture_output=True)
    whole = subprocess.run([*words, str(tmp_path / "whole")], env=environment, capture_output=True)
    found, expected = (Path(json.loads(done.stdout)["folder"]) for done in (last, whole))
    for name in ("points/part-00000.parquet", "places.parquet"):
        assert (found / name).read_bytes() == (expected / name).read_bytes()
    digests = [line.partition(b" ")[0] for line in store.read_bytes().splitlines()]
    assert len(set(digests)) == 30
    assert len(digests) <= 30 + 10, "of a killed one only what was under way may be half a line"
    left = {path.name for path in (tmp_path / "runs").rglob("*") if "partial" in path.name}
    assert left == set()
    assert list(live.iterdir()) == [], "what killed ones told consoles goes with the next sweep"


def gone(mark: str) -> None:
    """Wait until no process has this in its environment: workers notice that their parent is."""
    deadline, every = time.monotonic() + PATIENCE_S, Path("/proc")
    while left := [path for path in every.glob("[0-9]*/environ") if has(path, mark)]:
        assert time.monotonic() < deadline, f"a killed sweep leaves processes behind: {left}"
        time.sleep(0.05)


def has(path: Path, mark: str) -> bool:
    """Whether a file of /proc, which may vanish or be somebody else's, holds a text."""
    try:
        return mark.encode() in path.read_bytes()
    except OSError:
        return False


def lines(path: Path) -> int:
    """Whole lines of a file."""
    return path.read_bytes().count(b"\n") if path.exists() else 0
