"""Output of numbers and tables: SI prefixes, a fixed few digits, plain when piped."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LINE_PER_ROW = 10_000
"""Columns of a list that is piped: programs read it line by line."""
PIPED_WIDTH = 120
"""Columns when stdout is no terminal and COLUMNS does not say."""

UNITS = {"B": "B", "bytes": "B", "bit/s": "b/s", "bps": "b/s", "s": "s"}
"""Units that take an SI prefix, and how they are written; others are printed as they are."""
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def quantity(value: float | None, unit: str) -> str:
    """A number with four digits and its unit: 33_400, "B" becomes "33.4 KB"."""
    if value is None:
        return "-"
    if unit not in UNITS:
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    if value == 0:
        return f"0 {UNITS[unit]}"
    size = abs(value)
    for factor, prefix in PREFIXES:  # noqa: B007  # the last one where none is small enough
        if size >= factor * 0.99995:
            break
    if unit in ("B", "bytes"):
        prefix = "K" if prefix == "k" else prefix
        if factor < 1:
            factor, prefix = 1.0, ""
    return f"{value / factor:.4g} {prefix}{UNITS[unit]}"


def band(low: float | None, high: float | None, unit: str) -> str:
    """Bounds of an expectation as text: "30 KB to 38 KB", "at least 0.99"."""
    if low is None and high is None:
        return "any"
    if low is None:
        return f"at most {quantity(high, unit)}"
    if high is None:
        return f"at least {quantity(low, unit)}"
    return f"{quantity(low, unit)} to {quantity(high, unit)}"


def console(stderr: bool = False, piped_width: int = PIPED_WIDTH) -> Console:
    """A console on stdout or stderr; of a fixed width when piped."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else piped_width

    class Piped(Console):
        """Console whose reader may close the pipe early; rich itself would exit with code 1, which
        means missed expectations."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Piped(stderr=stderr, width=width, highlight=False)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> Table:
    """A table without borders at the sides. Cells are text as it is, never markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from orchestrator.terminal.escape_control import plain

    shown = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*(cell if isinstance(cell, Text) else Text(plain(str(cell))) for cell in row))
    return shown


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    import json

    print(json.dumps(value, indent=2, default=str))
