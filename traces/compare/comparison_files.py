"""Files of a comparison: a page, overlaid runs, and the numbers as JSON."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from rich.console import Console

from orchestrator.errors import BadInput
from traces import figures, html_page
from traces.compare.comparison_result import Comparison
from traces.compare.comparison_text import letter, outcome, show
from traces.compare.run_comparison import common_ports
from traces.figures.lean_matplotlib import Figure
from traces.metrics.sample_table import PS
from traces.run_reader import Run

WIDTH = 150
"""Columns of the tables: they scroll where the page is narrower."""


def webpage(
    runs: Sequence[Run], comparison: Comparison, overlays: Iterable[tuple[str, Figure]]
) -> str:
    """The page as HTML; `overlays` are (port, figure). Everything of a run is escaped."""
    named = "".join(
        f"<li><b>{letter(index)}</b> {escape(label)}</li>"
        for index, label in enumerate(comparison.runs)
    )
    agree = comparison.agree or comparison.by_chance
    mark = f'<span class="j {"met" if agree else "missed"}">{"✓" if agree else "✗"}</span>'
    body = [
        "<h1>Comparison</h1>",
        f"<ul>{named}</ul><p>{mark} {escape(outcome(comparison))}</p>",
    ]
    for one in side_by_side(runs):
        body.append(_figure(figures.draw(one), one.title, *one.notes))
    for port, figure in overlays:
        body.append(_figure(figure, f"Queue and utilisation at {port}"))
    body.append(f'<h2>Tables</h2><div class="wide">{_tables(comparison)}</div>')
    return html_page.document(f"Comparison of {len(runs)} runs", body)


def side_by_side(runs: Sequence[Run]) -> list[figures.Drawn]:
    """The figures that the plans of all runs define, with the panels of each run."""
    every = [{one.title: one for one in figures.planned(run)} for run in runs]
    found = []
    for title, first in every[0].items():
        if any(title not in mine for mine in every):
            continue
        panels = [
            dataclasses.replace(panel, title=f"{letter(index)} {panel.title}".strip())
            for index, mine in enumerate(every)
            for panel in mine[title].panels
        ]
        notes = dict.fromkeys(note for mine in every for note in mine[title].notes)
        found.append(dataclasses.replace(first, panels=panels, notes=list(notes)))
    return found


def _figure(drawn: Figure, label: str, *notes: str) -> str:
    said = "".join(f"<br>{escape(note)}" for note in notes)
    return (
        f'<figure><div class="plot">{figures.inline(drawn, label)}</div>'
        f"<figcaption>{escape(label)}{said}</figcaption></figure>"
    )


def _tables(comparison: Comparison) -> str:
    """The terminal's tables as HTML."""
    console = Console(
        file=io.StringIO(), record=True, width=WIDTH, highlight=False, color_system=None
    )
    show(comparison, console)
    return f"<pre>{escape(console.export_text())}</pre>"


def write(folder: Path, runs: Sequence[Run], comparison: Comparison) -> list[Path]:
    """Write compare.html, compare.json and, for each busy port, `compare-<port>.svg` and `.png`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return list(_write(folder, runs, comparison))
    except OSError as error:
        raise BadInput(str(folder), f"cannot be written to ({error.strerror})") from error


def _write(folder: Path, runs: Sequence[Run], comparison: Comparison) -> list[Path]:
    numbers = folder / "compare.json"
    numbers.write_text(json.dumps(comparison.as_json(), indent=2) + "\n", encoding="utf-8")
    written = [numbers]
    labels = [f"{letter(index)} {run.result.target}" for index, run in enumerate(runs)]
    common = common_ports(runs)
    parting = comparison.parting
    overlays = []
    for port in [one for one in figures.bottlenecks(runs[0]) if one in common]:
        here = parting is not None and parting.entity == port and parting.time_s is not None
        at = round((parting.time_s or 0) * PS) if parting is not None and here else None
        figure = figures.overlay_figure(runs, port, labels, at)
        overlays.append((port, figure))
        stem = f"compare-{port.replace('.', '-').replace('/', '-')}"
        for name, content in (
            (f"{stem}.svg", figures.svg(figure).encode()),
            (f"{stem}.png", figures.png(figure)),
        ):
            (folder / name).write_bytes(content)
            written.append(folder / name)
    made = folder / "compare.html"
    made.write_text(webpage(runs, comparison, overlays), encoding="utf-8", newline="\n")
    return [made, *written]
