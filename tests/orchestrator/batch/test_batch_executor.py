"""Points are the runs that `run` makes, in their order, whoever carries them out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.assembly import world_assembly
from orchestrator.batch import experiment, process_pool
from orchestrator.batch.batch_executor import PointFailed, run_points
from orchestrator.batch.eta import RemainingTime
from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.point_worker import PointRunner
from orchestrator.batch.result_store import Store
from orchestrator.batch.worker_replies import DONE
from orchestrator.errors import BadInput, Refused, RunFailed
from orchestrator.plan import Plan
from orchestrator.run.execute_run import run
from tests.orchestrator.batch.made import FULL, points, random_flow
from tests.patience import PATIENCE_S

TIMES = ("cost_s",)


def numbers(found: list[Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in one.row.items() if k not in TIMES} for one in found]


def test_a_point_measures_what_the_run_does_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = random_flow(expect=[FULL], capture={"ports": ["switch.sink"]})
    (found,) = run_points(points(plan, 3), jobs=1)
    result = run(plan, seed=3, out=None).result
    for key in ("metrics", "units", "fidelity", "notes", "deadlocks"):
        assert found.row[key] == result[key]
    assert found.judged_by(plan) == (result["expectations"], result["verdict"])
    assert list(tmp_path.iterdir()) == []


def test_results_are_in_order_and_do_not_depend_on_the_workers() -> None:
    wanted = points(random_flow(), 5, 1, 4, 1, 2, 3)
    one, three = run_points(wanted, jobs=1), run_points(wanted, jobs=3)
    assert [found.point for found in three] == wanted
    assert numbers(one) == numbers(three)
    assert numbers(one)[1] == numbers(one)[3]
    assert numbers(one)[0] != numbers(one)[1]


def test_a_worker_lays_a_subject_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    laid: list[int] = []
    lay_out = world_assembly.assemble

    def noted(resolved: Any, **more: Any) -> Any:
        laid.append(resolved.plan.seed)
        return lay_out(resolved, **more)

    monkeypatch.setattr(world_assembly, "assemble", noted)
    bench, plans = PointRunner(), [random_flow(), random_flow(duration=10**11)]
    for plan in plans:
        for number, point in enumerate(points(plan, 3, 1, 2)):
            how, row = bench.answer(None if number else point.subject.table, point.seed)
            assert how == DONE
            assert row["metrics"] == run(plan, seed=point.seed, out=None).result["metrics"]
    assert laid == [3, 3]


def test_a_worker_gives_each_seed_its_own_pairs_and_random_numbers() -> None:
    """It looks at a subject's plan once, and the seed draws more than the sources' chance."""
    sinks = [f"sink{n}" for n in range(8)]
    drawn = random_flow(
        nodes={"nic": {"kind": "nic"}, "switch": {"kind": "switch"}}
        | {name: {"kind": "sink"} for name in sinks},
        links={"up": {"ends": ["nic", "switch"], "rate": 10**9}}
        | {f"to-{name}": {"ends": ["switch", name], "rate": 10**9} for name in sinks},
        traffic={
            "gen": {
                "plugin": "cbr",
                "pairing": "random",
                "from": "nic",
                "to": sinks,
                "rate": 10**9,
            }
        },
    )
    for plan in (drawn, random_flow()):
        found = run_points(points(plan, 1, 2, 3, 4), jobs=1)
        for one in found:
            alone = run(plan, seed=one.point.seed, out=None).result
            assert one.row["metrics"] == alone["metrics"]
        assert len({str(one.row["metrics"]) for one in found}) > 1


def test_what_is_kept_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, wanted = Store(tmp_path), points(random_flow(), 1, 2, 3)
    first = run_points(wanted[:2], jobs=1, store=store)
    given: list[int] = []
    give = process_pool._Worker.give

    def noted(self: Any, place: int, point: Point) -> None:
        given.append(point.seed)
        give(self, place, point)

    monkeypatch.setattr(process_pool._Worker, "give", noted)
    again = run_points(wanted, jobs=1, store=Store(tmp_path))
    assert given == [3]
    assert [found.kept for found in again] == [True, True, False]
    assert numbers(again)[:2] == numbers(first)


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"expect": [FULL], "title": "other words", "seeds": 7}, True),
        ({"capture": {"ports": ["switch.sink"]}}, True),
        ({"duration": 3 * 10**9}, False),
        ({"phases": {"late": {"from": 10**9, "to": 2 * 10**9}}}, False),
    ],
)
def test_what_a_point_is_kept_by(changes: dict[str, Any], same: bool) -> None:
    (one,), (other,) = points(random_flow(), 1), points(random_flow(**changes), 1)
    assert (one.digest == other.digest) is same
    assert one.digest != points(random_flow(), 2)[0].digest


def test_a_point_of_other_sources_is_run_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of sources that have changed since is stale: its row is of another program."""
    (before,) = points(random_flow(), 1)
    monkeypatch.setattr(experiment, "digest_of", lambda registry: "0" * 64)
    (after,) = points(random_flow(), 1)
    assert before.digest != after.digest
    assert before.subject.sources != after.subject.sources == "0" * 64


def test_a_worker_that_dies_is_said_and_its_point_run_again() -> None:
    said: list[str] = []
    wanted = points(random_flow(), 1, 2, 3, 4)
    killed: list[int] = []
    with process_pool.ProcessPool(2, said.append) as workers:
        found = {}
        for place, answer in workers.answers(list(enumerate(wanted))):
            found[place] = answer
            busy = [w for w in workers._workers if w.point is not None]
            if not killed and busy:
                killed.append(busy[0].process.pid)
                os.kill(killed[0], signal.SIGKILL)
    assert sorted(found) == [0, 1, 2, 3]
    assert [len(said), "signal 9" in said[0], "run again" in said[0]] == [1, True, True]
    expected = numbers(run_points(wanted, jobs=1))
    rows = [{k: v for k, v in found[place][1].items() if k not in TIMES} for place in range(4)]
    assert rows == expected


def test_a_point_that_ends_every_worker_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = [sys.executable, "-P", "-c", "import os; os._exit(7)"]
    monkeypatch.setattr(process_pool.python_command, "module", lambda *words: ends)
    said: list[str] = []
    with pytest.raises(RunFailed, match=r"seed 1: 2 workers ended with code 7"):
        run_points(points(random_flow(), 1), jobs=1, say=said.append)
    assert len(said) == 1


def test_what_cannot_be_run_is_refused_before_any_is() -> None:
    with pytest.raises(BadInput, match="no target 'elsewhere'"):
        Experiment.of(random_flow(target="elsewhere"))
    faulty = random_flow(timeline=[{"at": 0, "cut_link": "up"}])
    with pytest.raises(Refused, match="no agents"):
        Experiment.of(faulty)


def test_an_error_of_a_worker_is_the_points() -> None:
    subject = Experiment("made", "simulated", {"name": "made"}, "0")
    with pytest.raises(PointFailed, match=r"(?s)seed 1: .*duration") as error:
        run_points([Point(subject, 1)], jobs=1)
    assert error.value.exit_code == 2


def test_nobody_is_left_behind_when_the_parent_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "many.py"
    program.write_text(
        "from orchestrator.batch.batch_executor import run_points\n"
        "from tests.orchestrator.batch.made import points, random_flow\n"
        "run_points(points(random_flow(duration=60 * 10**12), *range(9)), jobs=2)\n"
    )
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    parent = subprocess.Popen([sys.executable, str(program)], env=environment)
    try:
        workers = _eventually(lambda: _children(parent.pid), 2)
    finally:
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + PATIENCE_S
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "a worker outlives its parent"
        time.sleep(0.05)


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


def _eventually(children: Any, count: int) -> list[int]:
    deadline = time.monotonic() + PATIENCE_S
    while len(found := children()) < count:
        assert time.monotonic() < deadline, "no workers are started"
        time.sleep(0.05)
    return list(found)


def test_the_time_left_is_that_of_the_points_left() -> None:
    cheap, dear = (
        Experiment("cheap", "simulated", {}, "1"),
        Experiment("dear", "simulated", {}, "2"),
    )
    wanted = [Point(cheap, 1), Point(cheap, 2), Point(dear, 1), Point(dear, 2), Point(dear, 3)]
    left = RemainingTime(wanted, 2, kept=4)
    assert left.words() == "0 of 5 points, 4 from before"
    left.done(wanted[0], 2.0)
    assert left.seconds() == 4 * 2.0 / 2
    left.done(wanted[2], 100.0)
    assert left.seconds() == (2.0 + 2 * 100.0) / 2
    assert left.words() == "2 of 5 points, 4 from before, about 1.7 min left"


def test_a_plan_keeps_its_number_of_seeds_and_its_runs_do_not() -> None:
    plan = random_flow(seeds=20)
    assert plan.seeds == 20
    assert "seeds" not in plan.to_table()
    assert isinstance(plan, Plan)
