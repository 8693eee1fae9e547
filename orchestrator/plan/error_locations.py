"""Error locations: file and line of a plan's mistake, through bases, ranges and templates.

The data of a plan is checked when it is expanded. To find the way back it is expanded again, with
a mark in every table that is written: what came of a table has its mark, and those of the
templates and of the bases that went into it.
"""

from __future__ import annotations

import re
import secrets
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any

from tree_sitter import Language, Node, Parser
from tree_sitter_toml import language

from orchestrator.errors import BadInput
from orchestrator.plan.base_plans import Layer
from orchestrator.plan.range_expansion import LISTED, TABLES, compose

Path = tuple[str | int, ...]
DEEPEST = 100
"""Tables within tables; what lies deeper has the line of what it lies in."""
KEYS = ("bare_key", "quoted_key", "dotted_key")


def lines(text: str) -> dict[Path, int]:
    """Key path -> line, from 1. Of tables in a list, such as [[expect]], the path has the index.

    A table has the line of its header, or of the first key that leads through it.
    """
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    document = Parser(Language(language())).parse(text.encode("utf-8", "replace")).root_node
    _pairs(document, (), found, 0)
    for node in document.named_children:
        if node.type not in ("table", "table_array_element"):
            continue
        path = _in_last(_segments(node), counts)
        if node.type == "table_array_element":
            counts[path] = counts.get(path, 0) + 1
            _note(found, path, node)
            path = (*path, counts[path] - 1)
        _note(found, path, node)
        _pairs(node, path, found, 0)
    return found


def _pairs(table: Node, above: Path, found: dict[Path, int], depth: int) -> None:
    for pair in table.named_children:
        whole = pair.type == "pair" and len(pair.named_children) > 1
        if whole and depth < DEEPEST:
            path = (*above, *_segments(pair))
            _note(found, path, pair)
            _, *value = pair.named_children  # the key, the value; maybe a comment
            _value(value[0], path, found, depth + 1)


def _value(value: Node, path: Path, found: dict[Path, int], depth: int) -> None:
    if value.type == "inline_table":
        _pairs(value, path, found, depth)
    elif value.type == "array":
        elements = [node for node in value.named_children if node.type != "comment"]
        for index, element in enumerate(elements):
            if element.type == "inline_table":
                _note(found, (*path, index), element)
                _pairs(element, (*path, index), found, depth)


def _note(found: dict[Path, int], path: Path, node: Node) -> None:
    """Note the line of a path, and of what leads to it where that has none yet."""
    for length in range(1, len(path) + 1):
        found.setdefault(path[:length], node.start_point.row + 1)


def _in_last(parts: list[str], counts: dict[Path, int]) -> Path:
    """The path of a header: below a list of tables it means the last of them."""
    path: Path = ()
    for number, part in enumerate(parts):
        path = (*path, part)
        if path in counts and number < len(parts) - 1:
            path = (*path, counts[path] - 1)
    return path


def _segments(node: Node) -> list[str]:
    """The key of a pair or a header, part by part."""
    key = next((child for child in node.named_children if child.type in KEYS), None)
    return list(_words(key)) if key is not None else []


def _words(key: Node) -> Iterator[str]:
    if key.type == "dotted_key":
        for child in key.named_children:
            yield from _words(child)
        return
    text = (key.text or b"").decode("utf-8", "replace")
    if key.type == "quoted_key":
        text = str(tomllib.loads(f"key = {text}")["key"])
    yield text


OWN_TABLE, TEMPLATE = "own", "like"
SEGMENT = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
MOST = 100
"""Problems whose location is determined; more would not be read."""


def with_locations(error: BadInput, layers: Sequence[Layer]) -> BadInput:
    """The same error with a place for every problem that has one."""
    book = PlanLocations(layers)
    found = [
        problem if problem.at else replace(problem, at=book.location(problem.where, error.source))
        for problem in islice(error.problems, MOST)
    ]
    return BadInput(error.source, [*found, *error.problems[MOST:]]) if found else error


class PlanLocations:
    """The lines of all layers of a plan, the lowest first, itself last."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._read: dict[int, Mapping[Path, int]] = {}
        self._mark = f"mark-{secrets.token_hex(8)}"
        """Begins the keys that are marks; no plan can have it by chance or on purpose."""

    def location(self, where: str, source: str) -> str:
        """`file:line` of a key path as error messages write it; empty if no layer has the key."""
        path = segments(where)
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
        for kind, layer, index in sorted(
            marks, key=lambda mark: (mark[0] == TEMPLATE, -int(mark[1]))
        ):
            of = "templates" if kind == TEMPLATE else str(section)
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


def segments(where: str) -> Path:
    """The parts of a key path: timeline[0].at is ("timeline", 0, "at")."""
    found = SEGMENT.finditer(where)
    return tuple(int(match[1]) if match[1] is not None else match[2] for match in found)


def _marked(number: int, layer: Layer, mark: str) -> Layer:
    """A layer with a mark in each of its tables that may be made into others."""
    data = dict(layer.data)
    for section in (*TABLES, *LISTED, "templates"):
        whose = f"{mark}/{TEMPLATE if section == 'templates' else OWN_TABLE}/{number}"
        table = data.get(section)
        if isinstance(table, dict):
            named = enumerate(table.items())
            data[section] = {k: _with(v, f"{whose}/{at}") for at, (k, v) in named}
        elif isinstance(table, list):
            data[section] = [_with(v, f"{whose}/{at}") for at, v in enumerate(table)]
    return replace(layer, data=data)


def _with(table: Any, mark: str) -> Any:
    return {**table, mark: ""} if isinstance(table, dict) else table
