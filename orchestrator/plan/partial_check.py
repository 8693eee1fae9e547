"""Partial check of a plan with mistakes: reports errors between its tables in the same run.

What is wrong is left out of a copy, or replaced where it is required, and the copy is checked.
A copy that would have to lose a node, link or traffic entry is not looked at: most of what it
then lacks would be a consequence.
"""

from __future__ import annotations

import re
from typing import Any

from orchestrator.errors import Problem
from orchestrator.plan.input_problems import dotted

Path = list[int | str]

_MOST = 50
_LISTS = ("timeline", "expect", "figure", "mutant")
_PLUGINS = ("reaction_point", "congestion_point", "pause", "delay_line")
_STAND_INS: dict[str, Any] = {"name": "plan", "duration": "60min", "rate": "1Gb/s"}
"""Values for what is required, harmless to the checks that follow."""
_ANY_METRIC = "frames.sent"


def without_mistakes(data: dict[str, Any], wrong: list[Path]) -> dict[str, Any] | None:
    """A copy of a plan's data without what is wrong; None when too much would be missing."""
    if len(wrong) > _MOST:
        return None
    mended = dict(data)
    for path in wrong:
        section = path[0] if path else None
        if len(path) >= 2 and section in _LISTS:
            continue
        if len(path) >= 2 and section == "phases":
            mended["phases"] = {**mended["phases"], path[1]: {"from": "0s", "to": "60min"}}
        elif section in ("nodes", "links", "traffic") and not _can_do_without(path):
            return None
        elif section is not None:
            _replace(mended, path[:1] if section == "capture" else path)
    for name in _LISTS:
        if isinstance(mended.get(name), list):
            kept = _valid_indices(mended[name], name, wrong)
            mended[name] = [
                _identifies_entry(mended[name][index], name, index, wrong) for index in kept
            ]
    return mended


def remaining_problems(
    problems: list[Problem], data: dict[str, Any], wrong: list[Path]
) -> list[Problem]:
    """Those problems of the mended copy that the plan itself has, at their place in the plan."""
    places = [dotted(path) for path in wrong if not _concerns_expectation(path)]
    mended = [path[1] for path in wrong if len(path) > 1 and path[0] == "expect"]
    places += [f"expect[{index}].{bound}" for index in mended for bound in ("min", "max")]
    if "duration" in places:
        places += ["sample_interval", "capture"]
    moved = [_moved(problem, data, wrong) for problem in problems]
    named = _metrics_of_wrong_expectations(data, wrong)
    moved = [p for p in moved if not (MISSES.match(p.where) and p.value in named)]
    return [p for p in moved if not any(_at_or_below(p.where, place) for place in places)]


MISSES = re.compile(r"mutant\[\d+\]\.expected_misses\b")
"""Key by which a mutant names expectations by their metrics."""


def _metrics_of_wrong_expectations(data: dict[str, Any], wrong: list[Path]) -> list[object]:
    """A mutant that names such a one is right once the expectation is mended."""
    numbers = {path[1] for path in wrong if len(path) > 1 and path[0] == "expect"}
    rows = [data["expect"][number] for number in numbers if isinstance(number, int)]
    return [row.get("metric") for row in rows if isinstance(row, dict)]


def _can_do_without(path: Path) -> bool:
    if len(path) < 3:
        return False
    required = ("kind", "ends", "from", "to", "plugin")
    return len(path) > 3 or path[2] not in required


def _replace(table: dict[str, Any], path: Path) -> None:
    """Takes the value at `path` out, copying the tables on the way; or puts a stand-in there."""
    for part in path[:-1]:
        child = table.get(part) if isinstance(part, str) else None
        if not isinstance(child, dict) or not isinstance(part, str):
            return
        table[part] = dict(child)
        table = table[part]
    last = path[-1]
    if not isinstance(last, str):
        return
    table.pop(last, None)
    required = len(path) == 1 or (path[0] == "links" and len(path) == 3)
    if last in _STAND_INS and required:
        table[last] = _STAND_INS[last]
    elif last in _PLUGINS and len(path) > 2:
        table[last] = {"plugin": "any"}
    elif last == "plugin" and len(path) > 3:
        table[last] = "any"


def _valid_indices(entries: list[Any], name: str, wrong: list[Path]) -> list[int]:
    """Indices of the entries of a list without a mistake of their own, or that can be mended."""
    bad = {path[1] for path in wrong if len(path) >= 2 and path[0] == name}
    return [
        index
        for index, entry in enumerate(entries)
        if index not in bad or (name == "expect" and _names_something(entry, index, wrong))
    ]


def _names_something(entry: Any, index: int, wrong: list[Path]) -> bool:
    """True if an expectation with a mistake says, all the same, what it is about."""
    named = isinstance(entry, dict) and isinstance(entry.get("of"), str)
    return named and ["expect", index, "of"] not in wrong


def _identifies_entry(entry: Any, name: str, index: int, wrong: list[Path]) -> Any:
    """An entry, or what names things in an expectation with a mistake: a phase, an entity."""
    if name != "expect" or all(path[:2] != ["expect", index] for path in wrong):
        return entry
    kept = {
        key: entry[key]
        for key in ("metric", "of", "phase")
        if key in entry and ["expect", index, key] not in wrong
    }
    return {"metric": _ANY_METRIC, **kept, "min": 0}


def _concerns_expectation(path: Path) -> bool:
    """A mistake of an expectation as a whole, such as that it has no bound."""
    return len(path) == 2 and path[0] == "expect"


def _moved(problem: Problem, data: dict[str, Any], wrong: list[Path]) -> Problem:
    """The problem with the index that its list entry has in the plan."""
    match = re.match(r"(timeline|expect|figure|mutant)\[(\d+)\](.*)", problem.where)
    if match is None:
        return problem
    name, index, rest = match.groups()
    original = _valid_indices(data[name], name, wrong)[int(index)]
    return type(problem)(f"{name}[{original}]{rest}", problem.value, problem.accepted)


def _at_or_below(where: str, place: str) -> bool:
    return where == place or where.startswith((f"{place}.", f"{place}["))
