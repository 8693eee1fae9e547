"""Overlay of one table over another."""

from __future__ import annotations

from typing import Any

from orchestrator.errors import Problem
from orchestrator.plan import former_names, name_ranges
from orchestrator.plan.expansion_budget import MOST_TEMPLATES
from orchestrator.plan.input_problems import Clash, shown, unknown
from orchestrator.plan.name_ranges import Lists, NoRange


def remove_keys(data: dict[str, Any], without: Any, lists: Lists, problems: list[Problem]) -> None:
    """Removes keys from `data`, whose tables are copied on the way."""
    if without is None:
        return
    if not isinstance(without, list) or not all(isinstance(path, str) for path in without):
        accepted = "a list of keys, such as ['expect', 'nodes.h1'], is expected"
        problems.append(Problem("without", shown(without), accepted))
        return
    for at, text in enumerate(without):
        try:
            found = name_ranges.spread(text, lists)
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


SPEAK_OF = {
    "expect": ("metric", "of", "phase", "relative_to"),
    "figure": ("title", "panel", "y", "kind"),
    "mutant": ("name",),
}
"""Lists whose entries go over one another, and the keys that say which."""


def over(below: Any, above: Any) -> Any:
    """`below` with what `above` says on top: tables go together, all else is replaced."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    merged = dict(below)
    plugin = above.get("plugin", below.get("plugin"))
    for key, value in above.items():
        for other in former_names.other_names(key, plugin) - above.keys():
            merged.pop(other, None)
        merged[key] = over(merged[key], value) if key in merged else value
    return merged


def listed_over(section: str, below: list[Any], above: list[Any]) -> list[Any]:
    """Steps come behind those of the base; an expectation or a figure goes over the one it speaks
    of, a mutant over the one of its name."""
    if section not in SPEAK_OF:
        return [*below, *above]
    keys = SPEAK_OF[section]
    result = list(below)
    places = {_speaks_of(table, keys): at for at, table in enumerate(below)}
    for table in above:
        at = places.get(_speaks_of(table, keys)) if isinstance(table, dict) else None
        if at is None:
            result.append(table)
        else:
            result[at] = over(result[at], table)
    return result


def _speaks_of(table: Any, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Key by which two entries of a list are the same one."""
    return tuple(str(table.get(key)) for key in keys) if isinstance(table, dict) else ()


# [templates.X]: a table that others extend by `like`, written once.
#
# `like = "X"` in a node, link, traffic entry, phase, step, expectation, figure or program lays it
# over the template: tables within it go together, own keys win. A template may be like another.

LIKE = "like"


class Templates:
    """The templates of a plan and of what it is based on, and which of them were used."""

    def __init__(self, tables: dict[str, Any], problems: list[Problem]) -> None:
        self._tables, self._problems = tables, problems
        self._whole: dict[str, dict[str, Any]] = {}
        self.used: set[str] = set()
        for name, table in tables.items():
            if not isinstance(table, dict):
                problems.append(Problem(f"templates.{name}", shown(table), "a table is expected"))

    def laid_under(self, table: Any, where: str, name: object = None) -> Any:
        """`table` over the template that it is like, or over the one of that `name`."""
        if not isinstance(table, dict) or LIKE not in table:
            return table
        own = {key: value for key, value in table.items() if key != LIKE}
        return over(self._find(name or table[LIKE], f"{where}.{LIKE}", ()), own)

    def _find(self, name: object, where: str, above: tuple[str, ...]) -> dict[str, Any]:
        """A template whole: over the one that it is like. `above` are those that led here."""
        if not isinstance(name, str):
            self._problems.append(Problem(where, shown(name), "the name of a template is expected"))
            return {}
        if name not in self._tables:
            self._problems.append(unknown(where, "template", name, self._tables))
            return {}
        self.used.add(name)
        if name in above or len(above) >= MOST_TEMPLATES:
            way = " is like ".join((*above[-3:], name))
            text = f"at most {MOST_TEMPLATES} templates, without a circle, are expected"
            self._problems.append(Clash(where, name, f"{way}; {text}"))
            return {}
        if name not in self._whole:
            table = self._tables[name]
            table = table if isinstance(table, dict) else {}
            below: dict[str, Any] = {}
            if LIKE in table:
                below = self._find(table[LIKE], f"templates.{name}.{LIKE}", (*above, name))
            own = {key: value for key, value in table.items() if key != LIKE}
            self._whole[name] = over(below, own)
        return self._whole[name]
