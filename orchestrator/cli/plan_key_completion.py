"""Shell completion of the dotted keys of the plan on the command line."""

from __future__ import annotations

from typing import Any

import typer

from orchestrator.errors import TailbackError


def complete_key(ctx: typer.Context, incomplete: str) -> list[str]:
    """Keys of the plan that begin like this, a part at a time; `=` behind one that has a value.

    A key with ranges, and what stands behind `=` or `&`, is left to the user.
    """
    name = ctx.params.get("plan")
    if not isinstance(name, str) or any(sign in incomplete for sign in "=&{"):
        return []
    above, dot, begun = incomplete.rpartition(".")
    try:
        table = _below(_table(name), above.split(".") if dot else [])
    except TailbackError:
        return []
    return [
        f"{above}{dot}{key}" + ("." if isinstance(value, dict) else "=")
        for key, value in table.items()
        if key.startswith(begun) and not isinstance(value, list)
    ]


def _table(name: str) -> dict[str, Any]:
    """The resolved plan: every default of every plugin is there."""
    from orchestrator.registry import Registry
    from orchestrator.terminal.plan_loading import load_plan

    table: dict[str, Any] = load_plan(name, []).check(Registry.load()).plan.to_table()
    return table


def _below(table: Any, parts: list[str]) -> dict[str, Any]:
    for part in parts:
        table = table.get(part, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}
