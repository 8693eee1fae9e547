"""As many points at once as there are machines; each once, also where a machine distorts one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from orchestrator.batch.batch_executor import PointFailed
from orchestrator.batch.experiment import Experiment, Point
from orchestrator.batch.realtime_executors import (
    TRIES,
    concurrent_executor,
    plan_of,
    serial_executor,
)
from orchestrator.batch.result_store import Row, Store
from orchestrator.batch.sweep_design import Sweep, SweepOptions
from orchestrator.batch.sweep_run import SweepRun, write_sweep_folder
from orchestrator.batch.worker_replies import DONE, FAILED
from orchestrator.errors import BadInput, RunFailed
from orchestrator.testbed.sweep_executors import SweepMachines
from tests.orchestrator.batch.made import points, random_flow
from tests.orchestrator.batch.test_sweep_design import rows
from tests.patience import PATIENCE_S


class Machines:
    """Each run waits until as many as there are machines go on, or nothing more comes."""

    def __init__(self, count: int, wrong: int = 0) -> None:
        self.together = threading.Barrier(count)
        self.wrong, self.ran = wrong, list[int]()
        self.now = self.most = 0
        self.lock = threading.Lock()
        self.stopped = threading.Event()

    def carry(self, point: Point) -> Row:
        with self.lock:
            self.ran.append(point.seed)
            self.now += 1
            self.most = max(self.most, self.now)
            broken = point.seed == 1 and self.wrong > 0
            self.wrong -= broken
        if not broken:
            self.together.wait(PATIENCE_S)
        with self.lock:
            self.now -= 1
        verdict = {"verdict": "invalid" if broken else "valid", "reasons": ["agent a is gone"]}
        return {"fidelity": verdict, "seed": point.seed}


def answers(machines: Machines, count: int, seeds: int) -> list[tuple[int, Any]]:
    every = list(enumerate(points(random_flow(), *range(1, seeds + 1))))
    said: list[str] = []
    with concurrent_executor(machines.carry, count, machines.stopped.set)(said.append) as workers:
        found = list(workers.answers(every))
    assert machines.stopped.is_set()
    return sorted(found)


def test_as_many_at_once_as_there_are_machines_and_no_more() -> None:
    machines = Machines(3)
    found = answers(machines, 3, 6)
    assert machines.most == 3
    assert sorted(machines.ran) == [1, 2, 3, 4, 5, 6]
    assert [(number, what[1]["seed"]) for number, what in found] == [
        (number, number + 1) for number in range(6)
    ], "each answer is that of its point"


def test_what_a_machine_did_not_finish_is_run_again_and_told_once() -> None:
    machines = Machines(2, wrong=TRIES - 1)
    found = answers(machines, 2, 2)
    assert sorted(machines.ran) == [1] * TRIES + [2]
    assert [(number, how) for number, (how, _) in found] == [(0, DONE), (1, DONE)]


def test_what_fails_is_told_as_such() -> None:
    def fails(point: Point) -> Row:
        raise RunFailed("agent left: no room")

    with concurrent_executor(fails, 2, lambda: None)(lambda text: None) as workers:
        assert list(workers.answers(enumerate(points(random_flow(), 1)))) == [
            (0, (FAILED, (3, "agent left: no room")))
        ]


def test_at_its_end_what_goes_on_is_stopped_and_waited_for() -> None:
    stopped, over = threading.Event(), list[int]()

    def carry(point: Point) -> Row:
        assert stopped.wait(PATIENCE_S)
        over.append(point.seed)
        raise RunFailed("it was cancelled")

    def halted() -> None:
        with concurrent_executor(carry, 2, stopped.set)(lambda text: None) as workers:
            answered = workers.answers(enumerate(points(random_flow(), 1, 2, 3, 4)))
            threading.Timer(0.2, stopped.set).start()
            next(answered)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        halted()
    assert {1, 2} <= set(over)


# Points in real time: one at a time, run again when invalid, kept once, gone on with.

RATES = "traffic.gen.rate=100Mb/s,400Mb/s,700Mb/s"
USED = "utilization of switch.sink in run"
ELSEWHERE = {"controller": "tcp://127.0.0.1:7011"}


class Machine:
    """Says a number for each point; `wrong` (rate, seed) are invalid so many times."""

    def __init__(self, wrong: dict[tuple[int, int], int] | None = None) -> None:
        self.ran: list[tuple[int, int]] = []
        self.wrong = dict(wrong or {})
        self.ends_at: int | None = None

    def carry(self, point: Point) -> Row:
        if self.ends_at == len(self.ran):
            raise KeyboardInterrupt
        plan = plan_of(point)
        rate = plan.to_table()["traffic"]["gen"]["rate"]
        key = (int(str(rate).removesuffix("Mb/s")), plan.seed)
        self.ran.append(key)
        left = self.wrong.get(key, 0)
        self.wrong[key] = left - 1
        fidelity = {"verdict": "invalid" if left > 0 else "valid", "reasons": ["too late"]}
        numbers = {"utilization": key[0] / 1000 + key[1] / 1e6}
        metrics = {"run": {"switch.sink": numbers}}
        units = {"utilization": "ratio"}
        return {"metrics": metrics, "units": units, "fidelity": fidelity, "notes": []}


def planned(seeds: str = "2", **how: str) -> Sweep:
    wishes = SweepOptions([RATES], seeds, target="software", how=ELSEWHERE | how)
    return Sweep.of(random_flow(), wishes)


def run(out: Path, machine: Machine, said: list[str] | None = None, **how: str) -> Any:
    running = SweepRun(planned(**how), Store(out / ".points"), 1)
    say = (lambda text: None) if said is None else said.append
    running.run(serial_executor(machine.carry), say)
    return write_sweep_folder(running, out)


EVERY = {(rate, seed) for rate in (100, 400, 700) for seed in (1, 2)}


def test_each_point_is_run_once_and_its_row_is_kept(tmp_path: Path) -> None:
    machine = Machine()
    result, folder = run(tmp_path, machine)
    assert sorted(machine.ran) == sorted(EVERY)
    assert (result["target"], result["points"], result["invalid"]) == ("software", 6, 0)
    assert [row[USED] for row in rows(folder)] == [
        pytest.approx(rate / 1000 + seed / 1e6) for rate in (100, 400, 700) for seed in (1, 2)
    ]


def test_a_sweep_that_was_ended_goes_on(tmp_path: Path) -> None:
    first, second = Machine(), Machine()
    first.ends_at = 4
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, first)
    result, _ = run(tmp_path, second)
    assert len(first.ran) == 4
    assert set(first.ran) | set(second.ran) == EVERY
    assert len(second.ran) == 2
    assert result["points"] == 6


def test_what_was_distorted_is_run_again(tmp_path: Path) -> None:
    machine, said = Machine({(400, 1): TRIES - 1}), list[str]()
    result, _ = run(tmp_path, machine, said)
    assert machine.ran.count((400, 1)) == TRIES
    assert (result["points"], result["invalid"]) == (6, 0)
    assert len(said) == TRIES - 1
    assert "seed 1 is invalid, and run again: too late" in said[0]


def test_what_stays_distorted_is_left_out_told_and_tried_by_the_next(tmp_path: Path) -> None:
    machine, said = Machine({(400, 1): TRIES}), list[str]()
    result, folder = run(tmp_path, machine, said)
    assert (result["points"], result["invalid"]) == (5, 1)
    assert "left out" in said[-1]
    assert (4e8, 1) not in {(row["traffic.gen.rate"], row["seed"]) for row in rows(folder)}
    again = Machine()
    result, _ = run(tmp_path, again)
    assert again.ran == [(400, 1)]
    assert (result["points"], result["invalid"]) == (6, 0)


def test_what_was_distorted_while_the_time_was_reckoned_counts_once(tmp_path: Path) -> None:
    """Of more than eight points a few are tried first; what they lack is run with the others."""
    machine, told = Machine({(100, 1): TRIES, (400, 1): TRIES, (700, 1): 2 * TRIES}), []
    running = SweepRun(planned("3"), Store(tmp_path / ".points"), 1, told.append)
    assert running.run(serial_executor(machine.carry))
    result, _ = write_sweep_folder(running, tmp_path)
    assert (result["points"], result["invalid"]) == (8, 1)
    assert max(news.done for news in told) == 1


def test_a_point_that_fails_ends_it_by_name(tmp_path: Path) -> None:
    def fails(point: Point) -> Row:
        raise RunFailed("agent right: gone")

    running = SweepRun(planned(), Store(tmp_path / ".points"), 1)
    with pytest.raises(PointFailed, match=r"on software, seed \d: agent right: gone"):
        running.run(serial_executor(fails))


def test_other_machines_and_paces_make_other_points() -> None:
    plan = random_flow()
    some = [ELSEWHERE, ELSEWHERE | {"pace": "0.5"}, {"controller": "tcp://10.0.0.1:7011"}]
    assert len({Experiment.of(plan, "software", **how).digest for how in some}) == 3
    assert Experiment.of(plan).digest != Experiment.of(plan, "software", **ELSEWHERE).digest


@pytest.mark.parametrize(
    ("machines", "option"),
    [
        (
            SweepMachines(target="simulated", controller="tcp://a:1"),
            "--target.*each can hold gateware",
        ),
        (SweepMachines(target="nowhere", controller="tcp://a:1"), "--target"),
        (SweepMachines(target="gateware", controller="tcp://a:1", pace=0.5), "--pace"),
        (SweepMachines(controller="tcp://a:1", testbed=Path("x")), "--testbed"),
        (SweepMachines(pace=0.5), "--pace"),
        (SweepMachines(target="simulated", controller_key="x"), "--controller-key"),
    ],
)
def test_options_that_do_not_go_together(machines: SweepMachines, option: str) -> None:
    with pytest.raises(BadInput, match=option):
        _ = machines.chosen


def test_what_is_chosen() -> None:
    assert SweepMachines().chosen == "simulated"
    assert SweepMachines(target="gateware").chosen == "gateware"
    assert SweepMachines(controller="tcp://a:1").chosen == "software"
    assert SweepMachines(target="gateware", controller="tcp://a:1").chosen == "gateware"
    assert SweepMachines(controller="tcp://a:1", pace=0.5).how == {
        "pace": "0.5",
        "controller": "tcp://a:1",
    }
