"""What commands that run many points share: options, and how points are carried out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.points.carry import Carry, Found, carry_out, store_in
from orchestrator.points.store import Store
from orchestrator.points.subject import Point
from orchestrator.terminal import exits, progress_view

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


def carried(
    points: Sequence[Point],
    out: Path,
    jobs: int | None,
    fresh: bool,
    elsewhere: Carry | None = None,
) -> list[Found]:
    """The points, with progress on stderr; kept below `out`."""
    store: Store = store_in(out)
    if fresh:
        store.forget()
    with progress_view.shown() as progress:
        return carry_out(points, jobs, store, progress, exits.say, elsewhere)
