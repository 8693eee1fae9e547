"""Files of an analysis: JSON, Parquet tables, figures, and a page of all of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
from matplotlib.figure import Figure

from orchestrator.errors import BadInput
from traces.analysis import figures, tables
from traces.analysis.analyze import Findings
from traces.analysis.webpage import webpage
from traces.figures import png, svg

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
        pq.write_table(getattr(tables, name)(found), written[-1])
    busiest = sorted(
        range(len(analysis.interfaces)), key=lambda one: -analysis.interfaces[one].octets
    )
    drawn: list[tuple[str, Figure]] = []
    for index in sorted(busiest[:MOST_FIGURES]):
        interface = analysis.interfaces[index]
        if interface.octets:
            stem = re.sub(r"[^A-Za-z0-9_]+", "-", interface.name).strip("-")[:60]
            figure = figures.interface_figure(found, index)
            written += _draw(folder, f"interface-{index}-{stem}", figure)
            drawn.append((f"{interface.name}: rates, messages and pauses over time", figure))
    if analysis.latency:
        drawn.append(("Latency between the points", figures.latency_figure(found)))
        written += _draw(folder, "latency", drawn[-1][1])
    if analysis.cascades:
        drawn.append(("Which pause caused which", figures.cascade_figure(found)))
        written += _draw(folder, "cascades", drawn[-1][1])
    written.append(folder / "analysis.html")
    written[-1].write_text(webpage(analysis, drawn), encoding="utf-8", newline="\n")
    return written


def _draw(folder: Path, stem: str, figure: Figure) -> list[Path]:
    paths = [folder / f"{stem}.svg", folder / f"{stem}.png"]
    paths[0].write_text(svg(figure), encoding="utf-8")
    paths[1].write_bytes(png(figure))
    return paths
