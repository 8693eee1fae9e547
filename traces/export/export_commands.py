"""`tailback export`: files for other tools, from runs and plans."""

from __future__ import annotations

import io
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.errors import BadInput
from orchestrator.plan.units import UnitError, parse_duration
from orchestrator.registry import Registry
from orchestrator.terminal.run_arguments import RUN_HELP, RunArgumentCommand
from orchestrator.terminal.run_lookup import captures_of, find_run
from traces.export.capture_format import Format


class Completions(StrEnum):
    """Format of completion times."""

    hpcc = "hpcc"
    csv = "csv"


Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write to this file; default: standard output."),
]
RunName = Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)]

app = typer.Typer(
    name="export",
    help="Write completion times, captures or a network for other tools.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command(cls=RunArgumentCommand)
def fct(
    run: RunName,
    kind: Annotated[
        Completions,
        typer.Option("--format", help="hpcc: the file of its simulator; csv: all messages."),
    ] = Completions.csv,
    out: Out = None,
    port: Annotated[
        int,
        typer.Option(
            "--dport",
            metavar="PORT",
            min=0,
            max=65_535,
            help="hpcc: destination port where the name of an entry does not end in dportN.",
        ),
    ] = 100,
    offset: Annotated[
        str,
        typer.Option("--offset", metavar="TIME", help="hpcc: added to every start, as 2s."),
    ] = "0s",
) -> None:
    """Completion times of a run's messages.

    In the format of HPCC's simulator a line has source and destination address, source and
    destination port, octets, start, completion time and ideal time (ns), for each flow that
    completed. Node hN has the address of node N there.
    """
    from traces.export.completion_file import write_csv, write_hpcc
    from traces.run_reader import load

    try:
        added = parse_duration(offset)
    except UnitError as error:
        raise BadInput("--offset", f"{offset!r} is not accepted; {error}") from None
    text = io.StringIO()
    if kind is Completions.hpcc:
        write_hpcc(text, load(find_run(run)), port, added)
    else:
        write_csv(text, load(find_run(run)))
    _put(text.getvalue().encode(), out)


@app.command()
def graphml(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan file or a shipped name.")],
    out: Out = None,
) -> None:
    """A plan as a graph in GraphML; `tailback import graphml` makes an equal plan of it."""
    from orchestrator.interchange.graphml import to_graphml
    from orchestrator.plan import Plan
    from orchestrator.terminal.plan_loading import locate

    registry = Registry.load()
    loaded = Plan.load(locate(plan, registry.plans()), registry)
    _put(to_graphml(loaded), out)


@app.command(cls=RunArgumentCommand)
def pcap(
    run: RunName,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write to this file.")],
    kind: Annotated[
        Format,
        typer.Option(
            "--format",
            help="By Wireshark's names: pcapng, nsecpcap (pcap in nanoseconds), pcap.",
        ),
    ] = Format.pcapng,
    ports: Annotated[
        list[str] | None,
        typer.Option("--port", metavar="PORT", help="Frames of this port alone; repeatable."),
    ] = None,
) -> None:
    """The captures of a run in one file, in order of time.

    A frame stands there once for each captured port that it left or came to. pcapng keeps the
    port and the direction of each, pcap neither.
    """
    from traces.export.capture_file import chosen, write_capture

    paths = chosen(captures_of(find_run(run)), ports or ())
    try:
        with out.open("wb") as file:
            count = write_capture(file, paths, kind)
    except OSError as error:
        raise BadInput(str(out), f"cannot be written: {error.strerror}") from None
    print(f"wrote {out}: {count} frames", file=sys.stderr)


def _put(octets: bytes, out: Path | None) -> None:
    """Write to a file, or to standard output."""
    if out is None:
        sys.stdout.write(octets.decode())
        return
    try:
        out.write_bytes(octets)
    except OSError as error:
        raise BadInput(str(out), f"cannot be written: {error.strerror}") from None
    print(f"wrote {out}", file=sys.stderr)
