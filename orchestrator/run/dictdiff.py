"""Difference of two tables of a plan, or of two manifests, as dotted keys."""

from __future__ import annotations

from typing import Any

FlatTable = dict[str, Any]


def flatten(value: Any) -> FlatTable:
    """Dotted key -> value of every leaf in tables and lists, at any depth."""
    found: FlatTable = {}
    stack = [("", value)]
    while stack:
        key, one = stack.pop()
        if isinstance(one, dict):
            stack += [(f"{key}.{k}" if key else str(k), v) for k, v in reversed(one.items())]
        elif isinstance(one, list):
            stack += [(f"{key}[{at}]", one[at]) for at in reversed(range(len(one)))]
        else:
            found[key] = one
    return found


def differing_keys(one: FlatTable, other: FlatTable) -> list[str]:
    """Keys that only one table has, or that differ in value, in their order."""
    gone = object()
    return [key for key in {**one, **other} if one.get(key, gone) != other.get(key, gone)]
