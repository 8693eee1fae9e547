"""`tailback console`: the terminal UI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.errors import BadInput

if TYPE_CHECKING:
    from orchestrator.console.sources import Source


def console(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run folder, a run that goes on here (its plan or id), or a plan to start.",
        ),
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(metavar="ADDR", help="Watch what goes on at a controller: tcp://host:port."),
    ] = None,
    keys: Annotated[
        Path | None, typer.Option(metavar="DIR", help="With --controller: the folder of keys.")
    ] = None,
    controller_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="With --controller: its public key or file.")
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where run folders are, and are made.")
    ] = Path("runs"),
) -> None:
    """Run, watch, steer and re-read experiments in the terminal.

    \b
      tailback console                       what there is to open
      tailback console quickstart            a plan, to be started with r
      tailback console runs/quickstart/...   a finished run
    """
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise BadInput("tailback console", "needs a terminal; it is neither piped nor redirected")
    from orchestrator.console.app import Console
    from orchestrator.console.keys import keymap
    from orchestrator.console.starting import Draft

    own = keymap()
    source = draft = None
    if controller is not None:
        source = remote(controller, run or "", keys, controller_key)
    elif run is not None:
        source = here(run)
        draft = None if source else Draft.of(run)
    app = Console(source, base=out, draft=draft)
    app.own_keys = own
    app.run()
    if app.source is not None:
        app.source.close()
    if app.started is not None:
        app.started.close()


def here(run: str) -> Source | None:
    """A finished run's folder or a run that goes on; None when it is neither."""
    from orchestrator.console.sources import FolderSource, LiveSource
    from orchestrator.live import places

    if (Path(run) / "result.json").is_file():
        return FolderSource(Path(run))
    for note in places.runs():
        if run in (note.run, note.plan):
            return LiveSource(note.address, note.run, note.plan)
    if Path(run).is_dir():
        raise BadInput(run, "is no run folder: there is no result.json in it")
    return None


def remote(
    address: str, run: str, keys: Path | None = None, controller_key: str | None = None
) -> Source:
    """A run at a controller: the one named, or the one that goes on."""
    import asyncio

    from orchestrator.console.sources import LiveSource
    from orchestrator.controller import client
    from orchestrator.keys import default_folder

    if not address.startswith(("tcp://", "ipc://")):
        raise BadInput("--controller", f"{address!r} is not accepted; tcp://host:port is expected")
    folder = keys or default_folder()
    told = asyncio.run(client.status(address, folder, controller_key))
    feeds = {name: where for name, where in told["feeds"].items() if name.startswith(run)}
    if not feeds:
        waiting = ", ".join(told["runs"]) or "none"
        raise BadInput(
            "--controller", f"{address}: no run {run} can be watched now (waiting: {waiting})"
        )
    name, where = next(iter(feeds.items()))
    host = address.rpartition(":")[0]
    port = where.rpartition(":")[2]
    prepare = client.preparing(folder, controller_key)
    return LiveSource(f"{host}:{port}", name, name, prepare)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(console)
