"""Options and execution shared by commands that run many points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli.plan_key_completion import complete_key
from orchestrator.terminal import exit_codes

if TYPE_CHECKING:
    from orchestrator.batch.batch_executor import MeasuredPoint, RunPoint
    from orchestrator.batch.experiment import Point
    from orchestrator.batch.result_store import Row, Store
    from orchestrator.plan import Plan
    from orchestrator.run.run_folder import RunFolder

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        max=1024,
        help="Simulated: how many points are run at once. Default: as many as there are cores.",
    ),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Run every point, whatever is kept of earlier ones."),
]

NOTHING: Mapping[str, Any] = {}

Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one key of the plan first.",
        autocompletion=complete_key,
    ),
]


Programs = Annotated[
    bool | None,
    typer.Option(
        "--programs/--no-programs",
        show_default=False,
        help="Whether plans may start commands of this machine as you ([programs]); otherwise such "
        "a plan is refused. Default: plans that other users cannot change may.",
    ),
]


def at_sustained_paces(plan_of: Callable[[Point], Plan]) -> RunPoint:
    """The same, each plan at a pace that this machine holds, where its target has one.

    Programs live in the machine's own time, so that plans with any are run in that.
    """
    from orchestrator.batch.pace_search import search_pace
    from orchestrator.batch.realtime_executors import run_locally
    from orchestrator.capability import Capability
    from orchestrator.registry import Registry

    registry, as_it_is = Registry.load(), run_locally(plan_of)
    paced = search_pace(
        lambda point, pace: run_locally(plan_of, pace=pace)(point),
        plan_of,
    )

    def elsewhere(point: Point) -> Row:
        able = registry.target(point.subject.target).capabilities
        traffic = plan_of(point).check(registry).uses["traffic"].values()
        bound = any(use.algorithm.programs for use in traffic)
        return (paced if Capability.PACE in able and not bound else as_it_is)(point)

    return elsewhere


def run_points(
    points: Sequence[Point],
    out: Path,
    jobs: int | None,
    fresh: bool,
    elsewhere: RunPoint | None = None,
    **how: Any,
) -> list[MeasuredPoint]:
    """The points, with progress on stderr; kept below `out`. `how` goes to `carry_out`."""
    from orchestrator.batch.batch_executor import open_result_store, run_points
    from orchestrator.terminal import progress_view

    store: Store = open_result_store(out)
    if fresh:
        store.forget()
    with progress_view.shown() as progress:
        return run_points(points, jobs, store, progress, exit_codes.say, elsewhere, **how)


@contextmanager
def saved_batch(
    plan: Plan,
    target: str,
    seeds: Sequence[int],
    out: Path,
    kind: str,
    result: dict[str, Any],
    table: str,
    said: Mapping[str, Any] = NOTHING,
) -> Iterator[RunFolder]:
    """A folder of its own for what many points came to, below `out`, to be committed.

    It has KIND.json and KIND.md beside what every such folder has; `said` joins its manifest.
    """
    from orchestrator.batch import batch_folder as of_points

    with of_points.batch_folder(plan, seeds, out, kind, target, said) as folder:
        folder.write_json(f"{kind}.json", result)
        folder.write_text(f"{kind}.md", table)
        yield folder
