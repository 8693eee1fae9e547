"""Exploration of all paths of an algorithm's kernels, under inductive bounds of its state.

A state begins with zeros (and a seed other than 0). The bounds of its fields start there and are
widened until every kernel, called within them, leaves every field within them; a field that kernels
only add to is bounded by the increment of an event times the number of events of a run.
"""

from __future__ import annotations

import ast
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firmware.proof.counterexample_replay import kernels_of, shapes_of
from firmware.proof.field_ranges import (
    ANSWERS,
    ENTITY,
    EVENTS,
    FEEDBACK_BITS,
    KEPT,
    LFSR,
    NOW,
    RECORDS,
    bounds_after_event,
)
from firmware.proof.interval_analysis import hull
from firmware.proof.kernel_source import python_function, source_of
from firmware.proof.parameter_bounds import record_of, relations
from firmware.proof.path_enumeration import MOST_PATHS, PathChoices, TooManyPaths, explore
from firmware.proof.path_merge import LATE
from firmware.proof.symbolic_execution import ExecutionContext, SymbolicExecutor
from firmware.proof.symbolic_state import Obligation, Record, State, Untranslated
from firmware.proof.term_graph import LEAST, MOST, Interval, Term, Terms
from firmware.proof.time_limit import ProofTimeout
from firmware.proof.widening import BoundsChange, change, widened
from orchestrator.algorithm import Algorithm
from orchestrator.engine.records import FRAME

ROUNDS = 60
NARROWED = 3
"""Most rounds of the search for bounds of the state."""
NUMBERED = re.compile(r"~\d+$")
"""The number of a variable; an index in its name may have one as well."""
MOST_APART = 300
"""Most paths of a kernel that are executed separately; with more they are merged."""


@dataclass
class KernelPaths:
    """Result: obligations that bounds do not decide, by event, and the bounds of the state."""

    bounds: dict[str, Interval]
    counted: dict[str, Interval]
    """Fields that are bounded by the increment of an event (from, to)."""
    obligations: dict[str, list[Obligation]] = field(default_factory=dict)
    untranslated: list[str] = field(default_factory=list)
    paths: int = 0
    joined: set[str] = field(default_factory=set)
    """Kernels with too many paths, which are merged behind every statement."""
    clamps: list[int] = field(default_factory=list)
    """Largest values of the parameters."""
    widened: Counter[str] = field(default_factory=Counter)
    """Number of widenings of a field beyond a kernel's result."""


@dataclass
class _Round:
    ends: dict[str, Interval] = field(default_factory=dict)
    changes: dict[str, BoundsChange] = field(default_factory=dict)
    returns: Interval = (0, 0)
    paths: int = 0

    def note(self, name: str, ends: Interval, how: BoundsChange) -> None:
        if how.more == (0, 0):  # the old value, or another one
            if how.apart is None:
                return
            ends = max(ends[0], how.apart[0]), min(ends[1], how.apart[1])
        self.ends[name] = hull(ends, self.ends.get(name, ends))
        self.changes[name] = how.joined(self.changes.get(name, how))


def explore_kernels(
    algorithm: Algorithm, until: float, tell: Callable[[str], None] = lambda text: None
) -> KernelPaths:
    """Execute all kernels of an algorithm, up to a limit of time.process_time(). Untranslatable
    code is in the result, by location."""
    names = list(algorithm.state.names or ())
    seeds = ("lfsr", "lfsr_alike")
    begin = {name: LFSR.bounds if name in seeds else (0, 0) for name in names}
    entity = ENTITY[algorithm.kind]
    own = {f"{entity}.{name}": initial for name, initial in KEPT.get(entity, {}).items()}
    names, begin = [*names, *own], {**begin, **own}
    found = KernelPaths({**begin, **algorithm.bounds}, {})
    parameters = record_of(algorithm.params)
    found.clamps = sorted({parameters.bounds(name)[1] for name in parameters.shapes})
    probes = False
    for number in range(ROUNDS):
        tell(f"{algorithm.name}: bounds of its state, round {number + 1}")
        done = _Round()
        for event in kernels_of(algorithm):
            _walk(algorithm, event, found, done, True, probes, until)
        more_probes = algorithm.kind == "reaction_point" and done.returns != (0, 0)
        wider = more_probes and not probes
        probes = probes or more_probes
        for name in names:
            if name in done.ends and name not in algorithm.bounds:
                wider = _widen(found, done, name, begin[name], number) or wider
        if not wider or found.untranslated:
            break
    for name in [one for one in found.counted if one in done.ends]:
        if hull(found.bounds[name], done.ends[name]) == found.bounds[name]:
            del found.counted[name]  # no event leaves it beyond its bounds
    if found.widened and not found.untranslated:
        _narrow(algorithm, found, begin, probes, until)
    for event in kernels_of(algorithm):
        tell(f"{algorithm.name}: {event}")
        _walk(algorithm, event, found, _Round(), False, probes, until)
    return found


def _narrow(
    algorithm: Algorithm,
    found: KernelPaths,
    begin: Mapping[str, Interval],
    probes: bool,
    until: float,
) -> None:
    """Narrow bounds after widening: to the initial value and the results of kernels within the
    wider bounds."""
    safe: dict[str, Interval] = dict(found.bounds)
    for number in range(NARROWED + 1):
        done = _Round()
        for event in kernels_of(algorithm):
            _walk(algorithm, event, found, done, True, probes, until)
        if found.untranslated or not all(_stays_within(found, done, name) for name in done.ends):
            found.bounds.update(safe)
            return
        safe = dict(found.bounds)
        for name, (low, high) in safe.items() if number < NARROWED else ():
            if name not in algorithm.bounds and name not in found.counted:
                ends = _ends_of(done, name) if name in done.ends else begin[name]
                least, most = hull(begin[name], ends)
                found.bounds[name] = max(low, least), min(high, most)
        if found.bounds == safe:
            return


def _stays_within(found: KernelPaths, done: _Round, name: str) -> bool:
    (low, high), (least, most) = found.bounds[name], _ends_of(done, name)
    return name in found.counted or (low <= least and most <= high)


def _ends_of(done: _Round, name: str) -> Interval:
    """Bounds of a field after an event; of an entity's within its range, to which writes are held
    as obligations."""
    least, most = done.ends[name]
    record, _, field_name = name.partition(".")
    if field_name:
        low, high = RECORDS[record][1][field_name].bounds
        return min(max(least, low), high), max(min(most, high), low)
    return least, most


def _widen(found: KernelPaths, done: _Round, name: str, begin: Interval, number: int) -> bool:
    """Widen the bounds of a field by a round's result; returns whether they grew.

    Each side separately: it is inductive, or moves by a bounded step with each event.
    """
    (low, high), (least, most) = found.bounds[name], _ends_of(done, name)
    of_entity = "." in name
    change = done.changes[name]
    start = begin if change.apart is None else hull(begin, change.apart)
    step = change.more or (0, 0)
    counted = start[0] + min(step[0], 0) * EVENTS, start[1] + max(step[1], 0) * EVENTS
    sound = low <= max(least, counted[0]), min(most, counted[1]) <= high
    if all(sound):
        return False
    by_count = not of_entity and 3 <= number < 30 and change.more not in (None, (0, 0))
    wide = (min(low, least), max(high, most))
    if number >= 3:
        wide = widened(wide, (1 << found.widened[name]) - 1, found.clamps)
        found.widened[name] += 1
    if of_entity:
        declared = RECORDS[name.partition(".")[0]][1][name.partition(".")[2]].bounds
        wide = max(wide[0], declared[0]), min(wide[1], declared[1])
    if not sound[0]:
        taken = by_count and counted[0] >= LEAST
        low = min(low, counted[0]) if taken else wide[0]
    if not sound[1]:
        taken = by_count and counted[1] <= MOST
        high = max(high, counted[1]) if taken else wide[1]
    if by_count:
        found.counted[name] = step
    found.bounds[name] = (low, high)
    return True


def _walk(
    algorithm: Algorithm,
    event: str,
    found: KernelPaths,
    done: _Round,
    quiet: bool,
    probes: bool,
    until: float,
) -> None:
    """Execute one kernel on all paths."""
    terms = Terms()
    shared = ExecutionContext(terms, quiet=quiet, declared=frozenset(algorithm.bounds))
    shared.join, shared.until = event in found.joined, until
    records = _records(algorithm, event, found, probes)
    shared.states = lambda index: Record(
        f"state[{index}]", "state", records["state"].shapes, records["state"].bounds, index
    )
    source = source_of(python_function(kernels_of(algorithm)[event]))
    entity = ENTITY[algorithm.kind]

    def walk(choices: PathChoices) -> None:
        if time.process_time() > until:
            place = str(source.file), source.tree.lineno
            raise Untranslated(*place, LATE)
        state = State()
        relations(algorithm.params, records["params"], terms, state.known)
        for name in ("entered", "created"):  # no frame is older than the run, or from later
            then = terms.var(f"frame.{name}", records["frame"].bounds(name))
            state.known.assume(terms.make("le", then, terms.var("now", NOW.bounds)))
        given: list[Any] = [records[n] for n in ("state", "params", entity, "frame")]
        given += [terms.var("now", NOW.bounds), records["message"]]
        names = dict(zip(source.parameters, given, strict=True))
        at = SymbolicExecutor(shared, state, choices, source, names)
        returned = at.run()
        if isinstance(returned, Term):
            done.returns = hull(done.returns, state.known.bounds(at.number(returned, ast.Pass())))
        _note_ends(at, done)
        for record in (records[entity], records["state"]):
            _require_bounds(at, record, algorithm.bounds if record is records["state"] else None)

    try:
        done.paths += explore(walk, MOST_PATHS if shared.join else MOST_APART)
    except Untranslated as error:
        found.untranslated.append(str(error))
    except ProofTimeout:
        found.untranslated.append(f"{source.file}:{source.tree.lineno}: {LATE}")
    except TooManyPaths:
        if not shared.join:
            found.joined.add(event)
            return _walk(algorithm, event, found, done, quiet, probes, until)
        found.untranslated.append(f"{source.file}: {event}: more paths than are followed")
    if not quiet:
        found.obligations[event] = list(shared.obligations.values())
        found.paths += done.paths


def _note_ends(at: SymbolicExecutor, done: _Round) -> None:
    """Record the final fields of the state, and of those of the entity that kernels keep, on a
    path."""
    for (record, name), term in at.state.store.items():
        before = at.terms.known.get(("var", f"{record}.{name}"))
        if (record == "state" or name in KEPT.get(record, ())) and term is not before:
            ends = at.state.known.bounds(term)
            how = (
                BoundsChange(None, ends) if before is None else change(term, before, at.state.known)
            )
            done.note(name if record == "state" else f"{record}.{name}", ends, how)
    for (kind, name), term, there in at.state.put:
        if kind == "state":
            least, most = at.state.known.bounds(term)
            ends = max(least, there[0]), min(most, there[1])
            times = sum(key == (kind, name) for key, *_ in at.state.put)
            often = (kind, name) in at.state.often
            how = BoundsChange(None, ends) if often else _of_cell(at, name, term)
            if how.more is not None:  # all writes may be of the same cell
                how = BoundsChange((how.more[0] * times, how.more[1] * times), how.apart)
            done.note(name, ends, how)


def _of_cell(at: SymbolicExecutor, name: str, term: Term) -> BoundsChange:
    """Change of an array's cell, or of a flow state's field, by a write."""
    for one in _variables(term):
        called = NUMBERED.sub("", one.name)
        a_cell = called.startswith(f"state.{name}[")
        if a_cell or (called.startswith("state[") and called.endswith(f".{name}")):
            return change(term, one, at.state.known)
    return BoundsChange(None, at.state.known.bounds(term))


def _variables(term: Term) -> list[Term]:
    from firmware.proof.term_graph import variables

    return variables([term])


def _require_bounds(
    at: SymbolicExecutor, record: Record, declared: Mapping[str, Interval] | None
) -> None:
    """Oblige the kernel's writes to stay within the declared ranges: of its entity, and of its
    state where bounds are declared (the computed ones are inductive already)."""
    node = at.source.tree
    for (name, field_name), term in list(at.state.store.items()):
        if declared is not None and field_name not in declared:
            continue
        if name == record.name and term is not at.terms.known.get(("var", f"{name}.{field_name}")):
            what = f"{name}.{field_name} is left outside of what it is taken for"
            kept = field_name in KEPT.get(record.kind, ())
            range_ = (
                RECORDS[record.kind][1][field_name].bounds if kept else record.bounds(field_name)
            )
            bounds = bounds_after_event(record.kind, field_name, range_)
            at.oblige(what, term, bounds, node)


def _records(
    algorithm: Algorithm, event: str, found: KernelPaths, probes: bool
) -> dict[str, Record]:
    entity = ENTITY[algorithm.kind]
    state = Record("state", "state", shapes_of(algorithm.state), found.bounds.__getitem__)
    dtype, ranges = RECORDS[entity]
    records = {
        "state": state,
        "params": record_of(algorithm.params),
        entity: Record(
            entity,
            entity,
            shapes_of(dtype),
            lambda name: found.bounds.get(f"{entity}.{name}", ranges[name].bounds),
        ),
    }
    frames = RECORDS["frame"][1]
    of_frame = dict(frames)
    if algorithm.kind == "reaction_point" and event == "feedback" and not probes:
        of_frame["feedback"] = FEEDBACK_BITS
    if algorithm.kind in ("transport", "reaction_point"):
        of_frame |= ANSWERS
    shapes = shapes_of(FRAME)
    records["frame"] = Record("frame", "frame", shapes, lambda name: of_frame[name].bounds)
    records["message"] = Record("message", "message", shapes, lambda name: frames[name].bounds)
    return records
