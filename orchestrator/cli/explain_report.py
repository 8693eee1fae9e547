"""Text and Markdown output of `tailback explain`: a table of statements and a conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orchestrator.terminal import format_output

COLUMNS = ("", "statement", "expected", "came", "holds at", "where", "excludes alone")
MOST_VALUES = 6
"""Of a parameter that are listed one by one."""
MOST_SETS = 8
"""Contradictions that are printed; explain.json has all."""


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Key -> its last parts, as many as tell it from the others: tables have little room."""
    for count in (1, 2, 3):
        short = [".".join(key.rpartition("&")[2].strip().split(".")[-count:]) for key in keys]
        if len(set(short)) == len(keys):
            return dict(zip(keys, short, strict=True))
    return {key: key for key in keys}


def shortened(result: dict[str, Any]) -> dict[str, Any]:
    """The result with parameters by their short names, for tables."""
    short = short_names([axis["key"] for axis in result["free"]])

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                short.get(key, key): short.get(part, part) if key == "key" else renamed(part)
                for key, part in value.items()
            }
        return [renamed(part) for part in value] if isinstance(value, list) else value

    short_result: dict[str, Any] = renamed(result)
    return short_result


def head(result: dict[str, Any]) -> str:
    """Heading: the plan, the points and the seeds of the search."""
    keys = ", ".join(axis["key"] for axis in result["free"])
    seeds = len(result["seeds"])
    how = "every combination" if result["grid"] else "a sample"
    of = f"{len(result['places'])} places ({how} of {keys})"
    return f"{result['plan']}: {of}, {seeds} seed{'s' * (seeds > 1)}"


def conclusion(result: dict[str, Any]) -> list[str]:
    """Conclusion of the search, in sentences."""
    every, count = result["all"], len(result["statements"])
    if every["places"]:
        text = f"all {count} statements hold at {every['places']} of {every['of']} places: "
        lines = [text + _where(every)]
        if every["box_places"] > every["places"]:
            rest = every["box_places"] - every["places"]
            lines.append(f"not everywhere in between: {rest} places there miss a statement")
    else:
        lines = [f"nowhere do all {count} statements hold; at most {result['most']} do"]
        for found in result["contradictions"][:MOST_SETS]:
            lines.append(
                f"holds nowhere: {found[0]}"
                if len(found) == 1
                else "never together: " + "; ".join(found)
            )
        best = [result["places"][at]["values"] for at in result["best"][:3]]
        lines += ["most hold at " + _values(values) for values in best]
    if result["refused"]:
        first = result["refused"][0]
        lines.append(
            f"{len(result['refused'])} places make no plan, such as {_values(first['values'])}: "
            + first["reason"].splitlines()[-1].strip()
        )
    return lines


def rows(result: dict[str, Any]) -> list[list[str]]:
    """A line for each statement."""
    found = []
    for statement in result["statements"]:
        where, unit = statement["region"], statement["unit"]
        alone = [result["places"][at]["values"] for at in statement["excludes_alone"]]
        found.append(
            [
                _word(where),
                statement["called"],
                format_output.band(statement["min"], statement["max"], unit),
                _span(statement["least"], statement["most"], unit),
                f"{where['places']} of {where['of']}",
                "everywhere" if where["places"] == where["of"] else _where(where),
                _few([_values(values) for values in alone]),
            ]
        )
    return found


def as_markdown(result: dict[str, Any]) -> str:
    """The tables as a page of its own: statements, then places."""
    lines = [f"# {result['title'] or result['plan']}", "", head(result), ""]
    result = shortened(result)
    lines += [f"- {line}" for line in conclusion(result)] + [""]
    lines += _table(COLUMNS, rows(result))
    keys = [axis["key"] for axis in result["free"]]
    every = len(result["statements"])
    cells = []
    for place in result["places"]:
        missed = [
            statement["called"]
            for statement, held in zip(result["statements"], place["holds"], strict=True)
            if not held
        ]
        cells.append([*place["values"].values(), f"{place['hold']} of {every}", "; ".join(missed)])
    lines += ["", *_table([*keys, "hold", "missed"], cells)]
    return "\n".join(lines) + "\n"


def show_search(result: dict[str, Any], folder: Path) -> None:
    """Print the table and the conclusion."""
    from rich.text import Text

    out = format_output.console()
    colours = {"everywhere": "green", "somewhere": "yellow", "NOWHERE": "bold red"}
    title, result = head(result), shortened(result)
    shown = [[Text(row[0], colours[row[0]]), *row[1:]] for row in rows(result)]
    out.print(format_output.table(COLUMNS, shown, title=title))
    colour = "green" if result["all"]["places"] else "bold red"
    for at, line in enumerate(conclusion(result)):
        out.print(Text(line, "" if at else colour), soft_wrap=True)
    out.print(Text(f"folder    {folder}"), soft_wrap=True)


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    head_lines = [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    return head_lines + [f"| {' | '.join(row)} |" for row in cells]


def _word(where: dict[str, Any]) -> str:
    if where["places"] == where["of"]:
        return "everywhere"
    return "somewhere" if where["places"] else "NOWHERE"


def _where(found: dict[str, Any]) -> str:
    """A region by parameter; one that leaves a parameter as free as it was says nothing of it."""
    parts = []
    for one in found["parameters"]:
        if one["values"] and len(one["values"]) < len(one["tried"]):
            parts.append(f"{one['key']} {_extent(one)}")
    if not found["places"]:
        return "nowhere"
    return ", ".join(parts) or "with every value of each parameter, not with all combinations"


def _extent(one: dict[str, Any]) -> str:
    values = one["values"]
    if one["gaps"] and len(values) <= MOST_VALUES:
        return "= " + ", ".join(values)
    text = f"{one['least']} to {one['most']}" if len(values) > 1 else f"= {values[0]}"
    if one["gaps"]:
        text += f" with {len(one['gaps'])} gaps"
    beside = [one[key] for key in ("none_below", "none_above") if one[key] is not None]
    return f"{text} (not {', '.join(beside)})" if beside else text


def _values(values: dict[str, str]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in values.items())


def _span(least: float | None, most: float | None, unit: str) -> str:
    if least == most:
        return format_output.quantity(least, unit)
    return f"{format_output.quantity(least, unit)} to {format_output.quantity(most, unit)}"


def _few(texts: Sequence[str]) -> str:
    if not texts:
        return ""
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    return f"{texts[0]}{more}"
