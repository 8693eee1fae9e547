"""The commands `compare`, `report` and `analyze`.

What each of them needs is imported when it runs: `tailback --help` must not load matplotlib.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import show

DISAGREE = 1
"""Exit code of `compare` when the runs do not agree."""


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Run folders.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write figures and compare.json to this folder."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show all metrics.")] = False,
) -> None:
    """Compare runs: every metric, the queues' distributions, and where the runs part.

    Runs agree (exit code 0) when in every phase the mean queues of each port are within 10 % of
    each other (or 1500 B) and the utilisations within 0.01; otherwise the exit code is 1.
    """
    from traces import compare as comparing
    from traces.runs import load

    loaded = [load(path) for path in runs]
    found = comparing.compare(loaded)
    written: list[Path] = []
    if out is not None:
        from traces.compare.files import write

        written = write(out, loaded, found)
    if as_json:
        show.print_json(found.as_json())
    else:
        comparing.show(found, show.console(), every=every)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)
    if not found.agree:
        raise typer.Exit(DISAGREE)


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where to write; default: RUN/report.html."),
    ] = None,
) -> None:
    """Write the report of a run again, from what its folder holds."""
    from traces.report import report as page
    from traces.runs import load

    target = run / "report.html" if out is None else out
    text = page(load(run))
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    print(target)


def analyze(
    capture: Annotated[Path, typer.Argument(metavar="PCAP", help="A pcapng file of a run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count what a capture holds: frames by kind, feedback, pauses; rate and losses per flow."""
    from traces import analysis

    found = analysis.analyze(capture)
    if as_json:
        print(json.dumps(found.as_json(), indent=2))
    else:
        analysis.show(found, show.console())


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (compare, report, analyze):
        app.command()(command)
