"""Loops: unrolled where the rounds are few and constant, else bounded by an invariant.

In a loop that is not unrolled, the names and fields that a round changes are arbitrary within
bounds: the initial ones, widened until they are inductive, or the increment of a round times the
most rounds.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from firmware.proof.interval_analysis import hull
from firmware.proof.path_enumeration import LoopExited, PathChoices, ReturnReached, explore
from firmware.proof.symbolic_state import Infeasible, State
from firmware.proof.term_graph import LEAST, MOST, Interval, Term
from firmware.proof.widening import BoundsChange, bounds_after, change, widened

Follow = Any
"""Symbolic executor (firmware.proof.symbolic_execution), which calls this module for its loops."""
UNROLLED = 40
"""Most rounds of a loop that is unrolled."""
ROUNDS = 40
"""Most rounds of the search for bounds."""
LoopVariable = tuple[str, ...]
"""A local name, or a record's name and a field."""


@dataclass
class LoopExit:
    """A path out of a loop that `break` or `return` ends, or the state behind all rounds."""

    state: State
    names: dict[str, Any]
    returned: Any = None
    returns: bool = False


@dataclass
class _Loop:
    """Bounds and exits of a loop so far."""

    bounds: dict[LoopVariable, Interval] = field(default_factory=dict)
    counted: dict[LoopVariable, Interval] = field(default_factory=dict)
    """Bounds from the increment of a round; not inductive."""
    added: dict[LoopVariable, Interval] = field(default_factory=dict)
    """Increment of all rounds together, for these."""
    ways: list[LoopExit] = field(default_factory=list)
    changes: dict[LoopVariable, BoundsChange] = field(default_factory=dict)
    ends: dict[LoopVariable, Interval] = field(default_factory=dict)
    put: list[tuple[tuple[str, str], Term, Interval]] = field(default_factory=list)
    """Writes of rounds into arrays and into records that may alias."""


def execute_loop(at: Follow, node: ast.For | ast.While) -> None:
    """Execute a loop on the current path. Raises Untranslated."""
    if isinstance(node, ast.For) and not isinstance(node.iter, ast.Call):
        return _over_constants(at, node)
    if isinstance(node, ast.For):
        start, stop, step = _range(at, node)
        ends = [one.value for one in (start, stop, step) if one.op == "const"]
        if len(ends) == 3 and len(range(*ends)) <= UNROLLED and _straight(node):
            for number in range(*ends):
                at.assign(node.target, at.terms.const(number))
                at.block(node.body)
            return
        if step.op != "const" or step.value != 1:
            raise at.unknown(node, "of a loop that is not unrolled the step is 1")
        _bounded(at, node, start, stop)
    else:
        _bounded(at, node, None, None)


def _over_constants(at: Follow, node: ast.For) -> None:
    """Unroll a loop over a tuple of constants."""
    rows = at.value(node.iter)
    if not isinstance(rows, tuple):
        raise at.unknown(node, "a loop goes over a range or a tuple of constants")
    for row in rows:
        parts = tuple(at.wrap(one, node) for one in row) if isinstance(row, tuple) else row
        at.assign(node.target, parts if isinstance(parts, tuple) else at.wrap(parts, node))
        try:
            at.block(node.body)
        except LoopExited as left:
            if not left.again:
                return


def _straight(node: ast.For) -> bool:
    inner = [one for statement in node.body for one in ast.walk(statement)]
    forks = ast.If | ast.IfExp | ast.BoolOp | ast.For | ast.While | ast.Return | ast.Break
    return not any(isinstance(one, forks) for one in inner)


def _range(at: Follow, node: ast.For) -> tuple[Term, Term, Term]:
    call = node.iter
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise at.unknown(node, "a loop goes over a range")
    if call.func.id != "range" or not isinstance(node.target, ast.Name):
        raise at.unknown(node, "a loop goes over a range, with one name")
    given = [at.number(at.value(one), node) for one in call.args]
    zero, one = at.terms.const(0), at.terms.const(1)
    if len(given) == 1:
        return zero, given[0], one
    return given[0], given[1], given[2] if len(given) == 3 else one


def _bounded(at: Follow, node: ast.For | ast.While, start: Term | None, stop: Term | None) -> None:
    key = (
        node.lineno,
        at.source.file,
        at.depth,
        at.shared.quiet,
        *at.choices.made[: at.choices.place],
    )
    ways = at.shared.loops.get(key)
    if ways is None:
        ways = at.shared.loops[key] = _search(at, node, start, stop)
    if not ways:
        raise Infeasible
    way = ways[at.choices.choose(len(ways)) if len(ways) > 1 else 0]
    fresh = way.state.copy()
    at.state.known, at.state.store = fresh.known, fresh.store
    at.state.cells, at.state.put = fresh.cells, fresh.put
    at.state.loose, at.state.often = fresh.loose, fresh.often
    if way.returns:
        raise ReturnReached(way.returned)
    at.names.clear()
    at.names.update(way.names)


def _search(
    at: Follow, node: ast.For | ast.While, start: Term | None, stop: Term | None
) -> list[LoopExit]:
    """Search for inductive bounds; returns the exits under them."""
    times = None
    if start is not None and stop is not None:
        known = at.state.known
        times = max(known.bounds(at.terms.make("sub", stop, start))[1], 0)
    quiet, at.shared.quiet = at.shared.quiet, True
    loop = _Loop()
    try:
        for number in range(ROUNDS):
            _round(at, node, loop, start, stop)
            if not _wider(at, loop, times, number):
                break
        else:
            raise at.unknown(node, "no bounds were found that a round of this loop keeps")
    finally:
        at.shared.quiet = quiet
    return _round(at, node, loop, start, stop)


def _wider(at: Follow, loop: _Loop, times: int | None, number: int) -> bool:
    """Widen the bounds if a round exceeded them; returns whether it did."""
    wider = False
    for place, ends in loop.ends.items():
        mine = loop.bounds.get(place)
        if place in loop.counted:
            begun = _initial_bounds(at, place)
            again = bounds_after(begun, loop.changes[place], times or 0)
            if again is not None and mine is not None and hull(mine, again) == mine:
                continue
            del loop.counted[place]
        elif mine is not None and hull(mine, ends) == mine:
            continue
        wider = True
        base = hull(ends, mine or _initial_bounds(at, place))
        if number >= 2 and times is not None:
            counted = bounds_after(_initial_bounds(at, place), loop.changes[place], times)
            if counted is not None and number < 12:
                loop.counted[place] = counted
                how = loop.changes[place]
                loop.added.pop(place, None)
                if how.apart is None and how.more is not None:
                    loop.added[place] = min(how.more[0], 0) * times, max(how.more[1], 0) * times
                loop.bounds[place] = hull(counted, mine or counted)
                continue
        skipped = max(number - 8, 0)
        loop.bounds[place] = base if number < 2 else widened(base, skipped)
    return wider


def _initial_bounds(at: Follow, place: LoopVariable) -> Interval:
    term = at.names.get(place[0]) if len(place) == 1 else at.state.store.get((place[0], place[1]))
    if not isinstance(term, Term):  # it has no value before the first round
        return (0, 0) if len(place) == 1 else _of_field(at, place)
    return at.state.known.bounds(at.number(term, ast.Pass()))


def _of_field(at: Follow, place: LoopVariable) -> Interval:
    found = at.terms.known.get(("var", ".".join(place)))
    return found.bounds if found is not None else (LEAST, MOST)


def _round(
    at: Follow, node: ast.For | ast.While, loop: _Loop, start: Term | None, stop: Term | None
) -> list[LoopExit]:
    """Execute one round from arbitrary values within the bounds; returns the exits of the loop."""
    begin, names = at.state.copy(), dict(at.names)
    for place, bounds in loop.bounds.items():
        fresh = _havoc(at, node, loop, place, bounds, begin)
        if len(place) == 1:
            names[place[0]] = fresh
        else:
            begin.store[place[0], place[1]] = fresh
    begin.cells, begin.loose = {}, True
    begin.store = {key: term for key, term in begin.store.items() if "[" not in key[0]}
    before = dict(begin.store)
    inner = (*at.depth, "in", node.lineno, at.shared.count)
    ways: list[LoopExit] = []
    loop.ends, loop.changes, loop.put = {}, {}, []
    number = at.shared.fresh(f"round@{node.lineno}", (LEAST, MOST)) if start is not None else None

    def note(inside: Follow) -> None:
        loop.put += inside.state.put[len(begin.put) :]
        for place, old, new in _changed(names, before, inside):
            ends = inside.state.known.bounds(new)
            loop.ends[place] = hull(ends, loop.ends.get(place, ends))
            mine = (
                change(new, old, inside.state.known)
                if old is not None
                else BoundsChange(None, ends)
            )
            loop.changes[place] = mine.joined(loop.changes.get(place, mine))

    def walk(choices: PathChoices) -> None:
        inside = type(at)(at.shared, begin.copy(), choices, at.source, dict(names), inner)
        if isinstance(node, ast.For):
            assert start is not None
            assert stop is not None
            assert number is not None
            more = choices.choose(2) == 0
            if more:
                make = at.terms.make
                inside.state.known.assume(make("le", start, number))
                if not inside.state.known.assume(make("lt", number, stop)):
                    raise Infeasible
                inside.assign(node.target, number)
        else:
            more = inside.holds(node.test)
        if not more:
            ways.append(LoopExit(inside.state, inside.names))
            return
        try:
            inside.block(node.body)
        except ReturnReached as returned:
            ways.append(LoopExit(inside.state, inside.names, returned.value, True))
            return
        except LoopExited as left:
            if not left.again:
                ways.append(LoopExit(inside.state, inside.names))
                return
        note(inside)

    explore(walk)
    for way in ways:
        way.state.put += loop.put
        way.state.often |= {key for key, *_ in loop.put}
    return ways


def _havoc(
    at: Follow,
    node: ast.For | ast.While,
    loop: _Loop,
    place: LoopVariable,
    bounds: Interval,
    begin: State,
) -> Term:
    """Value of a name or field after any number of rounds: its initial value plus an increment
    where rounds only add, so that the increment of a whole event is known; else arbitrary."""
    name = f"{'.'.join(place)}@{node.lineno}"
    old = at.names.get(place[0]) if len(place) == 1 else at.state.store.get((place[0], place[1]))
    if old is None and len(place) == 2:  # no path read it before the loop: it has its initial value
        old = at.terms.known.get(("var", ".".join(place)))
    added = loop.added.get(place)
    if place not in loop.counted or added is None or not isinstance(old, Term):
        return at.shared.fresh(name, bounds)
    more = at.shared.fresh(f"{name}+", added)
    grown_term = at.terms.make("add", at.number(old, node), more)
    begin.known.narrow(grown_term, bounds)
    return grown_term


def _changed(
    names: dict[str, Any], before: dict[tuple[str, str], Term], inside: Follow
) -> list[tuple[LoopVariable, Term | None, Term]]:
    """Changes by a round: name or field, old value, new value."""
    found: list[tuple[LoopVariable, Term | None, Term]] = []
    for name, value in inside.names.items():
        old = names.get(name)
        if isinstance(value, Term) and value is not old:
            new = inside.number(value, ast.Pass())
            found.append(((name,), old if isinstance(old, Term) else None, new))
    for key, value in inside.state.store.items():
        if "[" in key[0]:
            continue  # held to its bounds where it was written
        old = before.get(key)
        if old is None:
            old = inside.terms.known.get(("var", ".".join(key)))
        if value is not old:
            found.append(((*key,), old, value))
    return found
