"""Report section with links to the files of a run."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import quote

from orchestrator.terminal.format_output import quantity
from traces import html_page
from traces.run_reader import Run

MEANS = {
    "samples.parquet": "all samples",
    "messages.parquet": "every message, from its start until it was complete",
    "latency.parquet": "histograms of frame latency",
    "marking.parquet": "frames seen and marked by congestion points, over the queue's length",
    "result.json": "metrics, expectations, fidelity",
    "plan.toml": "the plan, every default written out",
    "manifest.json": "versions and the machine",
    "events.jsonl": "events with their times",
}
HINT = "<p><code>tailback analyze</code> reads captures, as Wireshark does.</p>"


def section(run: Run, place: str) -> str:
    """A table of links; nothing for a run without a folder. `place` leads from the page to it."""
    if run.folder is None:
        return ""
    found = list(_run_files(run.folder))
    rows: list[list[html_page.Cell]] = [
        [html_page.Raw(_link(place, name)), quantity(size, "B"), MEANS.get(name, "")]
        for name, size in found
    ]
    if not rows:
        return ""
    text = "<h2>Files</h2>" + html_page.table(("file", "size", "contents"), rows)
    captured = any(name not in MEANS for name, _ in found)
    return text + (HINT if captured else "")


def _run_files(folder: Path) -> Iterator[tuple[str, int]]:
    """(path in the folder, octets): those that are always there, then captures by name."""
    names = [*MEANS, *sorted(f"captures/{one.name}" for one in folder.glob("captures/*.pcapng"))]
    for name in names:
        path = folder / name
        if path.is_file():
            yield name, path.stat().st_size


def _link(place: str, name: str) -> str:
    address = f"{place}/{name}" if place not in ("", ".") else name
    return f'<a href="{escape(quote(address))}">{escape(name)}</a>'
