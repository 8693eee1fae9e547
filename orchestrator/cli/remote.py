"""`tailback run --controller`: a run across machines, seen from the command line."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from orchestrator.cli import exits, progress_view, show, summary
from orchestrator.cli.loading import load_plan
from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.controller.messages import Progress

REMOTE = "software"
"""The target that machines of a testbed have."""


def _awaited(waiting: Coroutine[Any, Any, Progress]) -> Progress:
    """Wait for a run. A signal cancels it, which tells the controller, and is raised then."""
    stops: list[int] = []

    async def wait() -> Progress:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def stop(number: int) -> None:
            stops.append(number)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stop, number)
        return await waiting

    try:
        return asyncio.run(wait())
    except asyncio.CancelledError:
        if stops[0] == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise exits.Terminated(stops[0]) from None


def run_remotely(
    name: str,
    target: str | None,
    changes: list[str],
    address: str,
    keys: Path | None,
    key: str | None,
    as_json: bool,
    report: bool,
) -> NoReturn:
    """Hand a plan to a controller, wait, show what came of it, exit with its code."""
    from orchestrator.controller import client
    from orchestrator.keys import default_folder

    if target not in (None, REMOTE):
        raise BadInput("--target", f"{target!r}: machines of a testbed run the target {REMOTE}")
    plan = load_plan(name, [*changes, f"target={REMOTE}"])
    with progress_view.shown() as progress:
        folder = keys or default_folder()
        told = _awaited(client.run(address, folder, key, plan, report, progress, exits.say))
    if told.error is not None:
        exits.say(told.error)
    elif as_json:
        show.print_json({"folder": told.folder, **(told.result or {})})
    elif told.result is not None:
        if cause := told.result.get("cause"):
            exits.say(f"the run is invalid: {cause}")
        else:
            summary.show_result(told.result, Path(told.folder or ""))
    raise typer.Exit(told.exit_code)
