"""Options and execution shared by commands that run many points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli.plan_keys import complete_key
from orchestrator.terminal import exits

if TYPE_CHECKING:
    from orchestrator.plan import Plan
    from orchestrator.points.carry import Carry, Found
    from orchestrator.points.store import Row, Store
    from orchestrator.points.subject import Point
    from orchestrator.run.folder import RunFolder

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


def at_held_paces(plan_of: Callable[[Point], Plan]) -> Carry:
    """The same, each plan at a pace that this machine holds, where its target has one.

    Programs live in the machine's own time, so that plans with any are run in that.
    """
    from orchestrator.capability import Capability
    from orchestrator.points.in_turn import ordinarily
    from orchestrator.points.paced import at_a_pace_it_holds
    from orchestrator.registry import Registry

    registry, as_it_is = Registry.load(), ordinarily(plan_of)
    paced = at_a_pace_it_holds(
        lambda point, pace: ordinarily(plan_of, pace=pace)(point),
        plan_of,
    )

    def elsewhere(point: Point) -> Row:
        able = registry.target(point.subject.target).capabilities
        traffic = plan_of(point).check(registry).uses["traffic"].values()
        bound = any(use.algorithm.programs for use in traffic)
        return (paced if Capability.PACE in able and not bound else as_it_is)(point)

    return elsewhere


def carried(
    points: Sequence[Point],
    out: Path,
    jobs: int | None,
    fresh: bool,
    elsewhere: Carry | None = None,
    **how: Any,
) -> list[Found]:
    """The points, with progress on stderr; kept below `out`. `how` goes to `carry_out`."""
    from orchestrator.points.carry import carry_out, store_in
    from orchestrator.terminal import progress_view

    store: Store = store_in(out)
    if fresh:
        store.forget()
    with progress_view.shown() as progress:
        return carry_out(points, jobs, store, progress, exits.say, elsewhere, **how)


@contextmanager
def kept(
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
    from orchestrator.points import folder as of_points

    with of_points.kept(plan, seeds, out, kind, target, said) as folder:
        folder.write_json(f"{kind}.json", result)
        folder.write_text(f"{kind}.md", table)
        yield folder
