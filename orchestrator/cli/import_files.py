"""`tailback import`: plans from files of other tools."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.errors import BadInput
from orchestrator.plan.units import UnitError, parse_duration, parse_rate

if TYPE_CHECKING:
    from orchestrator.interchange.imported_plan import Imported

Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="Write the plan to this file; default: standard output."
    ),
]
FlowsOut = Annotated[
    Path | None,
    typer.Option(
        "--flows",
        metavar="FILE",
        help="Write the flows to this CSV file; default: beside the plan, NAME-flows.csv.",
    ),
]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Name of the plan.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
LinkRate = Annotated[
    str,
    typer.Option("--rate", metavar="RATE", help="Rate of links of which the file says none."),
]
LinkDelay = Annotated[
    str,
    typer.Option("--delay", metavar="TIME", help="Delay of links of which the file says none."),
]

app = typer.Typer(
    name="import",
    help="Make a plan from files of another tool; its comments say what was not taken.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def hpcc(
    topology: Annotated[Path, typer.Argument(metavar="TOPOLOGY", help="topology.txt")],
    flows: Annotated[Path, typer.Argument(metavar="FLOWS", help="flow.txt")],
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[TRACE] [CONFIG]",
            help="trace.txt: nodes to capture; config.txt: the congestion control.",
        ),
    ] = None,
    out: Out = None,
    flow_file: FlowsOut = None,
    name: Name = None,
    force: Force = False,
) -> None:
    """Files of HPCC's simulator: topology, flows, trace, configuration.

    \b
    The flows go to a CSV file beside the plan:
      tailback import hpcc topology.txt flow.txt config.txt --out mine.toml
      tailback run mine.toml
      tailback export fct latest --format hpcc
    """
    from orchestrator.interchange.hpcc_files import is_config
    from orchestrator.interchange.hpcc_import import import_hpcc
    from orchestrator.interchange.source_text import SourceText

    kinds: dict[bool, Path] = {}
    for path in more or ():
        config = is_config(SourceText.read(path))
        if config in kinds:
            word = "configuration" if config else "trace"
            raise BadInput(
                str(path), f"is a second {word}; one trace and one configuration at most"
            )
        kinds[config] = path
    called = _plan_name(name, topology)
    to = _flow_path(flow_file, out, called)
    named = _relative(to, out)
    _write(
        lambda: import_hpcc(called, topology, flows, named, kinds.get(False), kinds.get(True)),
        out,
        to,
        force,
    )


@app.command()
def htsim(
    topology: Annotated[Path, typer.Argument(metavar="FILE.topo", help="A fat tree.")],
    matrix: Annotated[Path, typer.Argument(metavar="FILE.cm", help="A connection matrix.")],
    out: Out = None,
    flow_file: FlowsOut = None,
    name: Name = None,
    force: Force = False,
) -> None:
    """Files of htsim: a fat tree and a connection matrix."""
    from orchestrator.interchange.htsim_import import import_htsim

    called = _plan_name(name, topology)
    to = _flow_path(flow_file, out, called)
    named = _relative(to, out)
    _write(lambda: import_htsim(called, topology, matrix, named), out, to, force)


@app.command()
def containerlab(
    topology: Annotated[Path, typer.Argument(metavar="FILE.clab.yml", help="A topology.")],
    rate: LinkRate = "10Gb/s",
    delay: LinkDelay = "1us",
    out: Out = None,
    name: Name = None,
    force: Force = False,
) -> None:
    """A topology of containerlab: nodes and links."""
    from orchestrator.interchange.containerlab_import import import_containerlab

    bounds = _rate_and_delay(rate, delay)
    called = None if name is None else _plan_name(name, topology)
    _write(lambda: import_containerlab(called, topology, *bounds), out, None, force)


@app.command()
def graphml(
    graph: Annotated[Path, typer.Argument(metavar="FILE", help="A graph in GraphML.")],
    rate: LinkRate = "10Gb/s",
    delay: LinkDelay = "1us",
    out: Out = None,
    name: Name = None,
    force: Force = False,
) -> None:
    """A graph in GraphML: of `tailback export graphml`, or of another tool."""
    from orchestrator.interchange.graphml import import_graphml

    bounds = _rate_and_delay(rate, delay)
    called = None if name is None else _plan_name(name, graph)
    _write(lambda: import_graphml(called, graph, *bounds), out, None, force)


def _rate_and_delay(rate: str, delay: str) -> tuple[int, int]:
    """bit/s and ps of the options. Raises BadInput."""
    try:
        bits = parse_rate(rate)
    except UnitError as error:
        raise BadInput("--rate", f"{rate!r} is not accepted; {error}") from None
    try:
        return bits, parse_duration(delay)
    except UnitError as error:
        raise BadInput("--delay", f"{delay!r} is not accepted; {error}") from None


def _plan_name(name: str | None, path: Path) -> str:
    """Name of the plan: that of the option, or of the file. Raises BadInput."""
    from orchestrator.interchange.imported_plan import slug
    from orchestrator.plan.field_types import SLUG

    if name is None:
        return slug(path.name.partition(".")[0], "imported")
    if not SLUG.fullmatch(name):
        accepted = "1 to 63 letters, digits, '-' and '_' are expected, the first no sign"
        raise BadInput("--name", f"{name!r} is not accepted; {accepted}")
    return name


def _flow_path(given: Path | None, out: Path | None, name: str) -> Path:
    """The file that flows are written to."""
    if given is not None:
        return given
    return Path(f"{name}-flows.csv") if out is None else out.with_name(f"{out.stem}-flows.csv")


def _relative(path: Path, out: Path | None) -> str:
    """The path as the plan names it: from the plan's folder, or from here."""
    start = Path() if out is None else out.parent
    return Path(os.path.relpath(path, start)).as_posix()


def _write(make: Callable[[], Imported], out: Path | None, flows: Path | None, force: bool) -> None:
    """Check the plan as a whole, then write it and its flows. Raises BadInput."""
    from orchestrator.plan.plan import Plan
    from orchestrator.registry import Registry

    for path in (out, flows):
        if path is not None and path.exists() and not force:
            raise BadInput(str(path), "exists; give another name, or --force to replace it")
    made = make()
    text = made.to_toml()
    with tempfile.TemporaryDirectory(prefix="tailback-import-") as folder:
        at = Path(folder)
        written = at / "flows.csv"
        checked = text
        if flows is not None:
            made.write_flows(written)
            for entry in made.data["traffic"].values():
                checked = checked.replace(f'file = "{entry["file"]}"', 'file = "flows.csv"')
        (at / "plan.toml").write_text(checked, encoding="utf-8")
        try:
            Plan.load(at / "plan.toml", Registry.load())
        except BadInput as error:
            files = " and ".join(made.files)
            raise BadInput(f"the plan of {files}", error.problems or str(error)) from None
        if flows is not None:
            _move(written, flows)
            print(f"wrote {flows}", file=sys.stderr)
    if out is None:
        print(text, end="")
        return
    try:
        out.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise BadInput(str(out), f"cannot be written: {error.strerror}") from None
    print(f"wrote {out}", file=sys.stderr)


def _move(written: Path, to: Path) -> None:
    try:
        shutil.copyfile(written, to)
    except OSError as error:
        raise BadInput(str(to), f"cannot be written: {error.strerror}") from None


def register(main: typer.Typer) -> None:
    """Add the commands."""
    main.add_typer(app)
