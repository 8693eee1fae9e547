"""`tailback clean`: removes leftovers of killed runs, interrupted fetches, and stale stored
points."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from orchestrator.run import partial_runs
from orchestrator.terminal import format_output
from orchestrator.terminal.escape_control import plain

SUFFIXES = (partial_runs.SUFFIX, partial_runs.FETCHING)


def _describe(path: Path) -> dict[str, Any] | None:
    """The folder's size and age; None when another process removed it meanwhile."""
    try:
        files = [Path(above, name) for above, _, names in os.walk(path) for name in names]
        size = sum(file.lstat().st_size for file in files)
        changed = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC)
    except FileNotFoundError:
        return None
    return {"path": str(path), "bytes": size, "changed": changed.isoformat(timespec="seconds")}


def clean(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder that holds the runs.")
    ] = Path("runs"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list what would be removed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Remove leftovers of killed runs and interrupted fetches.

    Leftovers are partial run folders whose process has ended; the command lists them first. It
    never touches folders of active or finished runs. Every run also removes leftovers at its start.
    Only this command removes partial downloads of `tailback fetch`, which the next fetch would
    resume, and stored points (DIR/.points) of other versions of tailback, plugins or libraries
    than the installed ones, which no plan can use.
    """
    from orchestrator.batch.result_store import FOLDER, prune_store
    from orchestrator.live import session_registry
    from orchestrator.registry import Registry
    from orchestrator.run.source_digest import digest_of

    paths = [path for suffix in SUFFIXES for path in partial_runs.stale_folders(out, suffix)]
    stale = [folder for folder in map(_describe, paths) if folder is not None]
    busy = sum(len(list(partial_runs.partial_folders(out, s))) for s in SUFFIXES) - len(stale)
    if not as_json:
        for folder in stale:
            size = format_output.quantity(folder["bytes"], "B")
            print(f"{plain(str(folder['path']))}  {size}, last changed {folder['changed']}")
    kept = out / FOLDER
    old = prune_store(kept, digest_of(Registry.load()), dry_run) if kept.is_dir() else []
    if not as_json:
        for one in old:
            size = format_output.quantity(one.octets, "B")
            verb = "would be dropped" if dry_run else "dropped"
            print(f"{plain(str(one.path))}  {one.lines} points of other sources {verb}, {size}")
    removed = []
    if not dry_run:
        removed = [str(path) for s in SUFFIXES for path in partial_runs.remove_stale(out, s)]
    if not dry_run:
        session_registry.running_sessions()  # removes the notes of dead ones
    if as_json:
        points = [{"path": str(p.path), "points": p.lines, "bytes": p.octets} for p in old]
        format_output.print_json(
            {"stale": stale, "removed": removed, "in_use": busy, "points": points}
        )
        return
    going_on = f"; {busy} belong to runs that are going on" if busy else ""
    if not stale and not old:
        print(f"nothing to remove in {out}{going_on}")
    elif not stale:
        return
    elif dry_run:
        print(f"{len(stale)} would be removed{going_on}")
    else:
        print(f"{len(removed)} of {len(stale)} removed{going_on}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(clean)
