"""Overlay of one table over another."""

from __future__ import annotations

from typing import Any

SPEAK_OF = {
    "expect": ("metric", "of", "phase", "relative_to"),
    "figure": ("title", "panel", "y", "kind"),
    "mutant": ("name",),
}
"""Lists whose entries go over one another, and the keys that say which."""


def over(below: Any, above: Any) -> Any:
    """`below` with what `above` says on top: tables go together, all else is replaced."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    merged = dict(below)
    for key, value in above.items():
        merged[key] = over(merged[key], value) if key in merged else value
    return merged


def listed_over(section: str, below: list[Any], above: list[Any]) -> list[Any]:
    """Steps come behind those of the base; an expectation or a figure goes over the one it speaks
    of, a mutant over the one of its name."""
    if section not in SPEAK_OF:
        return [*below, *above]
    keys = SPEAK_OF[section]
    result = list(below)
    places = {_speaks_of(table, keys): at for at, table in enumerate(below)}
    for table in above:
        at = places.get(_speaks_of(table, keys)) if isinstance(table, dict) else None
        if at is None:
            result.append(table)
        else:
            result[at] = over(result[at], table)
    return result


def _speaks_of(table: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Key by which two entries of a list are the same one."""
    return tuple(str(table.get(key)) for key in keys) if isinstance(table, dict) else ()
