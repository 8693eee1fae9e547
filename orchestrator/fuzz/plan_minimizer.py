"""Plan minimiser: removes all that a finding does not need and halves numbers.

hypothesis shrinks what it drew by its own choices; this goes on with the plan itself, so that it is
short to read, and works for plans that were written by hand. What takes many frames to show takes
fewer where a threshold or a buffer is smaller: so the shortest run is also searched with those at
their least, though the plan then has a key more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from annotated_types import Ge, Gt

from orchestrator.algorithm import Algorithm
from orchestrator.plan.plugin_catalog import tables

Table = dict[str, Any]
Path = tuple[Any, ...]

NEEDED = {("name",), ("duration",), ("nodes",), ("links",), ("traffic",)}
MOST_TRIES = 600
LEAST_DURATION = 10**6
SHORTER = ((1, 10), (1, 4), (1, 2))
"""Parts of a duration that are tried together with something that has effects come earlier."""
LONGER = (2, 4, 8)
"""Times a duration, for a plan with less traffic."""
SLOWER = (2, 4, 10, 40)
"""Parts of the slowest link's rate at which a source may show it with fewer frames."""
FEW_FRAMES = 20
"""A step that takes something away may leave so many: with more it must not add any."""
LEAST_BUFFERS = (1_500, 3_000)
LEAST_RATE = 10**6


def minimized(
    table: Table,
    frames: Callable[[Table], int | None],
    tries: int = MOST_TRIES,
    algorithms: tuple[Algorithm, ...] = (),
) -> Table:
    """The smallest plan that was come by, step by step, that still shows what is looked for.

    `frames` says how many frames a plan has that does, and None of any other. `algorithms` are
    those whose parameters are also tried at their least, where a plan leaves them as they are.
    """
    place = failed = 0
    most = frames(table)
    while tries > 0 and most is not None:
        every = list(candidates(table, algorithms))
        if failed >= len(every):
            break
        tries -= 1
        place %= len(every)
        candidate, may_have_more = every[place]
        found = frames(candidate)
        allowed = max(most, FEW_FRAMES) if may_have_more else most - 1
        if found is not None and found <= allowed:
            table, most, failed = candidate, found, 0
        else:
            place, failed = place + 1, failed + 1
    return table


def candidates(
    table: Table, algorithms: tuple[Algorithm, ...] = ()
) -> Iterator[tuple[Table, bool]]:
    """Plans that are a little smaller: what takes most away comes first. With each whether it is
    smaller however many frames it has; of those that are not, some last longer."""
    for name in list(table.get("traffic", {})):
        if len(table["traffic"]) > 1:
            without = _without(table, ("traffic", name))
            yield without, True
            for times in LONGER:
                yield _with(without, ("duration",), times * table["duration"]), False
    for name in list(table.get("nodes", {})):
        yield _without_node(table, name), True
    for shorter in _shorter(table):
        yield shorter, True
    for path in _paths(table):
        if (path not in NEEDED and len(path) > 1) or path in (("timeline",), ("seed",)):
            yield _without(table, path), True
    for earlier in _earlier(table, algorithms):
        for part, whole in SHORTER:
            if table["duration"] * part // whole >= LEAST_DURATION:
                shorter = _with(earlier, ("duration",), table["duration"] * part // whole)
                yield shorter, False
    for slower in _slower(table, algorithms):
        yield slower, False
    for path in _paths(table):
        value = _at(table, path)
        if isinstance(value, int) and not isinstance(value, bool) and value > 1 and len(path) > 1:
            yield _with(table, path, value // 2), True


def _shorter(table: Table) -> Iterator[Table]:
    if table["duration"] >= 2 * LEAST_DURATION:
        for part, whole in ((1, 2), (3, 4), (9, 10)):
            yield _with(table, ("duration",), table["duration"] * part // whole)


def _earlier(table: Table, algorithms: tuple[Algorithm, ...]) -> Iterator[Table]:
    """The same with one threshold, buffer or rate at its least."""
    known = {(one.kind, one.name): one for one in algorithms}
    for kind, where, used in tables(table):
        algorithm = known.get((kind, used.get("plugin", "")))
        holder = tuple(where.split("."))
        if algorithm is None or not _has_key(table, holder):
            continue
        for name, field in algorithm.params.model_fields.items():
            low = least_of(field)
            if low is not None and used.get(name) != low and field.annotation is int:
                yield _with(table, (*holder, name), low)
    for name, node in table["nodes"].items():
        if node.get("kind") == "switch":
            for least in LEAST_BUFFERS:
                yield _with(table, ("nodes", name, "buffer"), least)
    for name, link in table["links"].items():
        if isinstance(link.get("rate"), int) and link["rate"] >= 10 * LEAST_RATE:
            yield _with(table, ("links", name, "rate"), link["rate"] // 10)


def _slower(table: Table, algorithms: tuple[Algorithm, ...]) -> Iterator[Table]:
    """The same with a source that leaves room on its way: what hides behind a full link shows."""
    paced = {
        one.name
        for one in algorithms
        if one.kind == "traffic" and "rate" in one.params.model_fields
    }
    rates = [link["rate"] for link in table["links"].values() if isinstance(link["rate"], int)]
    for name, entry in table["traffic"].items():
        if entry.get("plugin") in paced and rates:
            for part in SLOWER:
                yield _with(table, ("traffic", name, "rate"), max(min(rates) // part, 1))


def least_of(field: Any) -> int | None:
    """The smallest value of a parameter, where its model declares one."""
    for mark in field.metadata:
        if isinstance(mark, Ge) and isinstance(mark.ge, int):
            return mark.ge
        if isinstance(mark, Gt) and isinstance(mark.gt, int):
            return mark.gt + 1
    return None


def _has_key(table: Any, path: Path) -> bool:
    for key in path:
        if not isinstance(table, dict) or key not in table:
            return False
        table = table[key]
    return True


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
    beside = [link for link in made["links"].values() if name in link.get("ends", ())]
    made["links"] = {key: link for key, link in made["links"].items() if link not in beside}
    others = [end for link in beside for end in link["ends"] if end != name]
    if len(others) == 2 and others[0] != others[1]:
        made["links"]["l"] = {**beside[0], "ends": others}
    made["traffic"] = {
        key: entry
        for key, entry in made["traffic"].items()
        if name not in (entry.get("from"), entry.get("to"))
    }
    return made
