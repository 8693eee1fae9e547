"""Explorable time series of a report: zoom, pan, values under the pointer, curves switched on and
off, another run laid over.

The curves stand in the page as JSON, and BokehJS draws them (its files come with the distribution
`bokeh`, whose Python is not imported). Without scripts the section stays hidden, and the page has
the figures that it always had.
"""

from __future__ import annotations

import base64
import importlib.util
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.errors import BadInput
from orchestrator.plan.drawable_metrics import scale_of as axis_scale
from orchestrator.plan.metric_registry import BITS_PER_SECOND, BYTES, RATIO
from orchestrator.plan.observables import scale_of
from traces import figures
from traces.figures.curves import RATES_PS, window_ps
from traces.figures.figure_style import SERIES
from traces.figures.flows_through_port import flows_through
from traces.figures.queue_figure import MAX_LINES, UTILIZATION_PS, names
from traces.figures.state_figure import gauge_samples, most_variable, unit_of_columns
from traces.metrics.sample_table import PS
from traces.run_reader import Run
from traces.time_series import envelope, rate_bps, utilization, window_rows

Curve = tuple[str, np.ndarray, np.ndarray]
"""(name, times in s, values in the SI unit of its panel)."""
LIBRARY = ("bokeh.min.js", "bokeh-api.min.js")
MOST_POINTS = 160_000
"""Points of a page, 11 octets each: with the library 3 MB."""
MOST_BUCKETS = 4_000
"""Buckets of a curve, each with its lowest and its highest sample."""
MOST_EVENTS = 200


@dataclass(frozen=True)
class Panel:
    """Curves of one quantity over time."""

    title: str
    unit: Any
    curves: list[Curve]


def section(run: Run) -> str:
    """The section as HTML; empty for a run without two samples."""
    if len(run.times_ps) < 2:
        return ""
    data = json.dumps(_described(run), separators=(",", ":"), ensure_ascii=True)
    data = data.replace("<", "\\u003c")  # a name of the plan must not end the element
    scripts = "".join(f"<script>{text}</script>" for text in library_scripts())
    return (
        '<section id="explore" hidden><h2>Explore</h2><p>Drag to zoom in on a span of time, hold '
        "Ctrl and turn the wheel to zoom, choose the hand to pan, click a name to switch its curve "
        "off; the round arrow shows all again. A curve keeps the lowest and the highest sample of "
        "each of its steps.</p>"
        '<p><label>Lay the report of another run over it: <input type="file" '
        'accept=".html,text/html"></label> <output></output></p><div class="panels"></div>'
        f'<script type="application/json" id="series">{data}</script>{scripts}</section>'
    )


@cache
def library_scripts() -> tuple[str, ...]:
    """BokehJS and what draws with it."""
    found = importlib.util.find_spec("bokeh")
    if found is None or not found.submodule_search_locations:
        raise BadInput("bokeh", "is not installed; `pip install bokeh` (reports need its script)")
    static = Path(found.submodule_search_locations[0]) / "server" / "static" / "js"
    files = [*(static / name for name in LIBRARY), Path(__file__).with_name("explorer.js")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    return tuple(text.replace("</script", "<\\/script") for text in texts)


def _described(run: Run) -> dict[str, Any]:
    """What the script draws: panels, phases and events, times in s."""
    panels = [*_of_ports(run), *_of_algorithms(run)]
    count = sum(len(panel.curves) for panel in panels)
    buckets = min(MOST_BUCKETS, MOST_POINTS // (2 * max(count, 1)))
    return {
        "run": run.label,
        "from": int(run.times_ps[0]) / PS,
        "to": int(run.times_ps[-1]) / PS,
        "colours": SERIES,
        "phases": [[name, begin / PS, end / PS] for name, (begin, end) in run.phases.items()],
        "events": [
            [event.time_ps / PS, escape(f"{event.kind} {event.entity}")]
            for event in run.events[:MOST_EVENTS]
        ],
        "panels": [_panel(panel, buckets) for panel in panels],
    }


def _panel(panel: Panel, buckets: int) -> dict[str, Any]:
    kept = [(name, *envelope(times, values, buckets)) for name, times, values in panel.curves]
    top = max((float(np.abs(values).max(initial=0)) for _, _, values in kept), default=0)
    unit, one = axis_scale(panel.unit, top)
    curves = [{"name": name, "t": _packed(t), "y": _packed(y / one)} for name, t, y in kept]
    return {"title": panel.title, "unit": unit, "one": one, "curves": curves}


def _packed(values: np.ndarray) -> str:
    """Base64 of float32, little-endian."""
    return base64.b64encode(np.asarray(values).astype("<f4").tobytes()).decode("ascii")


def _of_ports(run: Run) -> Iterable[Panel]:
    """Queue, utilisation and rates of the flows, of the ports that have a figure."""
    table, called = run.table, names(run)
    for port in figures.bottlenecks(run):
        queue = table.column(port, "queue_bytes")
        yield Panel(f"queue at {port}", BYTES, [(port, run.times_ps / PS, queue)])
        if table.has(port, "service_rate") and table.has(port, "bytes_out"):
            rows = window_rows(table, window_ps(run, UTILIZATION_PS))
            share = utilization(table, port, rows)
            yield Panel(f"utilisation of {port}", RATIO, [(port, *share)])
        if flows := flows_through(run, port)[:MAX_LINES]:
            rows = window_rows(table, window_ps(run, RATES_PS))
            curves = [
                (called.get(one, one), *rate_bps(table, one, "bytes_received", rows))
                for one in flows
            ]
            yield Panel(f"received of flows through {port}", BITS_PER_SECOND, curves)


def _of_algorithms(run: Run) -> Iterable[Panel]:
    """State of the algorithms: a panel for each quantity."""
    for metric, columns in figures.columns_with_values(run).items():
        curves = []
        for column in most_variable(run, columns):
            times, values = gauge_samples(run, column)
            curves.append((column.entity, times / PS, values * scale_of(column.unit)))
        yield Panel(metric, unit_of_columns(metric, columns), curves)
