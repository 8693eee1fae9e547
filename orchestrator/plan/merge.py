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
