"""Re-run of a capsule's plan on this machine, with the checks of any foreign plan."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.batch import batch_folder
from orchestrator.batch.batch_executor import MEASURED, MeasuredPoint, available_cores, run_points
from orchestrator.batch.experiment import SIMULATED, Experiment, Point
from orchestrator.batch.result_store import Row, Store
from orchestrator.batch.seed_table import write_seeds
from orchestrator.batch.stream_executor import process_executor
from orchestrator.batch.sweep_design import Sweep, SweepOptions
from orchestrator.batch.sweep_run import SweepRun, write_sweep, write_sweep_folder
from orchestrator.errors import BadInput, Refused, RunFailed
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.plan.algorithm_params import without_files
from orchestrator.plan.quantity_types import only_files
from orchestrator.plan.toml_text import parse, write
from orchestrator.progress import Report
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.run.plan_files import plan_files
from orchestrator.run.verdict import INVALID
from orchestrator.target import Cards
from traces.capsule.capsule_layout import RESULT_OF, SEEDS
from traces.capsule.capsule_record import Record, missing_packages
from traces.capsule.zip_archive import Archive

Say = Callable[[str], None]

OUTSIDE = "a file that is not in the capsule"


@dataclass(frozen=True)
class RerunOptions:
    """Options of a re-run. `out`: folder for its results; None: results are discarded."""

    out: Path | None = None
    programs: bool = False
    jobs: int | None = None
    seeds: int | None = None
    """Of one run on real frames: with how many seeds it is run here, to know how they spread."""


def pace_of(fidelity: dict[str, Any]) -> float | None:
    """The pace at which a machine ran it; None for that of the clock, and where there is none."""
    pace = fidelity.get("pace")
    known = isinstance(pace, int | float) and 1e-6 <= pace <= 1e6 and pace != 1.0
    return float(pace) if known and pace is not None else None


def _testbed(plan: Plan) -> Cards | None:
    """The testbed that the plan's options name."""
    from orchestrator.testbed.local_testbed import local_testbed

    return local_testbed(plan.check(Registry.load()).options)


def rerun_plan(
    plan: Plan, how: RerunOptions, progress: Report, pace: float | None
) -> tuple[dict[str, Any], Path | None]:
    """The result of a run, and its folder. Raises RunFailed where it cannot be had here."""
    with _refusal_is_run_failure():
        done = run(
            plan,
            out=how.out,
            progress=progress,
            report=how.out is not None,
            pace=None if plan.target == SIMULATED else pace,  # there it is for onlookers
            testbed=_testbed(plan),
            programs=how.programs,
        )
    if done.result["verdict"] == INVALID:
        raise _invalid(done.result)
    return done.result, done.folder


def rerun_seeds(
    plan: Plan, seeds: list[int], how: RerunOptions, say: Say, progress: Report, pace: float | None
) -> list[MeasuredPoint]:
    """Result of each seed. Raises RunFailed if the plan cannot be run here."""

    def elsewhere(point: Point) -> Row:
        done = run(
            plan,
            seed=point.seed,
            out=None,
            report=False,
            pace=pace,
            programs=how.programs,
            testbed=_testbed(plan),
        )
        if done.result["verdict"] == INVALID:
            raise _invalid(done.result)
        return {key: done.result[key] for key in MEASURED if key in done.result}

    with _refusal_is_run_failure():
        subject = Experiment.of(plan)
        points = [Point(subject, seed) for seed in seeds]
        return run_points(points, how.jobs, None, progress, say, elsewhere)


def write_seed_folder(
    plan: Plan, found: list[MeasuredPoint], result: dict[str, Any], out: Path | None
) -> Path | None:
    """Folder of the re-run seeds' results, if one is wanted."""
    if out is None:
        return None
    seeds = [one.point.seed for one in found]
    with batch_folder.batch_folder(plan, seeds, out, SEEDS, plan.target) as made:
        made.write_json(RESULT_OF[SEEDS], result | {"units": write_seeds(made.path, plan, found)})
        return made.commit()


def _invalid(result: dict[str, Any]) -> RunFailed:
    reasons = "; ".join(result["fidelity"].get("reasons", []))
    return RunFailed(f"the run here is invalid, so no value can be compared: {reasons}")


def sweep_of(plan: Plan, seeds: list[int]) -> Sweep:
    """The sweep that the plan defines. Raises BadInput."""
    with _refusal_is_run_failure():
        return Sweep.of(plan, SweepOptions(seeds=",".join(f"{one}..{one}" for one in seeds)))


def rerun_sweep(
    sweep: Sweep, how: RerunOptions, to: Path, say: Say, progress: Report
) -> Path | None:
    """The folder of what was swept, where one is wanted; its tables are written to `to`.

    Every point is run: what is kept of earlier ones (`.points`) proves nothing.
    """
    with _refusal_is_run_failure():
        workers = how.jobs or available_cores()
        say(f"{len(sweep.places)} places, {sweep.most} points at most")
        with tempfile.TemporaryDirectory(prefix="tailback-") as store:
            running = SweepRun(sweep, Store(Path(store)), workers, progress)
            running.run(process_executor(workers), say)
            write_sweep(running, to)
            return None if how.out is None else write_sweep_folder(running, how.out)[1]


@contextlib.contextmanager
def unpacked_plan(archive: Archive, record: Record, text: str, name: str) -> Iterator[Plan]:
    """The plan of a capsule, while the files that it names lie unpacked; no other file counts.

    Raises BadInput for what is no plan, RunFailed where this installation lacks what it takes.
    """
    source = f"{archive.path}: {name}"
    data = parse(source, text)
    with contextlib.ExitStack() as stack:
        if record.files:
            to = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tailback-")))
            at = {
                path: str(archive.unpack(inside, to / str(number) / Path(inside).name).resolve())
                for number, (path, inside) in enumerate(record.files.items())
            }
            data = _relocated(data, at)
        else:
            at = {}
            stack.enter_context(without_files())
        yield _checked(archive, record, source, data, set(at.values()))


def _checked(
    archive: Archive, record: Record, source: str, data: dict[str, Any], known: set[str]
) -> Plan:
    registry = Registry.load()
    if "base" in data:
        raise BadInput(source, "has a base, and the plan of a capsule stands for itself")
    if lacking := missing_packages(record.plugins):
        text = f"plugin missing here: {', '.join(lacking[:5])}; install it, then verify again"
        raise RunFailed(f"{archive.path}: {text}")
    if record.target not in {target.name for target in registry.targets}:
        raise RunFailed(f"{archive.path}: plugin missing here: the target {record.target!r}")
    try:
        with only_files(known, OUTSIDE):
            plan = Plan.load(write(data), registry)
            _only_these(plan.check(registry), known, source)
    except BadInput as error:
        if error.source == "plan":
            raise BadInput(source, error.problems or str(error)) from None
        raise
    return plan


def _only_these(resolved: ResolvedPlan, known: set[str], source: str) -> None:
    for path in plan_files(resolved):
        if path not in known:
            raise BadInput(source, f"names {path}, {OUTSIDE}")


@contextlib.contextmanager
def _refusal_is_run_failure() -> Iterator[None]:
    """Turn a refusal of this machine into RunFailed: no fault of the capsule."""
    try:
        yield
    except Refused as error:
        raise RunFailed(f"cannot be run again here: {error}") from error


def _relocated(data: Any, at: dict[str, str]) -> Any:
    """Data with paths of where it was packed made those of here."""
    if isinstance(data, dict):
        return {key: _relocated(value, at) for key, value in data.items()}
    if isinstance(data, list):
        return [_relocated(value, at) for value in data]
    return at.get(data, data) if isinstance(data, str) else data
