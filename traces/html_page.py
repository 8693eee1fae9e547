"""HTML building blocks of reports: page, tables, collapsible sections. Everything is escaped
here."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from orchestrator.terminal import format_output

STYLE = """
:root { color-scheme: light dark; --paper: #fefefd; --ink: #1d2126; --faint: #767d86;
  --shade: #dfe3e8; --line: #d5d9de; --good: #00694c; --bad: #a63a00; --warn: #7a5600; }
@media (prefers-color-scheme: dark) { :root { --paper: #16191d; --ink: #e6e8eb; --faint: #98a0aa;
  --shade: #3a414a; --line: #363c44; --good: #4cc9a0; --bad: #ff9d66; --warn: #f0c04a; } }
@media print { :root { --paper: #fff; --ink: #000; --faint: #555; --shade: #ddd; --line: #bbb;
  --good: #00593f; --bad: #8a3000; --warn: #5e4300; }
  main { max-width: none; padding: 0; } figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; } .wide { overflow: visible; } table { font-size: .62rem; }
  th, td { padding-right: .35rem; white-space: normal; overflow-wrap: anywhere; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .2rem 0; } h2 { font-size: 1.15rem;
  margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
.lead { margin: 0 0 1rem; } figure { margin: 0 0 1.5rem; } .plot { overflow-x: auto; }
.plot svg, figure > svg { width: 100%; height: auto; display: block; }
@media (max-width: 42rem) { main { padding: 1rem .75rem 3rem; } .plot svg { min-width: 40rem; }
  h1 { font-size: 1.25rem; } th, td { padding-right: .5rem; } }
figcaption { color: var(--faint); font-size: .85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; margin: .3rem 0 1rem; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; } th { font-weight: 600; white-space: nowrap; }
td.n { font-variant-numeric: tabular-nums; white-space: nowrap; }
.j { white-space: nowrap; font-weight: 600; } .met, .valid { color: var(--good); }
.missed, .invalid { color: var(--bad); }
.degraded, .unknown, .unjudged, .uncertain { color: var(--warn); }
summary { cursor: pointer; font-weight: 600; margin: .6rem 0; }
pre { overflow-x: auto; font: .82rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
"""


@dataclass(frozen=True)
class Raw:
    """HTML that goes into a cell as it is."""

    html: str


class Number(NamedTuple):
    """A number with its unit; the exact value is in the cell's title."""

    value: float | None
    unit: str


Cell = str | Raw | Number


def document(title: str, body: Iterable[str]) -> str:
    """A whole page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n"
        "<body><main>\n" + "\n".join(body) + "\n</main></body></html>\n"
    )


@functools.lru_cache(256)
def _escaped(unit: str) -> str:
    return escape(unit)


@functools.lru_cache(1 << 12, typed=True)  # most of a table are the same few numbers
def _number(value: float | None, unit: str) -> str:
    if value is None:
        return '<td class="n">–</td>'
    text = format_output.quantity(value, unit)  # a number, and a known unit or none
    return f'<td class="n" title="{f"{value!r} {_escaped(unit)}".rstrip()}">{text}</td>'


def _cell(cell: Cell) -> str:
    match cell:
        case Raw():
            return f"<td>{cell.html}</td>"
        case Number():
            value = (
                cell.value + 0.0 if isinstance(cell.value, float) else cell.value
            )  # of -0.0, 0.0
            return _number(value, cell.unit)
    return f"<td>{escape(str(cell))}</td>"


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table that scrolls when it is wider than the page."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    lines = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>\n" for row in rows)
    inner = f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody>"
    return f'<div class="wide"><table>{inner}</table></div>'


def collapsible(title: str, body: str, *, opened: bool = False) -> str:
    """A part that opens on a click."""
    return f"<details{' open' if opened else ''}><summary>{escape(title)}</summary>{body}</details>"


def band(low: float | None, high: float | None, unit: str) -> str:
    """Text of an expectation's bounds."""
    return format_output.band(low, high, unit)


def short(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {short(item)}" for key, item in value.items())
    if isinstance(value, float):
        return f"{value:.6g}"
    return json.dumps(value, ensure_ascii=False, default=str)


def tree(value: Mapping[str, Any]) -> str:
    """A nested table of names and values, flattened to dotted names."""
    return table(("", ""), [[name, short(item)] for name, item in _flat(value)])


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield from _flat(item, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", "–" if item is None else item
