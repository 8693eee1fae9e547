"""Files of an analysis: JSON, Parquet tables, figures, and a page of all of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console

from orchestrator.errors import BadInput
from traces import html_page
from traces.analysis import analysis_figures, analysis_tables
from traces.analysis.analysis_result import Analysis
from traces.analysis.analysis_text import show
from traces.analysis.analyze import Findings
from traces.figures import inline, png, svg
from traces.figures.lean_matplotlib import Figure

WIDTH = 150
"""Columns of the tables: they scroll where the page is narrower."""


def webpage(analysis: Analysis, figures: Iterable[tuple[str, Figure]]) -> str:
    """The page as HTML; `figures` with what they show. Everything of a capture is escaped."""
    names = ", ".join(one.file for one in analysis.captures)
    frames = sum(one.frames for one in analysis.captures)
    body = [
        "<h1>Captures</h1>",
        f"<p class=lead>{escape(names)} · {frames} frames at {len(analysis.interfaces)} "
        "interfaces</p>",
    ]
    notes = [
        f"{one.file}: read up to the damage at {one.damage}"
        for one in analysis.captures
        if one.damage is not None
    ]
    body += [f"<p><b>{escape(note)}</b></p>" for note in (*notes, *analysis.left_out())]
    for label, figure in figures:
        body.append(
            f"<figure>{inline(figure, label)}<figcaption>{escape(label)}</figcaption></figure>"
        )
    body.append(f'<h2>Tables</h2><div class="wide">{_tables(analysis)}</div>')
    return html_page.document(f"Captures: {names}"[:200], body)


def _tables(analysis: Analysis) -> str:
    """The terminal's tables as HTML."""
    console = Console(
        file=io.StringIO(), record=True, width=WIDTH, highlight=False, color_system=None
    )
    show(analysis, console)
    return f"<pre>{escape(console.export_text())}</pre>"


MOST_FIGURES = 16
"""Interfaces that get a figure: those with the most octets."""


def write(folder: Path, found: Findings) -> list[Path]:
    """Write analysis.json, flows, rates and control frames as Parquet, the figures, and a page.

    Raises BadInput when the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _write(folder, found)
    except OSError as error:
        raise BadInput(str(folder), f"cannot be written to ({error.strerror})") from error


def _write(folder: Path, found: Findings) -> list[Path]:
    analysis = found.analysis
    written = [folder / "analysis.json"]
    text = json.dumps(analysis.as_json(), indent=2) + "\n"
    written[0].write_text(text, encoding="utf-8")
    for name in ("flows", "rates", "messages", "pauses", "probes"):
        written.append(folder / f"{name}.parquet")
        pq.write_table(getattr(analysis_tables, name)(found), written[-1])
    busiest = sorted(
        range(len(analysis.interfaces)), key=lambda one: -analysis.interfaces[one].octets
    )
    drawn: list[tuple[str, Figure]] = []
    for index in sorted(busiest[:MOST_FIGURES]):
        interface = analysis.interfaces[index]
        if interface.octets:
            stem = re.sub(r"[^A-Za-z0-9_]+", "-", interface.name).strip("-")[:60]
            figure = analysis_figures.interface_figure(found, index)
            written += _draw(folder, f"interface-{index}-{stem}", figure)
            drawn.append((f"{interface.name}: rates, messages and pauses over time", figure))
    if analysis.latency:
        drawn.append(("Latency between the points", analysis_figures.latency_figure(found)))
        written += _draw(folder, "latency", drawn[-1][1])
    if analysis.cascades:
        drawn.append(("Which pause caused which", analysis_figures.cascade_figure(found)))
        written += _draw(folder, "cascades", drawn[-1][1])
    written.append(folder / "analysis.html")
    written[-1].write_text(webpage(analysis, drawn), encoding="utf-8", newline="\n")
    return written


def _draw(folder: Path, stem: str, figure: Figure) -> list[Path]:
    paths = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    paths[0].write_text(svg(figure), encoding="utf-8")
    paths[1].write_bytes(png(figure))
    return paths
