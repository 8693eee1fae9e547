"""A sweep that goes on tells of every point, whoever ran it when, and leaves nothing behind."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.batch.parquet_dataset import axis_values
from orchestrator.batch.result_store import Store
from orchestrator.batch.stream_executor import process_executor
from orchestrator.batch.sweep_design import Sweep, SweepOptions
from orchestrator.batch.sweep_journal import SweepJournal, journaled
from orchestrator.batch.sweep_run import SweepRun, write_sweep_folder
from orchestrator.live import session_registry
from orchestrator.live.session_registry import running_sweeps
from tests.orchestrator.batch.made import FULL, random_flow
from tests.orchestrator.batch.test_sweep_design import RATES, SHARE, rows

Line = dict[str, Any]


@pytest.fixture(autouse=True)
def private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of journals."""
    folder = tmp_path / "live"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv(session_registry.VARIABLE, str(folder))
    return folder


def swept(out: Path, sweep: Sweep) -> tuple[list[Line], Path]:
    """Run a sweep; all lines of its journal, and its folder."""
    with journaled(sweep) as (onlooker, finished):
        [(path, _)] = running_sweeps()
        file = path.open(encoding="utf-8")
        running = SweepRun(sweep, Store(out / ".points"), 1, onlooker=onlooker)
        assert running.run(process_executor(1))
        folder = write_sweep_folder(running, out)[1]
        finished(folder)
    assert not path.exists()
    with file:
        return [json.loads(line) for line in file], folder


def told(lines: list[Line]) -> dict[tuple[int, int], tuple[list[Any], str, float]]:
    """(place, seed) -> values, verdict, the first number."""
    points = [line for line in lines if "seed" in line]
    return {(p["at"], p["seed"]): (p["of"], p["verdict"], p["n"][0]) for p in points}


def test_every_point_is_told_as_the_table_has_it(tmp_path: Path, private: Path) -> None:
    plan = random_flow(expect=[FULL | {"min": 0.5}])
    sweep = Sweep.of(plan, SweepOptions([RATES, "nodes.switch.buffer=10KB,50KB"], "2"))
    lines, folder = swept(tmp_path, sweep)
    table = {
        (row["place"], row["seed"]): (
            [row["traffic.gen.rate"], row["nodes.switch.buffer"]],
            row["verdict"],
            row[SHARE],
        )
        for row in rows(folder)
    }
    assert len(table) == 12
    assert told(lines) == table
    head, last = lines[0], lines[-1]
    assert (head["plan"], head["process"], head["places"]) == (plan.name, os.getpid(), 6)
    assert [axis["values"] for axis in head["axes"]] == [[1e8, 4e8, 7e8], [10e3, 50e3]]
    assert [line["done"] for line in lines if "stage" in line][-1] == 1.0
    assert last == {"ended": "done", "text": "", "folder": str(folder)}
    assert list(private.iterdir()) == []


def test_points_that_were_kept_are_told_too(tmp_path: Path) -> None:
    wishes = SweepOptions([RATES], "3")
    first = swept(tmp_path, Sweep.of(random_flow(), wishes))[0]
    again = swept(tmp_path, Sweep.of(random_flow(), wishes))[0]
    assert len(told(first)) == 9
    assert told(again) == told(first)


def test_places_that_are_the_same_are_all_told(tmp_path: Path) -> None:
    lines = swept(tmp_path, Sweep.of(random_flow(), SweepOptions(["title=a,b,c"], "2")))[0]
    assert sorted(told(lines)) == [(at, seed) for at in range(3) for seed in (1, 2)]


def test_a_place_that_makes_no_plan_is_told_with_its_reason(tmp_path: Path) -> None:
    over = ["traffic.gen.rate=100Mb/s,2Gb/s", "traffic.gen.peak=1Gb/s"]
    lines = swept(tmp_path, Sweep.of(random_flow(), SweepOptions(over, "1")))[0]
    refused = [line for line in lines if "why" in line]
    assert [line["of"][0] for line in refused] == [2e9]
    assert "rate" in refused[0]["why"]


def test_of_a_range_the_ends_are_told(tmp_path: Path) -> None:
    over = ["traffic.gen.rate=100Mb/s..900Mb/s", "links.up.delay=10us..1ms/3:log"]
    sweep = Sweep.of(random_flow(), SweepOptions(over, "1", "lhs", 4))
    lines, _ = swept(tmp_path, sweep)
    axes = lines[0]["axes"]
    assert [axis["values"] for axis in axes] == [[], []]
    assert axes[0]["ends"] == [1e8, 9e8]
    assert axes[1]["ends"] == pytest.approx([1e-5, 1e-3])
    for (at, _), (values, _, _) in told(lines).items():
        assert values == list(axis_values(sweep.axes, sweep.places[at]).values())


@pytest.mark.parametrize(
    ("error", "how", "text"),
    [(KeyboardInterrupt(), "stopped", "KeyboardInterrupt"), (ValueError("x"), "failed", "")],
)
def test_an_end_by_an_error_is_told(
    error: BaseException, how: str, text: str, private: Path
) -> None:
    sweep = Sweep.of(random_flow(), SweepOptions([RATES], "1"))
    with pytest.raises(type(error)), journaled(sweep):
        [(path, _)] = running_sweeps()
        file = path.open(encoding="utf-8")
        raise error
    with file:
        last = json.loads(file.readlines()[-1])
    assert last["ended"] == how
    assert text in last["text"]
    assert list(private.iterdir()) == []


def test_what_a_dead_sweep_left_goes(private: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name, process in (("dead", gone.pid), ("alive", os.getpid())):
        head = {"process": process, "started": 1.0, "plan": name}
        (private / f"{name}.sweep").write_text(json.dumps(head) + "\n")
    assert [head["plan"] for _, head in running_sweeps()] == ["alive"]
    assert [path.name for path in private.iterdir()] == ["alive.sweep"]


def test_a_sweep_goes_on_without_a_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep.of(random_flow(), SweepOptions([RATES], "1"))
    monkeypatch.setenv(session_registry.VARIABLE, "/proc/none")
    with journaled(sweep) as (onlooker, _):
        assert SweepRun(sweep, Store(tmp_path), 1, onlooker=onlooker).run(process_executor(1))


def test_a_journal_that_cannot_be_written_ends_and_the_sweep_goes_on(tmp_path: Path) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            if "seed" in text:
                raise OSError(28, "No space left on device")
            return super().write(text)

    sweep, file = Sweep.of(random_flow(), SweepOptions([RATES], "1")), Full()
    running = SweepRun(sweep, Store(tmp_path), 1, onlooker=SweepJournal(file, sweep))
    assert running.run(process_executor(1))
    assert "seed" not in file.getvalue()
