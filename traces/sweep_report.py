"""`report.html` of a sweep: maps and curves, its parameter points, and how its tables are read."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from orchestrator.batch.parquet_dataset import HALF, PARAMETER_POINTS
from orchestrator.terminal.format_output import quantity
from traces import html_page
from traces.figures.figure_style import INK, SERIES, inline, styled
from traces.figures.lean_matplotlib import Figure
from traces.figures.sweep_curves import sweep_curves
from traces.figures.sweep_maps import maps
from traces.sweep_results import SweepResults

WIDTH, ROW, FOOT = 6.5, 0.55, 1.1
HIGH = 0.38


def sobol_bars(metric: str, indices: Mapping[str, Mapping[str, float]]) -> Figure:
    """Bars of indices, `indices`: parameter -> `first`, `total` and half the interval of each."""
    at = np.arange(len(indices))
    with styled():
        figure = Figure(figsize=(WIDTH, FOOT + ROW * len(indices)), layout="constrained")
        panel = figure.subplots()
        for number, (name, label) in enumerate((("first", "alone"), ("total", "in all"))):
            panel.barh(
                at + (number - 0.5) * HIGH,
                [of[name] for of in indices.values()],
                HIGH,
                xerr=[of[f"{name} ±"] for of in indices.values()],
                color=SERIES[number],
                ecolor=INK,
                capsize=2,
                label=label,
            )
        panel.set_yticks(at, list(indices))
        panel.invert_yaxis()
        panel.axvline(0, color=INK, lw=0.8)
        panel.set_xlabel(f"share of the variance of {metric}", parse_math=False)
        panel.legend(loc="lower right", fontsize=7.5)
    return figure


MOST_ROWS = 300
"""Places in the page's table; the rest is in places.parquet."""
MOST_DRAWN = 6
EFFECTS = (
    "Sobol indices: of the variance over the whole space, the share that each parameter makes "
    "alone, and the share that would be gone if it were fixed; with their 95 % intervals."
)
READ = """import pandas, polars, duckdb
pandas.read_parquet("points")
polars.read_parquet("points/*.parquet")
duckdb.sql("select * from 'points/*.parquet'")"""


def figures(swept: SweepResults) -> list[tuple[str, Figure, str]]:
    """(file name, figure, what it shows) of everything that is drawn."""
    found = []
    for number, metric in enumerate(swept.result["draw"][:MOST_DRAWN]):
        if len(swept.sweep_axes) > 1 and swept.halved != 1:
            found.append((f"map-{number}", maps(swept, metric), _map_words(swept, metric)))
        if swept.is_grid or swept.halved == 1:
            text = f"{metric}: mean over seeds, and the 95 % interval of that mean."
            found.append((f"curves-{number}", sweep_curves(swept, metric), text))
        if (indices := swept.result.get("effects", {}).get(metric)) is not None:
            found.append((f"effects-{number}", sobol_bars(metric, indices), EFFECTS))
    return found


def report(swept: SweepResults, drawn: list[tuple[str, Figure, str]]) -> str:
    """The page as HTML."""
    result = swept.result
    title = str(result["title"] or result["plan"])
    keys = ", ".join(axis["key"] for axis in result["axes"])
    seeds = len(result["seeds"])
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p class=lead>sweep of plan <b>{escape(result['plan'])}</b> over {escape(keys)}: "
        f"{result['places']} places, {result['points']} points"
        f"{f', up to {seeds} seeds each' if seeds > 1 else ''}</p>",
        *(
            f'<figure><div class="plot">{inline(figure, text)}</div>'
            f"<figcaption>{escape(text)}</figcaption></figure>"
            for _, figure, text in drawn
        ),
        _between(swept),
        "<h2>Places</h2>",
        _point_table(swept),
        _refused(swept),
        html_page.collapsible("How the tables are read", f"<pre>{escape(READ)}</pre>"),
        html_page.collapsible("Plan, every default written out", _file(swept, "plan.toml")),
        html_page.collapsible("Manifest", _file(swept, "manifest.json")),
    ]
    return html_page.document(f"{result['plan']}: sweep over {keys}", body)


def _map_words(swept: SweepResults, metric: str) -> str:
    text = (
        f"{metric} over {swept.sweep_axes[0].key} and {swept.sweep_axes[1].key}, mean over seeds."
    )
    edge = swept.result["edge"]
    if not edge or edge["metric"] != metric:
        return text
    value = quantity(edge["value"], swept.result["units"][metric])
    if swept.is_grid:
        return f"{text} The line: {value}; hatched: the 95 % interval of the mean holds that value."
    return (
        f"{text} With a ring: above {value}; the line: where it runs by straight lines between "
        "neighbouring places."
    )


def _point_table(swept: SweepResults) -> str:
    """A table of the first places: values, seeds, what is drawn."""
    import pyarrow.parquet as pq

    result, drawn = swept.result, swept.result["draw"]
    keys = [axis["key"] for axis in result["axes"]]
    wanted = [*keys, "seeds", *(name + end for name in drawn for end in ("", HALF))]
    batches = pq.ParquetFile(swept.folder / PARAMETER_POINTS).iter_batches(
        MOST_ROWS, columns=wanted
    )
    first = next(batches, None)
    rows = [
        [
            *(_value(axis["unit"], place[axis["key"]]) for axis in result["axes"]),
            str(place["seeds"]),
            *(
                html_page.Number(place[name + end], result["units"][name])
                for name in drawn
                for end in ("", HALF)
            ),
        ]
        for place in (first.to_pylist() if first is not None else [])
    ]
    heads = (*keys, "seeds", *(text for name in drawn for text in (name, "±")))
    rest = result["places"] - result["refused"]["places"] - len(rows)
    more = f"<p>{rest} more are in places.parquet.</p>" if rest > 0 else ""
    return html_page.table(heads, rows) + more


def _between(swept: SweepResults) -> str:
    """Position of the edge along the one parameter that is a range."""
    found = swept.result.get("between")
    if not found:
        return ""
    rows: list[list[html_page.Cell]] = [
        [
            html_page.short(one["at"]),
            one["from"],
            one["to"],
            "above" if one["to_above"] else "below",
        ]
        for one in found
    ]
    head = ("at", f"{found[0]['along']} from", "to", "then")
    return "<h2>Where the answer changes</h2>" + html_page.table(head, rows)


def _value(unit: str, value: object) -> html_page.Cell:
    return html_page.Number(value, unit) if isinstance(value, float) else str(value)


def _refused(swept: SweepResults) -> str:
    refused, invalid = swept.result["refused"], swept.result.get("invalid", 0)
    said = f"<p>{invalid} points are left out: the machine distorted them.</p>" if invalid else ""
    if not refused["places"]:
        return said
    rows: list[list[html_page.Cell]] = [
        [html_page.short(one["values"]), one["reason"].splitlines()[-1].strip()]
        for one in refused["such_as"]
    ]
    head = f"<h2>{refused['places']} places make no plan</h2>"
    return said + head + html_page.table(("at", "why"), rows)


def _file(swept: SweepResults, name: str) -> str:
    path = swept.folder / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return f"<pre>{escape(text)}</pre>"
