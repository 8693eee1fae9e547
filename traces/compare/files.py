"""Files of a comparison: a page, overlaid runs, and the numbers as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import BadInput
from traces import figures
from traces.compare.compare import common_ports
from traces.compare.found import Comparison
from traces.compare.text import letter
from traces.compare.webpage import webpage
from traces.metrics.table import PS
from traces.runs import Run


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
