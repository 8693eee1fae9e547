"""[templates.X]: a table that others extend by `like`, written once.

`like = "X"` in a node, link, traffic entry, phase, step, expectation, figure or program lays it
over the template: tables within it go together, own keys win. A template may be like another.
"""

from __future__ import annotations

from typing import Any

from orchestrator.errors import Problem
from orchestrator.plan.budget import MOST_TEMPLATES
from orchestrator.plan.merge import over
from orchestrator.plan.mistakes import Clash, shown, unknown

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
