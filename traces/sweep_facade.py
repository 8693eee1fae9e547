"""Python API of `tailback.sweep` and `tailback.explain`: a plan at many parameter points.

See docs/sweeps.md and docs/mutants.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.terminal.run_lookup import BASE

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from orchestrator.plan.plan import Plan
    from orchestrator.progress import Progress
    from traces.sweep_results import SweepResults


class Sweep:
    """A finished sweep, read from its folder on first use."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        """Folder of the sweep: points/, places.parquet, sweep.json, report.html."""

    def __repr__(self) -> str:
        texts_of_seeds = self.result
        return (
            f"<Sweep of {texts_of_seeds['plan']}: {texts_of_seeds['places']} places, {self.folder}>"
        )

    @property
    def result(self) -> dict[str, Any]:
        """`sweep.json`: axes, seeds, units of the columns, what was refused."""
        return self._swept.result

    def points(self) -> pa.Table:
        """A row for each point: its axes, place, seed, verdict and metrics."""
        from pyarrow import parquet

        from orchestrator.batch.parquet_dataset import POINTS

        return parquet.read_table(self.folder / POINTS)

    def parameter_points(self) -> pa.Table:
        """A row for each place: of each metric the mean over seeds, and `±` half its interval."""
        from pyarrow import parquet

        from orchestrator.batch.parquet_dataset import PARAMETER_POINTS

        return parquet.read_table(self.folder / PARAMETER_POINTS)

    places = parameter_points
    """The name of `parameter_points` until 0.3; it goes with 0.4."""

    def map(self, metric: str | None = None) -> Figure:
        """A metric over the plane of the first two axes; without one the first that is drawn."""
        from traces.figures.sweep_maps import maps

        return maps(self._swept, self._column(metric))

    def curves(self, metric: str | None = None) -> Figure:
        """A metric along the first axis, a curve for each value of the second."""
        from traces.figures.sweep_curves import sweep_curves

        return sweep_curves(self._swept, self._column(metric))

    def _column(self, metric: str | None) -> str:
        from orchestrator.batch.metric_columns import column_of

        units = list(self.result["units"])
        return column_of(metric or self.result["draw"][0], units, "metric")

    @cached_property
    def _swept(self) -> SweepResults:
        from traces.sweep_results import SweepResults

        return SweepResults(self.folder)


def sweep(
    plan: str | os.PathLike[str] | Plan,
    *,
    over: Mapping[str, object] | Sequence[str] = (),
    seeds: int | str | None = None,
    design: str | None = None,
    points: int | None = None,
    metrics: Sequence[str] = (),
    draw: Sequence[str] = (),
    edge: str | None = None,
    narrow: str | None = None,
    jobs: int | None = None,
    scheduler: object = None,
    target: str | None = None,
    options: Mapping[str, object] | None = None,
    pace: float | None = None,
    testbed: str | os.PathLike[str] | None = None,
    controller: str | None = None,
    keys: str | os.PathLike[str] | None = None,
    controller_key: str | None = None,
    out: str | os.PathLike[str] = BASE,
    progress: Callable[[Progress], None] | bool = False,
) -> Sweep:
    """Run a plan at many places of its parameters, as `tailback sweep` does.

    `over`: what is varied, `{"links.up.delay": "10us..1ms/5:log", "sources": [2, 8, 32]}` or
    `["sources=2,8,32"]`; without it what `[sweep]` of the plan says. `scheduler`: the address of a
    Dask scheduler, or a cluster object of Dask. `target`: `software` or `gateware`; `options`:
    those of that target, `{"cores": 2}`, of which `pace` and `testbed`, the file that names cards,
    have arguments of their own; `controller`: the address of one, whose machines run the
    points (on `gateware` each by one of them), with `keys`, the folder of keys, and
    `controller_key` where it is not the one kept there. All else is as on the command line. Nothing
    is asked, however long it takes. Raises BadInput, Refused or RunFailed; every point that was
    done is kept, and the same call goes on there.
    """
    from contextlib import nullcontext

    from orchestrator.batch.batch_executor import open_result_store
    from orchestrator.batch.sweep_design import Sweep as Planned
    from orchestrator.batch.sweep_design import SweepOptions
    from orchestrator.batch.sweep_journal import journaled
    from orchestrator.batch.sweep_run import SweepRun, write_sweep_folder
    from orchestrator.plan.plan import Plan
    from orchestrator.progress import silent
    from orchestrator.terminal.plan_loading import load_plan
    from orchestrator.terminal.progress_view import shown
    from orchestrator.testbed.sweep_executors import SweepMachines

    chosen = plan if isinstance(plan, Plan) else load_plan(os.fspath(plan), [])
    texts = [f"{k}={_range(v)}" for k, v in over.items()] if isinstance(over, Mapping) else over
    texts_of_seeds = None if seeds is None else str(seeds)
    where = (target, pace, _path(testbed), controller, _path(keys), controller_key)
    machines = SweepMachines(*where, options or {})
    chosen = machines.plan(chosen)
    asked = texts, texts_of_seeds, design, points, metrics, draw, edge, narrow
    wishes = SweepOptions(*asked, machines.chosen, machines.how)
    executor, workers = machines.executor(jobs, scheduler)
    tell = nullcontext(progress if callable(progress) else silent)
    planned = Planned.of(chosen, wishes)
    with journaled(planned) as (onlooker, finished):
        with shown() if progress is True else tell as news:
            running = SweepRun(planned, open_result_store(Path(out)), workers, news, onlooker)
            running.run(executor)
        folder = write_sweep_folder(running, Path(out))[1]
        finished(folder)
    return Sweep(folder)


def explain(
    plan: str | os.PathLike[str] | Plan,
    *,
    free: Mapping[str, object] | Sequence[str],
    points: int = 64,
    seeds: int | str = 1,
    jobs: int | None = None,
    out: str | os.PathLike[str] = BASE,
) -> dict[str, Any]:
    """Find the ranges of free parameters in which the expectations of a plan hold.

    `free`: range by dotted key, `{"nodes.switch.buffer": "10KB..150KB"}`, or as on the command line
    of `tailback explain`. At most `points` places are run on `simulated`, each with `seeds` seeds
    (a number, a list as text, or "plan") by `jobs` processes (None: one for each core). Returns
    what `explain.json` of the command holds; the points are stored in `out`/.points and not run
    again. Raises BadInput or RunFailed.
    """
    from orchestrator.batch.batch_executor import open_result_store, run_points
    from orchestrator.batch.parameter_axis import read_axes
    from orchestrator.batch.sample_design import parameter_points
    from orchestrator.batch.seed_statistics import read_seeds
    from orchestrator.batch.statement_regions import RegionSearch
    from orchestrator.plan.plan import Plan
    from orchestrator.terminal.plan_loading import load_plan

    chosen = plan if isinstance(plan, Plan) else load_plan(os.fspath(plan), [])
    texts = [f"{k}={_range(v)}" for k, v in free.items()] if isinstance(free, Mapping) else free
    axes = read_axes(texts)
    places = parameter_points(axes, points)
    search = RegionSearch.of(chosen, axes, places, read_seeds(str(seeds), chosen))
    return search.judge(run_points(search.points(), jobs, open_result_store(Path(out))))


def _path(value: str | os.PathLike[str] | None) -> Path | None:
    return None if value is None else Path(value)


def _range(value: object) -> str:
    """A range as the command line has it; a list of values is one."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)
