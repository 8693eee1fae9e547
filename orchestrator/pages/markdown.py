"""Tables and code in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Table in Markdown; each cell is Markdown of one line."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(_cell(cell) for cell in row) + " |\n" for row in lines)


def code(text: object) -> str:
    """Text as code; an empty text stays empty."""
    return f"`{text}`" if str(text) else ""


def plain(text: str) -> str:
    """Text with Markdown's special characters escaped; backticks mark code."""
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        for sign in "<*_[]":
            parts[place] = parts[place].replace(sign, "\\" + sign)
    return "`".join(parts)


def _cell(text: str) -> str:
    """Text of a cell on one line; a bar is escaped, within code as well."""
    return " ".join(text.split()).replace("|", "\\|")
