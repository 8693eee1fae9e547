"""The commands `compare`, `report` and `analyze`; `replay`, `figure`, `pack` and `verify` have
files of their own.

What each of them needs is imported when it runs: `tailback --help` must not load matplotlib.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.errors import BadInput
from orchestrator.plan.units import parse_duration, parse_rate
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes, format_output
from orchestrator.terminal.run_arguments import RUN_HELP, RunArgumentCommand
from orchestrator.terminal.run_lookup import BASE, captures_of, find_run

DISAGREE = 1
"""Exit code of `compare` when the runs do not agree."""
BAD_INPUT = 2
"""Exit code of `analyze --strict` when a capture is damaged."""
PS_PER_NS = 1000


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN RUN...", help=RUN_HELP)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Write a page (compare.html), figures and compare.json to this folder.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show all metrics.")] = False,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            metavar="N",
            max=10_000,
            help="Where runs differ: simulate the first one's plan with N seeds (12, say) and show "
            "whether seeds differ as much by chance.",
        ),
    ] = 0,
) -> None:
    """Compare runs: every metric, the queues' distributions, and where the runs part.

    Runs agree (exit code 0) when in every phase the mean queues of each port are within 10 % of
    each other (or 1500 B), the utilisations within 0.01, and Jain's index and the flows' shares of
    every traffic entry in the whole run within 0.1; otherwise the exit code is 1.

    With --seeds it is 0 too where all that differs lies within three standard deviations of the
    seeds' mean and more than one in twenty pairs of seeds differ as well.
    """
    from traces import compare as comparing
    from traces.run_reader import load

    loaded = [load(find_run(run)) for run in runs]
    found = comparing.compare(loaded)
    if seeds:
        from orchestrator.batch.batch_executor import open_result_store
        from orchestrator.terminal.progress_view import shown
        from traces.compare.significance import assess_significance

        store = open_result_store(BASE) if BASE.is_dir() else None
        with shown() as progress:
            assess_significance(found, loaded[0].plan_text, seeds, progress, store)
    written: list[Path] = []
    if out is not None:
        from traces.compare.comparison_files import write

        written = write(out, loaded, found)
    if as_json:
        format_output.print_json(found.as_json())
    else:
        comparing.show(found, format_output.console(), every=every)
    for path in written:
        print(f"wrote {path}", file=sys.stderr)
    if not (found.agree or found.by_chance):
        raise typer.Exit(DISAGREE)


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where to write; default: RUN/report.html."),
    ] = None,
) -> None:
    """Write the report of a run again, from what its folder holds."""
    from traces.report import write_report
    from traces.run_reader import load

    folder = find_run(run)
    target = folder / "report.html" if out is None else out
    known = list(Registry.load().problems)
    write_report(load(folder), target)
    for problem in Registry.load().problems:
        if problem not in known:
            exit_codes.say(problem)
    print(target)


def analyze(
    captures: Annotated[
        list[str],
        typer.Argument(
            metavar="PCAP...",
            help="pcap or pcapng files, compressed too (gzip, bzip2, xz, LZ4, zstd), pipes, - for "
            "standard input; a run (its folder, latest, -1) stands for its captures.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Write analysis.json, Parquet tables and figures there."
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option("--rate", metavar="RATE", help="The links' rate, for PAUSE times: 10Gb/s."),
    ] = None,
    storm: Annotated[
        str,
        typer.Option("--storm", metavar="TIME", help="A pause as long as this is a storm."),
    ] = "10ms",
    strict: Annotated[
        bool, typer.Option("--strict", help="A damaged capture ends with exit code 2.")
    ] = False,
) -> None:
    """Judge captures: flows, losses, latency, feedback, pauses, probes, ECN, fairness.

    Several captures of one experiment are evaluated together: frames of tailback and of RoCE at two
    capture points give latency, pauses at two points of one node give cascades.

    A damaged file is read up to the damage, which is named once, on stderr.
    """
    from traces import analysis

    settings = analysis.Settings(
        rate_bps=None if rate is None else _option("--rate", rate, parse_rate),
        storm_ns=_option("--storm", storm, parse_duration) // PS_PER_NS,
    )
    paths = [path for name in captures for path in captures_of(name)]
    found = analysis.read_captures(*paths, settings=settings)
    written: list[Path] = []
    if out is not None:
        from traces.analysis.analysis_files import write

        written = write(out, found)
    if as_json:
        print(json.dumps(found.analysis.as_json(), indent=2))
    else:
        analysis.show(found.analysis, format_output.console())
    for path in written:
        print(f"wrote {path}", file=sys.stderr)
    damaged = [one for one in found.analysis.captures if one.damage is not None]
    for one in damaged:
        print(f"{one.file}: damaged at {one.damage}; read up to there", file=sys.stderr)
    if strict and damaged:
        raise typer.Exit(BAD_INPUT)


def _option(name: str, text: str, parse: Callable[[object], int]) -> int:
    """The value of an option with a unit. Raises BadInput."""
    try:
        value = parse(text)
    except ValueError as error:
        raise BadInput(name, str(error)) from error
    if value <= 0:
        raise BadInput(name, f"{text!r} is not accepted; it must be more than 0")
    return value


def register(app: typer.Typer) -> None:
    """Add the commands."""
    from traces.capsule.capsule_commands import pack, verify
    from traces.export.export_commands import app as export
    from traces.figure_command import figure
    from traces.oracle.replay_command import replay

    for command in (compare, report, figure, analyze, replay, pack):
        app.command(cls=RunArgumentCommand)(command)
    app.command()(verify)
    app.add_typer(export)
