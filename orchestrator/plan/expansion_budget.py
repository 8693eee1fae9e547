"""Budget of plan expansion: bounds on its cost, checked before expansion.

A few kilobytes of ranges can ask for millions of names. Every range, template and base asks here
first; what is beyond the budget ends in a sentence, with little made of it until then.
"""

from __future__ import annotations

from typing import Any

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import shown

MOST_ENTRIES = 20_000
"""Nodes, links, traffic entries, ... and expectations that ranges may make in all."""
MOST_OF_FABRICS = 40_000
"""Nodes and links that fabrics may make in all: a fat tree of k = 32 has 34 048."""
MOST_NAMES = 200_000
"""Names that ranges in lists (from, to, groups, ports) may stand for in all."""
MOST_VALUES = 4_000_000
"""Values, or 64 characters of them, in all the tables that are made."""
DEEPEST = 100
"""Tables within tables."""
MOST_TEMPLATES = 16
"""Templates that build on one another."""
MOST_BASES = 8
"""Plans on top of one another."""


class Budget:
    """Remaining budget of a plan's expansion. Every method raises BadInput when it is used up."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._made = {"entries": 0, "names": 0, "values": 0, "nodes and links": 0}

    def entries(self, where: str, count: int, table: Any) -> None:
        """`count` tables like `table` are about to be made."""
        self._take(where, "entries", count, MOST_ENTRIES)
        self._take(where, "values", count * self.size(where, table), MOST_VALUES)

    def fabric(self, where: str, count: int, table: Any) -> None:
        """A fabric, said by `table`, is about to make so many nodes and links."""
        self._take(where, "nodes and links", count, MOST_OF_FABRICS)
        self._take(where, "values", count * self.size(where, table), MOST_VALUES)

    def values(self, where: str, count: int) -> None:
        """A table of this size, one of those counted, is about to be made of a template."""
        self._take(where, "values", count, MOST_VALUES)

    def names(self, where: str, count: int) -> None:
        """`count` names are about to be made."""
        self._take(where, "names", count, MOST_NAMES)

    def size(self, where: str, value: Any, depth: int = 0) -> int:
        """Values in a table; a text counts once for every 64 characters."""
        if depth > DEEPEST:
            text = f"tables are nested at most {DEEPEST} deep"
            raise BadInput(self._source, [Problem(where, "a deeper one", text)])
        if isinstance(value, dict):
            return 1 + sum(
                self.size(where, part, depth + 1) + self.size(where, key, depth + 1)
                for key, part in value.items()
            )
        if isinstance(value, list):
            return 1 + sum(self.size(where, part, depth + 1) for part in value)
        return 1 + len(value) // 64 if isinstance(value, str) else 1

    def _take(self, where: str, what: str, count: int, most: int) -> None:
        self._made[what] += count
        if self._made[what] > most:
            accepted = f"ranges, templates and fabrics may make {most} {what} in all"
            raise BadInput(self._source, [Problem(where, shown(self._made[what]), accepted)])
