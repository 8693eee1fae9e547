"""Keys of a plan that can be varied, for the shell's completion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.batch.experiment import NOT_RUN
from orchestrator.plan import Plan
from orchestrator.registry import Registry


def keys_of(plan: Plan) -> list[str]:
    """Names of the plan's sweep, then the dotted keys of all values of its resolved tables."""
    names = list(plan.sweep.names) if plan.sweep else []
    table = plan.check(Registry.load()).plan.to_table()
    tops = {key: value for key, value in table.items() if key not in (*NOT_RUN, "name", "phases")}
    return [*names, *_leaves(tops, "")]


def _leaves(value: Any, above: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _leaves(below, f"{above}.{key}" if above else key)
    elif isinstance(value, list):
        for at, below in enumerate(value):
            if isinstance(below, dict):
                yield from _leaves(below, f"{above}[{at}]")
    else:
        yield above
