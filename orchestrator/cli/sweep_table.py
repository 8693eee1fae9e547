"""Result table of a sweep for the terminal: points, edge, Sobol indices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.batch.parquet_dataset import HALF, PARAMETER_POINTS
from orchestrator.terminal import format_output

MOST_ROWS = 40
"""Places on the terminal; places.parquet has all."""


def show_sweep(result: dict[str, Any], folder: Path) -> None:
    """Print the places with what is drawn of them, and where the rest is."""
    from rich.text import Text

    out, drawn = format_output.console(), result["draw"]
    keys = [axis["key"] for axis in result["axes"]]
    rows = _rows(result, folder)
    if drawn:
        out.print(format_output.table((*keys, "seeds", *drawn), rows, title=head(result)))
    rest = result["places"] - result["refused"]["places"] - len(rows)
    if rest > 0:
        out.print(Text(f"… and {rest} places more in {PARAMETER_POINTS}", "dim"))
    _show_between(result)
    _show_effects(result)
    if result["invalid"]:
        text = f"{result['invalid']} points are left out: the machine distorted them each time"
        out.print(Text(f"{text}; the same command tries them again", "yellow"), soft_wrap=True)
    if result["refused"]["places"]:
        first = result["refused"]["such_as"][0]
        values = ", ".join(f"{key} = {value}" for key, value in first["values"].items())
        why = first["reason"].splitlines()[-1].strip()
        text = f"{result['refused']['places']} places make no plan, such as {values}: {why}"
        out.print(Text(text, "yellow"), soft_wrap=True)
    out.print(Text(f"folder    {folder}"), soft_wrap=True)


def _show_between(result: dict[str, Any]) -> None:
    """Between which values of its one range the edge lies."""
    if not (found := result.get("between")):
        return
    edge = result["edge"]
    value = format_output.quantity(edge["value"], result["units"][edge["metric"]])
    rows = [
        [
            *one["at"].values(),
            f"{one['from']} and {one['to']}",
            "from below to above" if one["to_above"] else "from above to below",
        ]
        for one in found
    ]
    head = (*found[0]["at"], f"between {found[0]['along']}", "it goes")
    format_output.console().print(
        format_output.table(head, rows, title=f"{edge['metric']} crosses {value}"), soft_wrap=True
    )


def _show_effects(result: dict[str, Any]) -> None:
    """Sobol indices of each parameter."""
    for metric, indices in result.get("effects", {}).items():
        if indices is None:
            text = f"no effects on {metric}: some places have no number, or all have the same"
            format_output.console().print(text, markup=False)
            continue
        rows = [
            [key, *(f"{of[name]:.3f} ± {of[f'{name} ±']:.3f}" for name in ("first", "total"))]
            for key, of in indices.items()
        ]
        head = ("parameter", "alone", "in all")
        title = f"{metric}: shares of its variance"
        format_output.console().print(format_output.table(head, rows, title=title))


def head(result: dict[str, Any]) -> str:
    """Heading: the plan, points and seeds that were run."""
    keys = ", ".join(axis["key"] for axis in result["axes"])
    return f"{result['plan']}: {result['places']} places of {keys}, {result['points']} points"


def _rows(result: dict[str, Any], folder: Path) -> list[list[str]]:
    """The first places: values, seeds, mean and half the interval of each metric."""
    import pyarrow.parquet as pq

    drawn, axes = result["draw"], result["axes"]
    wanted = [*(axis["key"] for axis in axes), "seeds"]
    wanted += [name + end for name in drawn for end in ("", HALF)]
    batches = pq.ParquetFile(folder / PARAMETER_POINTS).iter_batches(MOST_ROWS, columns=wanted)
    first = next(batches, None)
    found = []
    for place in first.to_pylist() if first is not None else []:
        cells = [_value(axis, place[axis["key"]]) for axis in axes]
        cells.append(str(place["seeds"]))
        for name in drawn:
            unit, mean, half = result["units"][name], place[name], place[name + HALF]
            text = format_output.quantity(mean, unit)
            cells.append(text if half is None else f"{text} ± {format_output.quantity(half, unit)}")
        found.append(cells)
    return found


def _value(axis: dict[str, Any], value: Any) -> str:
    """A place's value as a plan writes it."""
    if isinstance(value, str):
        return value
    return format_output.quantity(value, axis["unit"])
