"""Application of a mutant to a plan."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import unknown
from orchestrator.plan.mutant_table import Mutant
from orchestrator.plan.plan import Plan
from orchestrator.plan.setting_overrides import key_segments, keys_for, overlay

ABSENT = ("expect", "mutant", "figure")
"""Keys that a mutated plan lacks: it is judged by the expectations of the plan that it is made of,
and no report draws it, which may have lost what a figure shows."""
AnyPlan = TypeVar("AnyPlan", bound=Plan)


def mutated(plan: AnyPlan, mutant: Mutant) -> AnyPlan:
    """The plan with the mutant's changes. Raises BadInput, which names the mutant."""
    written = plan.model_dump(by_alias=True, exclude_unset=True)
    defaults = plan.model_dump(by_alias=True, exclude_none=True)
    for key in ABSENT:
        written.pop(key, None)
    try:
        data = overlay(type(plan), written, defaults, mutant.set.items(), "set")
        return plan.with_data(_without(data, mutant.drop))
    except BadInput as error:
        raise BadInput(f"{plan.source}: mutant {mutant.name}", error.problems) from None


def _without(data: dict[str, Any], drop: list[str]) -> dict[str, Any]:
    """A copy of `data` without some keys. Those of a list count as they stand in the plan."""
    data, problems = copy.deepcopy(data), list[Problem]()
    gone: list[tuple[Any, int | str]] = []
    for key in (name for text in drop for name in keys_for(text, problems, "drop")):
        found = _find(data, key, problems)
        gone += [found] if found else []
    if problems:
        raise BadInput("drop", problems)
    for table, at in sorted(gone, key=lambda one: str(one[1]).zfill(6), reverse=True):
        del table[at]
    return data


def _find(data: Any, key: str, problems: list[Problem]) -> tuple[Any, int | str] | None:
    """The table that a key is in, and what it is called there."""
    *parents, last = key_segments(key)
    table = data
    for part in [*parents, last]:
        known = [str(at) for at in range(len(table))] if isinstance(table, list) else table
        if not isinstance(known, dict | list) or part not in known:
            names = known if isinstance(known, dict | list) else []
            problems.append(unknown(f"drop {key[:80]}", "key", part, names))
            return None
        at = int(part) if isinstance(table, list) else part
        if part is last:
            return table, at
        table = table[at]
    return None
