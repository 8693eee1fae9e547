"""`tailback console`: the terminal UI."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator import program_permission
from orchestrator.cli import batch_options as shared
from orchestrator.cli.curve_key_options import ControllerKeyWithController, KeysWithController
from orchestrator.cli.metrics_option import Metrics, check_metrics, serve_metrics
from orchestrator.errors import BadInput
from orchestrator.terminal.run_arguments import RunArgumentCommand
from orchestrator.terminal.run_lookup import BASE, find_run, is_counted, is_run

if TYPE_CHECKING:
    from orchestrator.console.controller_session import ControllerSession
    from orchestrator.console.run_sources import Source
    from orchestrator.console.sweep_sources import SweepSource

ANSWER_S = 6.0
"""For a controller's first answer."""


def console(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run (its folder, latest, -1) or a sweep (its folder), one that goes on here "
            "(its plan, or a run's id), or a plan to start.",
        ),
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(
            metavar="ADDR", help="Watch, start and steer runs at a controller: tcp://host:port."
        ),
    ] = None,
    keys: KeysWithController = None,
    controller_key: ControllerKeyWithController = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Parent of run folders.")] = BASE,
    programs: shared.Programs = None,
    metrics: Metrics = None,
) -> None:
    """Run, watch, steer and re-read experiments in the terminal.

    \b
      tailback console                       what there is to open
      tailback console quickstart            a plan, to be started with r
      tailback console runs/quickstart/...   a finished run, or a finished sweep
    """
    program_permission.choose(programs)
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise BadInput("tailback console", "needs a terminal; it is neither piped nor redirected")
    check_metrics(metrics)
    from orchestrator.console.app import Console
    from orchestrator.console.console_metrics import ConsoleExporter
    from orchestrator.console.key_bindings import keymap
    from orchestrator.console.run_launcher import Draft

    own = keymap()
    source = draft = site = sweep = None
    if controller is not None:
        from orchestrator.console.controller_session import ControllerSession
        from orchestrator.testbed.curve_keys import default_folder

        site = ControllerSession(controller, keys or default_folder(), controller_key)
        site.start()
        source = remote(site, run or "")
        draft = Draft.of(run) if run and source is None else None
    elif run is not None:
        source = here(run, out)
        sweep = None if source else sweep_here(run)
        draft = None if source or sweep else Draft.of(run)
    app = Console(source, base=out, draft=draft, sweep=sweep)
    app.own_keys, app.site = own, site
    with serve_metrics(metrics, ConsoleExporter(app).readings):
        app.run()
    if app.source is not None:
        app.source.close()
    if app.sweep is not None:
        app.sweep.close()
    if app.started is not None:
        app.started.close()
    if site is not None:
        site.close()


def here(run: str, base: Path = BASE) -> Source | None:
    """A finished run's folder or a run that goes on; None when it is neither."""
    from orchestrator.console.run_sources import FolderSource, LiveSource
    from orchestrator.console.sweep_sources import is_sweep
    from orchestrator.live import session_registry

    if is_run(Path(run)):
        return FolderSource(Path(run))
    if is_sweep(Path(run)):
        return None
    for note in session_registry.running_sessions():
        if run in (note.run, note.plan):
            return LiveSource(note.address, note.run, note.plan)
    if Path(run).is_dir() or is_counted(run):
        return FolderSource(find_run(run, base))
    return None


def sweep_here(run: str) -> SweepSource | None:
    """A finished sweep's folder or a sweep that goes on; None when it is neither."""
    from orchestrator.console.sweep_sources import JournalSource, SweepFolder, is_sweep
    from orchestrator.live import session_registry

    if is_sweep(Path(run)):
        return SweepFolder(Path(run))
    for path, head in session_registry.running_sweeps():
        if run == head.get("plan"):
            return JournalSource(path)
    return None


def remote(site: ControllerSession, run: str) -> Source | None:
    """A run at a controller: the one named, or the only one that goes on; None: there is none.

    Raises BadInput without an answer.
    """
    if not site.answers(ANSWER_S):
        raise BadInput("--controller", f"{site.address}: {site.why}")
    found = [number for number in site.state.feeds if number.startswith(run)]
    return site.source(found[0]) if len(found) == 1 or (found and run) else None


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=RunArgumentCommand)(console)
