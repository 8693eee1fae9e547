"""`analysis.html`: one self-contained page about captures, figures first, then the tables."""

from __future__ import annotations

import io
from collections.abc import Iterable
from html import escape

from matplotlib.figure import Figure
from rich.console import Console

from traces import page
from traces.analysis.found import Analysis
from traces.analysis.text import show
from traces.figures import inline

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
    return page.document(f"Captures: {names}"[:200], body)


def _tables(analysis: Analysis) -> str:
    """The terminal's tables as HTML."""
    console = Console(
        file=io.StringIO(), record=True, width=WIDTH, highlight=False, color_system=None
    )
    show(analysis, console)
    return f"<pre>{escape(console.export_text())}</pre>"
