"""Command `figure`: writes the figures of a run as files for a paper."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.errors import BadInput
from orchestrator.terminal import format_output
from orchestrator.terminal.run_arguments import RUN_HELP
from orchestrator.terminal.run_lookup import find_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
"""Unit of a width -> inches; pt is TeX's, as `\\the\\columnwidth` prints it."""
NARROWEST, WIDEST = 2.0, 20.0


class Format(StrEnum):
    """File format of a figure."""

    svg = "svg"
    png = "png"
    pdf = "pdf"


def figure(
    run: Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)],
    number: Annotated[
        int | None,
        typer.Option(
            "--figure", metavar="N", max=10_000, help="Only this one, as --list counts them."
        ),
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="pdf and svg scale, png has 300 dots per inch.")
    ] = Format.svg,
    width: Annotated[
        str,
        typer.Option(
            "--width", metavar="WIDTH", help="Of the file: 3.3in, 84mm, 8.4cm, 241pt (of TeX)."
        ),
    ] = "7in",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where to write; default: RUN/figures."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the figures; write none.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the figures of a run: those that its plan defines, then one of each queue.

    Text keeps its size whatever the width, so that a figure of a column's width goes into a paper
    as it is; fonts are embedded in pdf. stdout has the files' names, stderr what is not drawn.
    """
    from traces import figures
    from traces.run_reader import load

    inches = _inches(width)
    folder = find_run(run)
    contents = load(folder)
    every = figures.planned(contents)
    every += [figures.queue_panels(contents, port) for port in figures.bottlenecks(contents)]
    if not every:
        raise BadInput(str(folder), "no queue was sampled and the plan asks for no figure")
    if number is not None and not 1 <= number <= len(every):
        raise BadInput("--figure", f"{number} is not accepted; 1 to {len(every)} are, see --list")
    chosen = {at: one for at, one in enumerate(every, 1) if number is None or at == number}
    target = folder / "figures" if out is None else out
    rows = []
    for at, one in chosen.items():
        path = None if listed else target / _name(contents.result.plan, at, one.title, form)
        if path is not None:
            _write(path, _content(figures.draw(one, inches), form))
        file = None if path is None else str(path)
        rows.append({"figure": at, "title": one.title, "file": file, "notes": one.notes})
        for note in () if as_json else one.notes:
            print(f"figure {at}: {note}", file=sys.stderr)
    if as_json:
        format_output.print_json(rows)
        return
    for row in rows:
        print(f"{row['figure']}  {row['title']}" if listed else row["file"])


def _inches(text: str) -> float:
    """The inches of a width with its unit. Raises BadInput."""
    match = re.fullmatch(r"\s*(\d{1,4}(?:\.\d{1,6})?)\s*([a-z]+)\s*", text)
    if match is None or match[2] not in INCHES:
        accepted = f"a width with its unit ({', '.join(INCHES)}) is, such as 3.3in"
        raise BadInput("--width", f"{text!r} is not accepted; {accepted}")
    inches = float(match[1]) * INCHES[match[2]]
    if not NARROWEST <= inches <= WIDEST:
        accepted = f"{NARROWEST:g}in to {WIDEST:g}in are"
        raise BadInput("--width", f"{text!r} is not accepted; {accepted}")
    return inches


def _content(drawn: Figure, form: Format) -> bytes:
    from traces import figures

    makers: dict[Format, Callable[[Figure], bytes]] = {
        Format.svg: lambda one: figures.svg(one).encode(),
        Format.png: lambda one: figures.png(one, 300),
        Format.pdf: figures.pdf,
    }
    return makers[form](drawn)


def _name(plan: str, at: int, title: str, form: Format) -> str:
    """A file's name: the plan, the number, and what tells the figure from others."""
    tail = title.replace("/", "-").rpartition(",")[2]
    words = re.sub(r"[^A-Za-z0-9]+", "-", tail).strip("-").lower()[:40]
    return f"{plan}-{at}-{words}.{form}" if words else f"{plan}-{at}.{form}"


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise BadInput(str(path), f"cannot be written ({error.strerror})") from error
