"""As many points at once as there are machines; each once, also where a machine distorts one."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from orchestrator.batch.experiment import Point
from orchestrator.batch.realtime_executors import TRIES, concurrent_executor
from orchestrator.batch.result_store import Row
from orchestrator.batch.worker_replies import DONE, FAILED
from orchestrator.errors import RunFailed
from tests.orchestrator.batch.made import points, random_flow
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
