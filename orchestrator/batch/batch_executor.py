"""Batch executor: takes points from the store, from workers or by the ordinary run, in order."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from orchestrator.batch.eta import RemainingTime, Weigh, format_seconds
from orchestrator.batch.experiment import SIMULATED, Point
from orchestrator.batch.process_pool import LOOK_AHEAD, ProcessPool, Say
from orchestrator.batch.result_store import FOLDER, Row, Store
from orchestrator.batch.worker_replies import CRASHED, DONE, FAILED, IN_PROGRESS, Answer
from orchestrator.errors import RunFailed, TailbackError
from orchestrator.plan import Plan
from orchestrator.progress import Progress, Report, silent
from orchestrator.run.run_result import judge
from orchestrator.run.verdict import INVALID

STAGE = "running points"
MEASURED = (
    "metrics",
    "uncertainties",
    "units",
    "fidelity",
    "deadlocks",
    "incomplete",
    "notes",
)
"""Keys of a run's result that are measurements."""
RunPoint = Callable[[Point], Row]
"""Runs a point of a target that worker processes do not support; returns its measurements."""


class PointFailed(TailbackError):
    """A point could not be run; the text is its worker's."""

    def __init__(self, point: Point, code: int, text: str) -> None:
        self.exit_code = code
        super().__init__(f"{point}: {text}")


@dataclass(frozen=True)
class MeasuredPoint:
    """A point and its measurements."""

    point: Point
    row: Row
    kept: bool
    """True if it was in the store already."""

    def judged_by(self, plan: Plan) -> tuple[list[dict[str, Any]], str]:
        """The rows of a plan's expectations, and the verdict."""
        return judge(plan, self.row)


def run_points(
    points: Sequence[Point],
    jobs: int | None = None,
    store: Store | None = None,
    progress: Report = silent,
    say: Say = lambda text: None,
    elsewhere: RunPoint | None = None,
    weigh: Weigh = lambda point: 1.0,
    enough: Callable[[], bool] = lambda: False,
    failures: dict[str, str] | None = None,
) -> list[MeasuredPoint]:
    """Results of all points, in their order, for any number of `jobs` (default: cores).

    Points on `simulated` are distributed to worker processes, those of other targets run one after
    another by `elsewhere`. Points in the `store` are not run; results are stored at once, except
    invalid ones of a real machine. Once `enough` returns True no further point is begun, and the
    points that were not run are not returned. `weigh` is for the remaining time only. With
    `failures`, which gets the digest and the message of each experiment of which a point fails on
    `simulated`, such points are not returned, and no further ones of theirs are begun. Raises
    PointFailed, RunFailed.
    """
    found: dict[int, MeasuredPoint] = {}
    for place, point in enumerate(points):
        if store is not None and (row := store.get(point)) is not None:
            found[place] = MeasuredPoint(point, row, True)
    missing = [(place, point) for place, point in enumerate(points) if place not in found]
    first: dict[str, int] = {}  # a duplicate point is run once
    for place, point in missing:
        first.setdefault(point.digest, place)
    wanted = [(place, point) for place, point in missing if first[point.digest] == place]
    workers = jobs or available_cores()
    left = RemainingTime([point for _, point in wanted], workers, len(points) - len(wanted), weigh)
    progress(Progress(STAGE, left.share, left.words()))
    for place, row in _rows(wanted, workers, say, elsewhere, enough, failures):
        point = points[place]
        if store is not None and is_storable(point, row):
            store.put(point, row)
        found[place] = MeasuredPoint(point, row, False)
        left.done(point, row["cost_s"])
        progress(Progress(STAGE, left.share, left.words()))
    for place, point in missing:
        if (once := found.get(first[point.digest])) is not None:
            found.setdefault(place, MeasuredPoint(point, once.row, False))
    return [found[place] for place in sorted(found)]


def _rows(
    wanted: Sequence[tuple[int, Point]],
    workers: int,
    say: Say,
    elsewhere: RunPoint | None,
    enough: Callable[[], bool],
    failures: dict[str, str] | None,
) -> Iterator[tuple[int, Row]]:
    here = [(place, point) for place, point in wanted if point.subject.target == SIMULATED]
    points = dict(wanted)
    ahead = 1 if failures is None else LOOK_AHEAD
    sound = (one for one in here if one[1].subject.digest not in (failures or ()))
    with ProcessPool(min(workers, max(len(here), 1)), say, ahead) as crew:
        for place, answer in crew.answers(takewhile(lambda one: not enough(), sound)):
            if answer[0] == IN_PROGRESS:
                continue
            if failures is not None and answer[0] != DONE:
                text = answer[1][1] if answer[0] == FAILED else answer[1].strip().splitlines()[-1]
                failures.setdefault(points[place].subject.digest, text)
                continue
            yield place, row_of_answer(points[place], answer)
    for place, point in points.items():
        if point.subject.target == SIMULATED:
            continue
        if enough():
            return
        if elsewhere is None:
            raise RunFailed(f"{point}: no executor for points of this target")
        begun = time.perf_counter()
        yield place, elsewhere(point) | {"cost_s": time.perf_counter() - begun}


def is_storable(point: Point, row: Row) -> bool:
    """Return whether a result is stored: one that a real machine distorted is not."""
    return point.subject.target == SIMULATED or row["fidelity"]["verdict"] != INVALID


def row_of_answer(point: Point, answer: Answer) -> Row:
    """Measurements in a worker's reply. Raises PointFailed, or RuntimeError with its traceback."""
    how, what = answer
    if how == DONE:
        row: Row = what
        return row
    if how == CRASHED:
        raise RuntimeError(f"{point}:\n{what}")
    raise PointFailed(point, *what)


def available_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def open_result_store(out: Path) -> Store:
    """The store below a folder of runs."""
    return Store(out / FOLDER)


def forecast(points: Sequence[Point], store: Store, jobs: int | None) -> str:
    """One sentence; the time is from earlier points of the same plan with any settings."""
    missing = {point.digest: point for point in points if store.get(point) is None}
    kept = len(points) - len(missing)
    text = f"{len(points)} points" + (f", {kept} of them from before" if kept else "")
    if not missing:
        return f"{text}: nothing has to be run"
    costs = store.costs(next(iter(missing.values())).subject.name)
    if not costs:
        return f"{text}; how long that takes is known once the first is run"
    workers = min(jobs or available_cores(), len(missing))
    seconds = sum(costs) / len(costs) * len(missing) / workers
    return f"{text}, roughly {format_seconds(seconds)} with {workers} at once"
