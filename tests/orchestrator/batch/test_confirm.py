"""A long sweep is asked about before it has begun, however many or slow its points are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.batch.eta import SweepProgress
from orchestrator.batch.experiment import Point
from orchestrator.batch.point_worker import EVERY_S, DurationEstimate
from orchestrator.batch.process_pool import Say
from orchestrator.batch.realtime_executors import serial_executor
from orchestrator.batch.result_store import Store
from orchestrator.batch.sweep_design import Sweep, SweepOptions
from orchestrator.batch.sweep_run import SweepRun
from orchestrator.batch.worker_replies import DONE, IN_PROGRESS, Answer
from orchestrator.progress import Progress
from tests.orchestrator.batch.made import random_flow
from tests.orchestrator.batch.test_realtime_executors import RATES, Machine, planned

Asked = list[tuple[int, float]]


def told(*shares: tuple[float, float]) -> list[float]:
    """What a worker says of a point whose run reports (second, share) one after another."""
    said: list[Answer] = []
    now = 0.0
    telling = DurationEstimate(said.append, lambda: now)
    for second, share in shares:
        now = second
        telling(Progress("simulating", share))
    assert all(how == IN_PROGRESS for how, _ in said)
    return [seconds for _, seconds in said]


def test_a_slow_point_says_how_long_it_takes_in_all() -> None:
    assert told((50, 0.0), (50.5, 1.0), (60, 0.1), (62, 0.12)) == [pytest.approx(100)]
    assert told((0, 0.1), (EVERY_S * 0.9, 0.5)) == [], "a quick one says nothing"
    assert told((0, 0.1), (EVERY_S, 0.2), (1.5 * EVERY_S, 0.5)) == [pytest.approx(10 * EVERY_S)]
    assert told((0, 0.1), (EVERY_S, 0.1)) == [], "as long as it stands still nobody knows"


def test_before_the_clock_tells_points_that_are_under_way_do() -> None:
    tally = SweepProgress(10, 2)
    assert tally.seconds() is None
    tally.going("a", 100.0)
    tally.going("b", 300.0)
    assert tally.seconds() == 200 * 10 / 2
    tally.going("a", 300.0)
    assert tally.seconds() == 300 * 10 / 2
    tally.kept = 9
    assert tally.seconds() == 300, "of one that is left one worker's time"


class Slow:
    """Says of each point that it takes an hour, then runs it."""

    def __init__(self, say: Say) -> None:
        pass

    def answers(self, points: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Answer]]:
        """Each point twice."""
        for number, point in points:
            yield number, (IN_PROGRESS, 3600.0)
            numbers = {"utilization": point.seed / 10}
            row: dict[str, Any] = {"metrics": {"run": {"switch.sink": numbers}}, "cost_s": 1.0}
            yield number, (DONE, row)


@pytest.mark.parametrize(("seeds", "points"), [("1", 3), ("9", 27)])
def test_slow_points_are_asked_about_before_one_is_done(
    tmp_path: Path, seeds: str, points: int
) -> None:
    sweep = Sweep.of(random_flow(), SweepOptions([RATES], seeds))
    asked: Asked = []

    def no(most: int, seconds: float) -> bool:
        asked.append((most, seconds))
        return False

    running = SweepRun(sweep, Store(tmp_path), 1)
    assert not running.run(lambda say: contextlib.nullcontext(Slow(say)), agree=no)
    assert asked == [(points, 3600.0 * points)]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("seeds", "asked_at"), [("1", {0}), ("9", {0, 1, 2, 3})])
def test_nobody_is_asked_once_it_has_begun(tmp_path: Path, seeds: str, asked_at: set[int]) -> None:
    """It has begun with the first point, or the first after those that were run to know."""
    sweep = Sweep.of(random_flow(), SweepOptions([RATES], seeds))
    store, done = Store(tmp_path), set[int]()

    def yes(most: int, seconds: float) -> bool:
        path = tmp_path / "line-of-three.jsonl"
        done.add(path.read_bytes().count(b"\n") if path.exists() else 0)
        return True

    running = SweepRun(sweep, store, 1)
    assert running.run(lambda say: contextlib.nullcontext(Slow(say)), agree=yes)
    assert done == asked_at
    again = SweepRun(sweep, store, 1)
    assert again.run(
        lambda say: contextlib.nullcontext(Slow(say)), agree=lambda most, seconds: False
    )
    assert (again._tally.kept, again._tally.run) == (3 * int(seeds), 0)


def test_in_real_time_it_is_known_before_anything_runs(tmp_path: Path) -> None:
    machine, asked = Machine(), list[float]()

    def no(most: int, seconds: float) -> bool:
        asked.append(seconds)
        return False

    for kept in (0, 2):
        sweep = planned(pace="0.001")
        running = SweepRun(sweep, Store(tmp_path), 1)
        assert not running.run(serial_executor(machine.carry), agree=no)
        assert len(machine.ran) == 0
        length = sweep.plan.duration / 1e12 / 0.001
        assert asked[-1] == pytest.approx((6 - kept) * length)
        for seed in (1, 2):
            subject = sweep.subject(0)
            assert subject is not None
            Store(tmp_path).put(Point(subject, seed), {"fidelity": {"verdict": "valid"}})
