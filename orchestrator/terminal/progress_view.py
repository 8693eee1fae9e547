"""Shows the progress of a run on stderr: a bar on a terminal, sparse lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.progress import Progress, Report
from orchestrator.terminal import format_output
from orchestrator.terminal.escape_control import plain

LINE_EVERY_S = 5.0
"""A log gets a line per stage, and then at most one in this time."""


class Lines:
    """Plain lines, few enough for a log."""

    def __init__(self) -> None:
        self._stage, self._last = "", 0.0

    def __call__(self, progress: Progress) -> None:
        """Print a line if this report is due for one."""
        now = time.monotonic()
        started = progress.stage != self._stage
        if not started and now - self._last < LINE_EVERY_S:
            return
        self._stage, self._last = progress.stage, now
        share = "" if started and not progress.done else f" {progress.done:.0%}"
        detail = f" ({progress.detail})" if progress.detail else ""
        print(plain(f"{progress.stage}{share}{detail}"), file=sys.stderr, flush=True)


@contextmanager
def shown() -> Iterator[Report]:
    """Give what takes the reports; the bar is taken away at the end.

    The bar is redrawn only when a report comes: a thread that redraws would take time from a
    data path that busy-polls.
    """
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.TaskProgressColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("{task.fields[detail]}", style="dim"),
    )
    stderr = format_output.console(stderr=True)
    with bars.Progress(*columns, console=stderr, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("starting", total=1.0, detail="")

        def draw(progress: Progress) -> None:
            bar.update(
                task,
                description=progress.stage,
                completed=progress.done,
                detail=plain(progress.detail),
                refresh=True,
            )

        yield draw
