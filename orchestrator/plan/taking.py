"""`without = ["expect", "nodes.h{3..4}"]`: keys that a plan removes from its base."""

from __future__ import annotations

from typing import Any

from orchestrator.errors import Problem
from orchestrator.plan import ranges
from orchestrator.plan.mistakes import shown, unknown
from orchestrator.plan.ranges import Lists, NoRange


def take_out(data: dict[str, Any], without: Any, lists: Lists, problems: list[Problem]) -> None:
    """Removes keys from `data`, whose tables are copied on the way."""
    if without is None:
        return
    if not isinstance(without, list) or not all(isinstance(path, str) for path in without):
        accepted = "a list of keys, such as ['expect', 'nodes.h1'], is expected"
        problems.append(Problem("without", shown(without), accepted))
        return
    for at, text in enumerate(without):
        try:
            found = ranges.spread(text, lists)
        except NoRange as error:
            problems.append(Problem(f"without[{at}]", shown(text), str(error)))
            continue
        for path in found:
            _remove(data, path.split("."), f"without[{at}]", problems)


def _remove(data: dict[str, Any], parts: list[str], where: str, problems: list[Problem]) -> None:
    for depth, part in enumerate(parts):
        if part not in data:
            problems.append(unknown(where, "key of the base", ".".join(parts[: depth + 1]), data))
            return
        if depth == len(parts) - 1:
            del data[part]
        elif not isinstance(data[part], dict):
            accepted = f"there is nothing below {'.'.join(parts[: depth + 1])}"
            problems.append(Problem(where, shown(".".join(parts)), accepted))
            return
        else:
            data[part] = dict(data[part])
            data = data[part]
