"""A plan is made small: everything that a finding does not need is taken away, numbers are halved.

hypothesis shrinks what it drew by its own choices; this goes on with the plan itself, so that it is
short to read, and works for plans that nobody drew.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Table = dict[str, Any]
Path = tuple[Any, ...]

NEEDED = {("name",), ("duration",), ("nodes",), ("links",), ("traffic",)}
MOST_TRIES = 600
LEAST_DURATION = 10**6


def shrunk(table: Table, still: Callable[[Table], bool], tries: int = MOST_TRIES) -> Table:
    """The smallest plan that was come by, step by step, of which `still` is true."""
    left = tries
    smaller = True
    while smaller:
        smaller = False
        for candidate in candidates(table):
            if left == 0:
                return table
            left -= 1
            if still(candidate):
                table, smaller = candidate, True
                break
    return table


def candidates(table: Table) -> Iterator[Table]:
    """Plans that are a little smaller: what takes most away comes first."""
    for name in list(table.get("traffic", {})):
        if len(table["traffic"]) > 1:
            yield _without(table, ("traffic", name))
    for name in list(table.get("nodes", {})):
        yield _without_node(table, name)
    for path in _paths(table):
        if (path not in NEEDED and len(path) > 1) or path in (("timeline",), ("seed",)):
            yield _without(table, path)
    if table["duration"] >= 2 * LEAST_DURATION:
        for share in (2, 10):
            kept = table["duration"] * (share - 1) // share if share > 2 else table["duration"] // 2
            yield _with(table, ("duration",), kept)
    for path in _paths(table):
        value = _at(table, path)
        if isinstance(value, int) and not isinstance(value, bool) and value > 1 and len(path) > 1:
            yield _with(table, path, value // 2)


def _paths(value: Any, here: Path = ()) -> Iterator[Path]:
    """Every key, those of tables before what is in them."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list) and here[:1] == ("timeline",):
        items = enumerate(value)
    for key, inner in items:
        yield (*here, key)
        yield from _paths(inner, (*here, key))


def _at(table: Any, path: Path) -> Any:
    for key in path:
        table = table[key]
    return table


def _with(table: Table, path: Path, value: Any) -> Table:
    made = copy.deepcopy(table)
    _at(made, path[:-1])[path[-1]] = value
    return made


def _without(table: Table, path: Path) -> Table:
    made = copy.deepcopy(table)
    del _at(made, path[:-1])[path[-1]]
    return made


def _without_node(table: Table, name: str) -> Table:
    """Without a node, its links and its traffic; a switch's two neighbours are joined instead."""
    made = copy.deepcopy(table)
    del made["nodes"][name]
    beside = [link for link in made["links"].values() if name in link["ends"]]
    made["links"] = {key: link for key, link in made["links"].items() if name not in link["ends"]}
    others = [end for link in beside for end in link["ends"] if end != name]
    if len(others) == 2 and others[0] != others[1]:
        made["links"]["l"] = {**beside[0], "ends": others}
    made["traffic"] = {
        key: entry
        for key, entry in made["traffic"].items()
        if name not in (entry["from"], entry["to"])
    }
    return made
