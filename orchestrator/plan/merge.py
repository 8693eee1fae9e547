"""Laying one table over another."""

from __future__ import annotations

from typing import Any


def over(below: Any, above: Any) -> Any:
    """`below` with what `above` says on top: tables go together, all else is replaced."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    merged = dict(below)
    for key, value in above.items():
        merged[key] = over(merged[key], value) if key in merged else value
    return merged


def listed_over(section: str, below: list[Any], above: list[Any]) -> list[Any]:
    """Steps come behind those of the base; an expectation goes over the one it speaks of."""
    if section != "expect":
        return [*below, *above]
    result = list(below)
    places = {_speaks_of(table): at for at, table in enumerate(below)}
    for table in above:
        at = places.get(_speaks_of(table)) if isinstance(table, dict) else None
        if at is None:
            result.append(table)
        else:
            result[at] = over(result[at], table)
    return result


def _speaks_of(table: Any) -> tuple[str, ...]:
    """What makes two expectations the same one."""
    keys = ("metric", "of", "phase", "relative_to")
    return tuple(str(table.get(key)) for key in keys) if isinstance(table, dict) else ()
