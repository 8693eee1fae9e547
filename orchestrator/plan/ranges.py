"""Many things of one kind, written once: `[nodes."h{1..640}"]`, `from = "h{1..640}"`.

A range in the name of a node, link or traffic entry makes one for every number; `{}` in its texts
and keys is that number, `{+1}` and `{-1}` the next and the last one (round at the ends of the
range). A range in `from` or `to` of a traffic entry, in a group, or in an element of their lists,
stands for the list of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from orchestrator.errors import BadInput, Problem

RANGE = re.compile(r"\{(\d{1,6})\.\.(\d{1,6})\}")
NUMBER = re.compile(r"\{([+-]\d{1,6})?\}")
SECTIONS = ("nodes", "links", "traffic")
LONGEST = 4096


def expand(source: str, data: dict[str, Any]) -> dict[str, Any]:
    """`data` of a plan with every range written out. Raises BadInput."""
    problems: list[Problem] = []
    result = dict(data)
    for section in SECTIONS:
        tables = data.get(section)
        if isinstance(tables, dict):
            result[section] = _section(section, tables, problems)
    groups = data.get("groups")
    if isinstance(groups, dict):
        result["groups"] = {
            name: _names(f"groups.{name}", members, problems) for name, members in groups.items()
        }
    if problems:
        raise BadInput(source, problems)
    return result


def _section(section: str, tables: dict[str, Any], problems: list[Problem]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, table in tables.items():
        for key, value in _entries(f"{section}.{name}", name, table, problems):
            if key in found:
                problems.append(Problem(f"{section}.{key}", key, "a name that is not taken yet"))
            found[key] = value
    if section == "traffic":
        for name, table in found.items():
            for end in ("from", "to"):
                if isinstance(table, dict) and end in table:
                    where = f"traffic.{name}.{end}"
                    table[end] = _names(where, table[end], problems)
    return found


def _entries(
    where: str, name: str, table: Any, problems: list[Problem]
) -> Iterator[tuple[str, Any]]:
    """(name, table) of every number in the range of a name; the name itself without a range."""
    numbers = _numbers(where, name, problems)
    if numbers is None:
        yield name, dict(table) if isinstance(table, dict) else table
        return
    for number in numbers:
        yield RANGE.sub(str(number), name, count=1), _filled(table, number, numbers)


def _numbers(where: str, text: str, problems: list[Problem]) -> range | None:
    """The numbers of the range in a text; None when it has none."""
    match = RANGE.search(text)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2])
    if not first <= last < first + LONGEST:
        accepted = f"a range from the smaller to the larger number, of at most {LONGEST}"
        problems.append(Problem(where, match[0], accepted))
        return range(0)
    return range(first, last + 1)


def _filled(value: Any, number: int, numbers: range) -> Any:
    """A copy of a value with the number put into its texts."""
    if isinstance(value, str):
        return NUMBER.sub(lambda match: str(_moved(number, match[1], numbers)), value)
    if isinstance(value, list):
        return [_filled(element, number, numbers) for element in value]
    if isinstance(value, dict):
        return {
            _filled(key, number, numbers): _filled(element, number, numbers)
            for key, element in value.items()
        }
    return value


def _moved(number: int, by: str | None, numbers: range) -> int:
    return numbers[(number - numbers[0] + int(by or 0)) % len(numbers)]


def _names(where: str, value: Any, problems: list[Problem]) -> Any:
    """Names with their ranges written out."""
    if isinstance(value, str):
        numbers = _numbers(where, value, problems)
        if numbers is None:
            return value
        return [RANGE.sub(str(number), value, count=1) for number in numbers]
    if isinstance(value, list):
        found: list[Any] = []
        for element in value:
            names = _names(where, element, problems)
            found += names if isinstance(names, list) else [names]
        return found
    return value
