"""Run of a sweep: estimate, points, further seeds where needed, result folder.

folder = run_sweep(sweep, store_in(out), out, processes(2))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from orchestrator.batch import parquet_dataset
from orchestrator.batch.adaptive_sampling import (
    BELOW,
    UNSURE,
    AdaptiveSampler,
    crossing_axis,
    edge_crossings,
    side_of,
)
from orchestrator.batch.batch_executor import is_storable
from orchestrator.batch.batch_folder import batch_folder
from orchestrator.batch.confidence_interval import LEAST, mean_and_half
from orchestrator.batch.confirm import Agree, Confirmation, SweepDeclined, real_time_estimate
from orchestrator.batch.eta import SweepProgress
from orchestrator.batch.experiment import SIMULATED, Point
from orchestrator.batch.metric_columns import ColumnTable, Pattern, column_of
from orchestrator.batch.process_pool import Say
from orchestrator.batch.result_store import Row, Store
from orchestrator.batch.stream_executor import Executor, Workers, stream_points
from orchestrator.batch.sweep_design import Sweep
from orchestrator.batch.sweep_listener import NO_LISTENER, SweepListener
from orchestrator.errors import RunFailed
from orchestrator.progress import Report, silent
from orchestrator.registry import Registry
from orchestrator.run.run_result import judge

FORMAT = 1
"""Version of sweep.json."""
KIND = "sweep"
TRIES = 4
"""Pilot points per worker, spread over the sweep, to estimate the duration."""
MOST_REASONS = 20
"""Most refused parameter points listed in sweep.json."""
Enough = Callable[[int, int], bool]
"""Takes a parameter point and its number of seeds; returns whether these suffice."""


class SweepRun:
    """Run of a sweep; all results are in the store."""

    def __init__(
        self,
        sweep: Sweep,
        store: Store,
        workers: int,
        progress: Report = silent,
        onlooker: SweepListener = NO_LISTENER,
    ) -> None:
        """`workers`: number of points that are run at once."""
        self.sweep, self._store, self._progress = sweep, store, progress
        self._onlooker = onlooker
        self._size = workers
        self._tally = SweepProgress(sweep.most, workers)
        self._tried: set[str] = set()
        self._question = Confirmation(lambda points, seconds: True)
        self.invalid: set[str] = set()
        """Digests of points that the machine distorted in every run."""
        self._saved = 0
        """Number of points that are no longer needed."""

    def run(
        self,
        executor: Executor,
        say: Say = lambda text: None,
        agree: Agree = lambda points, seconds: True,
    ) -> bool:
        """Run the missing points if the user confirms the duration; False: declined.

        Raises PointFailed, RunFailed, and BadInput where no parameter point has a valid plan.
        """

        def tell(text: str) -> None:
            say(text)
            self._onlooker.message(text)

        self._question = Confirmation(agree)
        try:
            with executor(tell) as workers:
                self._confirm(real_time_estimate(self.sweep, self._store, self._onlooker))
                self._run_pilot_points(workers)
                self._run(workers)
        except SweepDeclined:
            return False
        self.sweep.insist()
        return True

    def _run(self, workers: Workers) -> None:
        if self.sweep.search is not None:
            self._along_the_edge(self.sweep.search, workers)
        elif self.sweep.narrow is not None:
            self._until(self._is_narrow, self.sweep.order(), workers)
        else:
            self._run_points(self._points(self.sweep.order(), self.sweep.seeds), workers)

    def _run_pilot_points(self, workers: Workers) -> None:
        """Run a few pilot points of a large sweep, to estimate the duration; they are stored."""
        count = TRIES * self._size
        if self.sweep.most <= 2 * count:
            return
        tried = self._points(self.sweep.order()[:count], self.sweep.seeds[:1])
        self._run_points(tried, workers, self._tried)
        self._confirm(self._tally.seconds())
        self._question.close()

    def _confirm(self, seconds: float | None) -> None:
        self._question.put(self.sweep.most, seconds)

    def measured(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """(index, seed, row) of every point, in the order of parameter points and seeds."""
        for at in range(len(self.sweep.places)):
            if (subject := self.sweep.planned(at)) is None:
                continue
            for seed in self.sweep.seeds:
                row = self._store.get(Point(subject, seed))
                if row is not None:
                    yield at, seed, row
                elif self.sweep.target != SIMULATED:
                    continue  # the machine distorted it
                elif not self.sweep.may_need_fewer:
                    raise RunFailed(
                        f"{Point(subject, seed)} is no longer kept; run the sweep again"
                    )
                else:
                    break

    def _points(self, places: Sequence[int], seeds: Sequence[int]) -> Iterator[Point]:
        return self.sweep.points(places, seeds, self._onlooker)

    def _run_points(
        self, points: Iterator[Point], workers: Workers, tried: set[str] | None = None
    ) -> None:
        def from_store(point: Point, row: Row | None) -> None:
            if point.digest not in self._tried:
                self._tally.kept += 1
            if row is not None:
                self._onlooker.point(point, row)
            if tried is not None:
                tried.add(point.digest)

        def going(point: Point, seconds: float) -> None:
            self._tally.going(point.digest, seconds)
            self._report_progress()
            self._confirm(self._tally.seconds())

        self._report_progress()
        for point, row in stream_points(points, self._store, workers, from_store, going):
            if tried is None:
                self._question.close()
            if point.digest not in self._tried:  # a distorted pilot point is run again
                self._tally.done()
            self._onlooker.point(point, row)
            note = self.invalid.discard if is_storable(point, row) else self.invalid.add
            note(point.digest)
            if tried is not None:
                tried.add(point.digest)
            self._report_progress()
        self._report_progress()

    def _report_progress(self) -> None:
        self._tally.most = self.sweep.most - self._saved
        progress = self._tally.progress()
        self._progress(progress)
        self._onlooker.progress(progress)

    def _along_the_edge(self, search: AdaptiveSampler, workers: Workers) -> None:
        """Run rounds of parameter points, chosen by the sides of the earlier ones."""
        places = list(range(len(self.sweep.places)))
        while places:
            self._until(self._is_on_a_side, places, workers)
            search.tell({self._texts(at): self._side(at, len(self.sweep.seeds)) for at in places})
            places = self.sweep.add(search.ask())
        self._saved = self.sweep.most - self._tally.kept - self._tally.run

    def _until(self, enough: Enough, places: Sequence[int], workers: Workers) -> None:
        """Run the next seed of each parameter point, round by round, until its seeds suffice.

        The decision uses the earlier seeds in order, so that the number of seeds is independent of
        the order of the runs.
        """
        open_places, done = list(places), 0
        while open_places and done < len(self.sweep.seeds):
            some = self.sweep.seeds[done : done + (LEAST if not done else 1)]
            self._run_points(self._points(open_places, some), workers)
            done += len(some)
            runnable = [at for at in open_places if at not in self.sweep.refused]
            open_places = [at for at in runnable if not enough(at, done)]
            settled = len(runnable) - len(open_places)
            self._saved += settled * (len(self.sweep.seeds) - done)

    def _is_narrow(self, at: int, count: int) -> bool:
        width = self.sweep.narrow
        assert width is not None
        return width.is_reached(*self._interval(at, count, width.metric, "--narrow"))

    def _is_on_a_side(self, at: int, count: int) -> bool:
        return count >= LEAST and self._side(at, count) != UNSURE

    def _side(self, at: int, count: int) -> int:
        edge = self.sweep.edge
        assert edge is not None
        if at in self.sweep.refused:
            return BELOW
        return side_of(*self._interval(at, count, edge.metric, "--edge"), edge.value)

    def _interval(
        self, at: int, count: int, metric: str, said: str
    ) -> tuple[float | None, float | None]:
        """Mean and half of its interval over the first `count` seeds of a parameter point."""
        subject = self.sweep.planned(at)
        assert subject is not None
        flat = ColumnTable(Pattern.read(metric, said).fits)
        rows = [self._store.get(Point(subject, seed)) for seed in self.sweep.seeds[:count]]
        found = [flat.of(row) for row in rows if row is not None]
        name = column_of(metric, list(flat.units), said)
        return mean_and_half([one[name] for one in found if name in one])

    def intervals(self, flat: ColumnTable, column: str) -> dict[int, tuple[float, float | None]]:
        """Index -> mean and half of its interval over the seeds; of points with the number."""
        values: dict[int, list[float]] = {}
        for at, _, row in self.measured():
            numbers = flat.of(row)
            if column in numbers:
                values.setdefault(at, []).append(numbers[column])
        found = {at: mean_and_half(some) for at, some in values.items()}
        return {at: (mean, half) for at, (mean, half) in found.items() if mean is not None}

    def _texts(self, at: int) -> tuple[str, ...]:
        return tuple(value.text for value in self.sweep.places[at])


def write_sweep_folder(running: SweepRun, out: Path) -> tuple[dict[str, Any], Path]:
    """Make the folder of a sweep below `out`: sweep.json, tables, figures, plan, manifest."""
    sweep = running.sweep
    with batch_folder(sweep.plan, sweep.seeds, out, KIND, sweep.target) as folder:
        result = write_sweep(running, folder.path)
        folder.write_json("sweep.json", result)
        folder.write_text("sweep.toml", running.sweep.to_toml())
        Registry.load().call("tailback_sweep", folder=folder.path)
        return result, folder.commit()


def write_sweep(running: SweepRun, folder: Path) -> dict[str, Any]:
    """Write the tables; returns the content of sweep.json. Raises BadInput for its metrics."""
    sweep, flat = running.sweep, ColumnTable(running.sweep.wanted)

    def rows() -> Iterator[parquet_dataset.Measured]:
        for place, seed, row in running.measured():
            yield place, seed, judge(sweep.plan, row)[1], flat.of(row)

    count = parquet_dataset.write_tables(
        folder, sweep.axes, sweep.places, lambda: list(flat.units), rows
    )
    columns = list(flat.units)
    draw, edge = _drawn(sweep, columns), None
    if sweep.edge is not None:
        column = column_of(sweep.edge.metric, columns, "--edge")
        edge = {"metric": column, "value": sweep.edge.value}
        draw = [column, *(name for name in draw if name != column)]

    return {
        "tailback": FORMAT,
        "plan": sweep.plan.name,
        "title": sweep.plan.title,
        "target": sweep.target,
        "axes": [
            {"key": axis.label, "keys": list(axis.keys)}
            | parquet_dataset.axis_description(axis)
            | {
                "texts": _texts(sweep, at),
                "halved": sweep.search is not None and at in sweep.search.halved,
            }
            for at, axis in enumerate(sweep.axes)
        ],
        "design": sweep.design,
        "seeds": sweep.seeds,
        "places": len(sweep.places),
        "points": count,
        "units": flat.units,
        "draw": draw,
        "edge": edge,
        "overlay": sweep.overlay,
        **_edge_and_effects(running, flat, draw, edge),
        "invalid": len(running.invalid),
        "refused": {
            "places": len(sweep.refused),
            "such_as": [
                {"values": _values(sweep, at), "reason": why}
                for at, why in sorted(sweep.refused.items())[:MOST_REASONS]
            ],
        },
    }


def _edge_and_effects(
    running: SweepRun, flat: ColumnTable, draw: Sequence[str], edge: dict[str, Any] | None
) -> dict[str, Any]:
    """Results over all parameter points: crossings of the threshold, and Sobol indices."""
    sweep, found = running.sweep, dict[str, Any]()
    if (
        edge is not None
        and (along := crossing_axis(sweep.axes, sweep.search is not None)) is not None
    ):
        sides = {
            at: side_of(*one, edge["value"])
            for at, one in running.intervals(flat, edge["metric"]).items()
        }
        found["between"] = edge_crossings(sweep.axes, along, sweep.places, sides)
    if sweep.saltelli is not None:
        found["effects"] = {
            column: sweep.saltelli.effects(
                {at: mean for at, (mean, _) in running.intervals(flat, column).items()}
            )
            for column in draw
        }
    return found


def _drawn(sweep: Sweep, columns: Sequence[str]) -> list[str]:
    """Columns to draw: the requested ones, else those of expectations, else the first."""
    if sweep.draw:
        return [column_of(text, columns, "--draw") for text in sweep.draw]
    asked = [expect.called for expect in sweep.plan.expect]
    return [name for name in dict.fromkeys(asked) if name in columns][:4] or list(columns[:1])


def _texts(sweep: Sweep, axis: int) -> list[str]:
    """Texts of the values of a grid's axis, in order; empty for a sample."""
    if sweep.design != "grid":
        return []
    found = {place[axis].number: place[axis].text for place in sweep.places}
    return [found[number] for number in sorted(found)]


def _values(sweep: Sweep, at: int) -> dict[str, str]:
    pairs = zip(sweep.axes, sweep.places[at], strict=True)
    return {axis.label: value.text for axis, value in pairs}
