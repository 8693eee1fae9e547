"""Memoisation of facts about a plan, valid because plans are immutable."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from orchestrator.plan.model import PlanModel

Found = TypeVar("Found")


def once(find: Callable[[PlanModel], Found]) -> Callable[[PlanModel], Found]:
    """Decorator of a function of a plan's nodes and links that runs once per plan.

    All callers get the same object, which none may change. A copy of a plan with another seed or
    other expectations has the same nodes and links, and what was found out about them.
    """
    name = f"{find.__module__}.{find.__qualname__}"

    @functools.wraps(find)
    def found(plan: PlanModel) -> Found:
        if name not in plan.kept:
            plan.kept[name] = find(plan)
        kept: Found = plan.kept[name]
        return kept

    return found
