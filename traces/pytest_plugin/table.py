"""Table of figures of several targets: for a terminal, as Markdown, HTML or JSON."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from pathlib import Path

from .figures import Figure

FORMATS = (".json", ".md", ".html")
MISSED = "✗"


def rows(figures: Iterable[Figure]) -> tuple[list[str], list[list[str]]]:
    """Heading and rows: a row per name, a column per target, in the order of their coming."""
    found: dict[str, dict[str, Figure]] = {}
    targets: list[str] = []
    for figure in figures:
        found.setdefault(figure.name, {})[figure.target] = figure
        if figure.target not in targets:
            targets.append(figure.target)
    heading = ["figure", "unit", "expected", *targets, "rule", "tolerance"]
    lines = []
    for name, by_target in found.items():
        one = next(iter(by_target.values()))
        cells = [_cell(by_target.get(target)) for target in targets]
        reasons = list(dict.fromkeys(figure.why for figure in by_target.values()))
        lines.append([name, one.unit, _number(one.expected), *cells, one.rule, "; ".join(reasons)])
    return heading, lines


def _number(value: float) -> str:
    return f"{value:.6g}"


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    mark = "" if figure.within_tolerance else f" {MISSED}"
    return f"{_number(figure.seen)} ± {figure.tolerance:.2g}{mark}"


def markdown(figures: Iterable[Figure]) -> str:
    """A Markdown table."""
    heading, lines = rows(figures)
    shown = [heading, ["---"] * len(heading), *lines]
    return "".join("| " + " | ".join(line) + " |\n" for line in shown)


def page(figures: Iterable[Figure]) -> str:
    """A page of HTML that needs nothing else."""
    heading, lines = rows(figures)
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heading)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>\n"
        for line in lines
    )
    style = "table{border-collapse:collapse}td,th{border:1px solid;padding:.2em .5em}"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Conformance</title>'
        f"<style>body{{font-family:sans-serif}}{style}</style>"
        f"<h1>Conformance</h1><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
        "</html>\n"
    )


def text(figures: Iterable[Figure]) -> list[str]:
    """Lines for a terminal: what was seen; rules and reasons are in the files."""
    heading, lines = rows(figures)
    shown = [line[:-2] for line in (heading, *lines)]
    widths = [max(len(line[place]) for line in shown) for place in range(len(shown[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in shown
    ]


def write(path: Path, figures: list[Figure]) -> None:
    """Write the figures in the format that the file's name ends with, one of FORMATS."""
    if path.suffix == ".json":
        written = json.dumps([figure.table() for figure in figures], indent=1) + "\n"
    else:
        written = markdown(figures) if path.suffix == ".md" else page(figures)
    path.write_text(written, encoding="utf-8")
