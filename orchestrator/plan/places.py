"""Error locations: file and line of a plan's mistake, through bases, ranges and templates.

The data of a plan is checked when it is expanded. To find the way back it is expanded again, with
a mark in every table that is written: what came of a table has its mark, and those of the
templates and of the bases that went into it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any

from orchestrator.errors import BadInput
from orchestrator.plan.expand import LISTED, TABLES, compose
from orchestrator.plan.layers import Layer
from orchestrator.plan.lines import Path, lines

OWN, LIKE = "own", "like"
PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
MOST = 100
"""Problems whose location is determined; more would not be read."""


def placed(error: BadInput, layers: Sequence[Layer]) -> BadInput:
    """The same error with a place for every problem that has one."""
    book = _Book(layers)
    found = [
        problem if problem.at else replace(problem, at=book.place(problem.where, error.source))
        for problem in islice(error.problems, MOST)
    ]
    return BadInput(error.source, [*found, *error.problems[MOST:]]) if found else error


class _Book:
    """The lines of all layers of a plan, the lowest first, itself last."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._read: dict[int, Mapping[Path, int]] = {}
        self._mark = f"mark-{secrets.token_hex(8)}"
        """Begins the keys that are marks; no plan can have it by chance or on purpose."""

    def place(self, where: str, source: str) -> str:
        """file:line of a key path as messages have it; nothing where none is known."""
        path = parts(where)
        for number, written in self._written(path, source):
            table = self._lines(number)
            for length in range(len(written), 0, -1):
                if written[:length] in table:
                    return f"{self._layers[number].file}:{table[written[:length]]}"
        return ""

    def _written(self, path: Path, source: str) -> Iterator[tuple[int, Path]]:
        """(layer, path in it) of what a path may mean, the likeliest first."""
        made = self._made(path)
        rest = path[2:]
        whole = [(n, (*head, *rest)) for n, head in made if (*head, *rest) in self._lines(n)]
        yield from whole or made
        sources = [layer.source for layer in self._layers]
        first = [sources.index(source)] if source in sources[:-1] else []
        every = [*first, *reversed(range(len(sources)))]
        yield from ((number, path) for number in every if path in self._lines(number))
        yield from ((number, path) for number in every)

    def _made(self, path: Path) -> list[tuple[int, Path]]:
        """The tables that went into an expanded one: its own before those that it is like."""
        if len(path) < 2 or self._expanded is None:
            return []
        section, name = path[:2]
        try:
            table = self._expanded[section][name]
        except (KeyError, IndexError, TypeError):
            return []
        if not isinstance(table, dict):
            return []
        marks = [key.split("/")[1:] for key in table if str(key).startswith(self._mark)]
        heads: list[tuple[int, Path]] = []
        for kind, layer, index in sorted(marks, key=lambda mark: (mark[0] == LIKE, -int(mark[1]))):
            of = "templates" if kind == LIKE else str(section)
            data = self._layers[int(layer)].data[of]
            key = int(index) if isinstance(data, list) else list(data)[int(index)]
            heads.append((int(layer), (of, key)))
        return heads

    def _lines(self, number: int) -> Mapping[Path, int]:
        if number not in self._read:
            self._read[number] = lines(self._layers[number].text)
        return self._read[number]

    @cached_property
    def _expanded(self) -> Any:
        """The plan's data with marks; None when it cannot be expanded."""
        try:
            return compose([_marked(*of, self._mark) for of in enumerate(self._layers)])
        except BadInput:
            return None


def parts(where: str) -> Path:
    """The parts of a key path: timeline[0].at is ("timeline", 0, "at")."""
    found = PART.finditer(where)
    return tuple(int(match[1]) if match[1] is not None else match[2] for match in found)


def _marked(number: int, layer: Layer, mark: str) -> Layer:
    """A layer with a mark in each of its tables that may be made into others."""
    data = dict(layer.data)
    for section in (*TABLES, *LISTED, "templates"):
        whose = f"{mark}/{LIKE if section == 'templates' else OWN}/{number}"
        table = data.get(section)
        if isinstance(table, dict):
            named = enumerate(table.items())
            data[section] = {k: _with(v, f"{whose}/{at}") for at, (k, v) in named}
        elif isinstance(table, list):
            data[section] = [_with(v, f"{whose}/{at}") for at, v in enumerate(table)]
    return replace(layer, data=data)


def _with(table: Any, mark: str) -> Any:
    return {**table, mark: ""} if isinstance(table, dict) else table
