"""Path merging behind a statement, where following every path would not end.

A name or field that the paths leave with different terms becomes one of them, by an unconstrained
choice, with the hull of their bounds. So the work grows with the statements of a kernel, not with
the paths through all of them. Returns and ends of loop rounds stay separate.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firmware.proof.interval_analysis import PathFacts, hull
from firmware.proof.path_enumeration import LoopExited, PathChoices, ReturnReached, explore
from firmware.proof.symbolic_state import Infeasible, State
from firmware.proof.term_graph import Interval, Term

LATE = "not all paths are followed in its time"
Follow = Any
"""Symbolic executor (firmware.proof.symbolic_execution), which calls this module for its
statements."""


@dataclass
class _StatementExit:
    """Exit of a statement, with its state."""

    kind: str
    state: State
    names: dict[str, Any]
    returned: Any = None


def merge_paths(at: Follow, node: ast.stmt) -> None:
    """Execute a statement on all paths, and continue with one merged path per kind of exit."""
    prefix = at.choices.made[: at.choices.place]
    key = ("join", id(node), at.depth, at.shared.quiet, *prefix)
    ways = at.shared.loops.get(key)
    if ways is None:
        ways = at.shared.loops[key] = _statement_exits(at, node)
    if not ways:
        raise Infeasible
    way = ways[at.choices.choose(len(ways)) if len(ways) > 1 else 0]
    vars(at.state).update(vars(way.state.copy()))
    at.names.clear()
    at.names.update(way.names)
    if way.kind == "returned":
        raise ReturnReached(way.returned)
    if way.kind != "behind":
        raise LoopExited(way.kind == "again")


def _statement_exits(at: Follow, node: ast.stmt) -> list[_StatementExit]:
    found: dict[str, list[_StatementExit]] = {}
    at.shared.joins += 1
    inner = (*at.depth, "join", at.shared.joins)

    def walk(choices: PathChoices) -> None:
        if time.process_time() > at.shared.until:
            raise at.unknown(node, LATE)
        inside = type(at)(at.shared, at.state.copy(), choices, at.source, dict(at.names), inner)
        way = _StatementExit("behind", inside.state, inside.names)
        try:
            inside.step(node)
        except ReturnReached as returned:
            way.kind, way.returned = "returned", returned.value
        except LoopExited as left:
            way.kind = "again" if left.again else "left"
        found.setdefault(way.kind, []).append(way)

    explore(walk)
    return [_merged_exit(at, kind, ways) for kind, ways in found.items()]


def _merged_exit(at: Follow, kind: str, ways: list[_StatementExit]) -> _StatementExit:
    if len(ways) == 1:
        return ways[0]
    choice = at.shared.fresh("choice", (0, len(ways) - 1))
    known = _common_facts([way.state.known for way in ways])

    def join(values: list[Term]) -> Term:
        return _joined_term(at, choice, known, ways, values)

    state = _state(at, known, ways, join)
    names = _names(at, ways, join)
    values = [way.returned for way in ways]
    returned = values[0]
    if any(value is not returned for value in values):
        returned = join([at.number(value, ast.Pass()) for value in values])
    return _StatementExit(kind, state, names, returned)


def _common_facts(every: list[PathFacts]) -> PathFacts:
    """Facts common to all paths."""
    first, *others = every
    known = PathFacts()
    known.shares = first.shares
    for condition in first.assumed:
        if all(other.holds(condition) for other in others):
            known.note(condition)
    for term, bounds in first.narrowed():
        for other in others:
            bounds = hull(bounds, other.bounds(term))
        known.narrow(term, bounds)
    return known


def _joined_term(
    at: Follow, choice: Term, known: PathFacts, ways: list[_StatementExit], values: list[Term]
) -> Term:
    if all(value is values[0] for value in values):
        return values[0]
    make, bounds = at.terms.make, list[Interval]()
    chosen = values[-1]
    for number in range(len(values) - 2, -1, -1):
        here = make("eq", choice, at.terms.const(number))
        chosen = make("ite", here, values[number], chosen)
    for way, value in zip(ways, values, strict=True):
        bounds.append(way.state.known.bounds(value))
    known.narrow(chosen, (min(low for low, _ in bounds), max(high for _, high in bounds)))
    return chosen


def _names(
    at: Follow, ways: list[_StatementExit], join: Callable[[list[Term]], Term]
) -> dict[str, Any]:
    """Local names that have a value on all paths."""
    names: dict[str, Any] = {}
    for name, value in ways[0].names.items():
        values = [way.names.get(name) for way in ways]
        if all(one is value for one in values):
            names[name] = value
        elif all(isinstance(one, Term) for one in values):
            names[name] = join([at.number(one, ast.Pass()) for one in values])
    return names


def _state(
    at: Follow, known: PathFacts, ways: list[_StatementExit], join: Callable[[list[Term]], Term]
) -> State:
    states = [way.state for way in ways]
    state = State(known)
    before = len(at.state.put)  # writes before the statement stay, in order
    state.put, new = list(at.state.put), list[Any]()
    for one in states:
        new += [row for row in one.put[before:] if row not in new]
    state.put += new
    for one in states:
        state.often |= one.often
        state.loose = state.loose or one.loose
        state.read = max(state.read, one.read)
    for key in dict.fromkeys(key for one in states for key in one.store):
        record = at.shared.records[key[0]]
        values = [one.store.get(key) for one in states]
        if record.index is not None and any(value is not values[0] for value in values):
            state.store[key] = at.shared.fresh(".".join(key), record.bounds(key[1]))
            continue
        begin = at.terms.var(".".join(key), record.bounds(key[1]))
        state.store[key] = join([begin if value is None else value for value in values])
    for place, rows in states[0].cells.items():
        same = [row for row in rows if all(_has(one, place, row) for one in states[1:])]
        state.cells[place] = same
    return state


def _has(state: State, place: Any, row: Any) -> bool:
    return any(one[0] == row[0] and one[1] is row[1] for one in state.cells.get(place, []))
