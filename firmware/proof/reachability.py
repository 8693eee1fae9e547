"""Reachability of a counterexample: calls that lead from a new state to its fault.

The state of a counterexample is within inductive bounds, but not every such state is reachable.
Tried are the call itself on a new state, one or two other kernels before it, the same call up to
some thousand times, and then random walks: each step calls some kernel with values that are drawn
within their ranges or taken from the counterexample or from the state, and tries the
counterexample's own call. A walk has the parameters of the counterexample, time does not go back,
totals do not fall, and a field that a kernel has written keeps its value. A reaction point begins
with its kernels for new flows.
"""

from __future__ import annotations

import random
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from firmware.proof.checked_int import Cells, Fields, OutOfRange, names_in
from firmware.proof.counterexample_replay import (
    fields_outside,
    kernels_of,
    records_for,
    run_kernel,
)
from firmware.proof.field_ranges import ENTITY, RECORDS, SETTINGS
from firmware.proof.kernel_source import python_function
from firmware.proof.random_calls import random_value, ranges_of_call
from firmware.proof.term_graph import Interval
from firmware.proof.time_limit import ProofTimeout, StepLimitExceeded, checks_made
from orchestrator.algorithm import Algorithm

MOST_WALKED = 120_000
"""Most operations of all walks of one counterexample."""
MOST_CALLS = 1_000
"""Most calls of all these walks."""
MOST_REPEATED = 120_000
"""Most operations of short sequences, and of kernels that are called again and again."""
LONGEST_WALK = 48
"""Most calls of one walk."""
BEGINNING = ("bound", "start", "started")
"""Kernels that a reaction point is called by before all others (kernel_contracts)."""
Call = tuple[str, dict[str, int], int]
"""Event, values, and how often in a row."""
Matches = Callable[[str], bool]


class Run:
    """Calls of kernels on one instance, from its initial state on."""

    def __init__(self, algorithm: Algorithm, values: Mapping[str, int]) -> None:
        self.algorithm = algorithm
        self.entity = ENTITY[algorithm.kind]
        self.flows: dict[int, Fields] = {}
        seeds = [name for name in algorithm.state.names or () if name in ("lfsr", "lfsr_alike")]
        self.kept = {f"state.{name}": values.get(f"state.{name}", 0) or 1 for name in seeds}
        if self.entity == "limiter":
            rate = values.get("limiter.link_rate", RECORDS["limiter"][1]["link_rate"].bounds[0])
            self.kept |= {"limiter.rate": rate, "limiter.target": rate}
            self.kept |= {"limiter.window": 0, "limiter.active": 0}

    def given(self, values: Mapping[str, int]) -> dict[str, int]:
        """Values of a call: the instance's own state, whatever the given ones have for it."""
        mine = {k: v for k, v in values.items() if not k.startswith(("state.", "flow["))}
        return {**mine, **self.kept}

    def fault(self, event: str, values: Mapping[str, int], keep: bool) -> str:
        """Call a kernel; returns its overflow or the field that it leaves outside of its range.

        `keep`: the state goes on. Raises StepLimitExceeded for an endless call.
        """
        given = self.given(values)
        flows = self.flows if keep else {number: one.copied() for number, one in self.flows.items()}
        try:
            _, after = run_kernel(self.algorithm, event, given, flows)
        except OutOfRange as error:
            return str(error)
        trouble = fields_outside(self.algorithm, records_for(self.algorithm, given), after)
        if keep and not trouble:
            self._keep(given, after)
        return trouble

    def _keep(self, given: Mapping[str, int], after: Mapping[str, Fields]) -> None:
        self.kept |= {f"state.{name}": one for name, one in after["state"].numbers().items()}
        for name, cells in vars(after["state"]).items():
            if isinstance(cells, Cells):
                for place, value in cells.items():
                    self.kept[f"state.{name}[{', '.join(map(str, place))}]"] = int(value)
        for name, value in after[self.entity].numbers().items():
            key = f"{self.entity}.{name}"
            if key in self.kept or value != given.get(key, 0):
                self.kept[key] = value


def fault_of_calls(algorithm: Algorithm, calls: Sequence[Call]) -> str:
    """Fault of the last of some calls of a new instance; empty without one, or if one of those
    before has a fault."""
    run = Run(algorithm, calls[0][1])
    try:
        for number, (event, values, times) in enumerate(calls):
            for left in reversed(range(times)):
                last = left == 0 and number == len(calls) - 1
                trouble = run.fault(event, values, keep=not last)
                if trouble or last:
                    return trouble if last else ""
        return ""
    except StepLimitExceeded:
        return ""


def reaching_calls(
    algorithm: Algorithm,
    event: str,
    values: Mapping[str, int],
    state: Mapping[str, Interval],
    matches: Matches = bool,
) -> list[Call]:
    """Calls from a new state that end with `event` and a fault that `matches`; none if no such
    sequence was found, or after the time limit.

    :param values: the counterexample, by record and field
    :param state: bounds of the state's fields
    """
    fresh = {k: v for k, v in values.items() if not k.startswith(("state.", "flow["))}
    begin = [one for one in BEGINNING if one in kernels_of(algorithm)]
    begin = [] if algorithm.kind != "reaction_point" or event in begin else begin
    try:
        until = checks_made() + MOST_REPEATED
        for before in _short_sequences(algorithm):
            if checks_made() > until:
                break
            calls = [(one, fresh, 1) for one in [*begin, *before, event]]
            if matches(fault_of_calls(algorithm, calls)):
                return calls
        until = checks_made() + MOST_REPEATED
        for before in [[], *([one] for one in kernels_of(algorithm))]:
            calls = [(one, fresh, 1) for one in [*begin, *before]]
            times = _times(algorithm, calls, (event, fresh, 1), until, matches)
            if times:
                return [*calls, (event, fresh, times)]
        return _walks(algorithm, event, dict(values), state, begin, matches)
    except ProofTimeout:
        return []


def _short_sequences(algorithm: Algorithm) -> Iterator[list[str]]:
    yield []
    events = list(kernels_of(algorithm))
    yield from ([one] for one in events)
    yield from ([one, other] for one in events for other in events)


def _times(
    algorithm: Algorithm, before: list[Call], call: Call, until: int, matches: Matches
) -> int:
    """How often a call has to be repeated until it has the fault; 0 if it has none so far."""
    run = Run(algorithm, call[1])
    try:
        if any(run.fault(event, values, keep=True) for event, values, _ in before):
            return 0
        times = 0
        while checks_made() < until:
            times += 1
            kept = dict(run.kept)
            trouble = run.fault(call[0], call[1], keep=True)
            if trouble or kept == run.kept:
                return times if matches(trouble) else 0
    except StepLimitExceeded:
        pass
    return 0


def _walks(
    algorithm: Algorithm,
    event: str,
    values: Mapping[str, int],
    state: Mapping[str, Interval],
    begin: list[str],
    matches: Matches,
) -> list[Call]:
    begun, rng, count = checks_made(), random.Random(1), 0
    events = list(kernels_of(algorithm))
    draw = _Draw(algorithm, values, state, rng)
    while checks_made() - begun < MOST_WALKED and count < MOST_CALLS:
        run, calls = Run(algorithm, values), list[Call]()
        draw.restart()
        waiting = list(begin)
        for _ in range(LONGEST_WALK):
            count += 1
            try:
                if not waiting and matches(run.fault(event, draw.own(run), keep=False)):
                    return _without_needless(
                        [*calls, (event, draw.own(run), 1)], algorithm, matches
                    )
                one = waiting.pop(0) if waiting else rng.choice(events)
                drawn = draw.values(run)
                trouble = run.fault(one, drawn, keep=True)
            except StepLimitExceeded:
                break
            calls.append((one, drawn, 1))
            if trouble:
                if one == event and matches(trouble):
                    return _without_needless(calls, algorithm, matches)
                break
    return []


def _without_needless(calls: list[Call], algorithm: Algorithm, matches: Matches) -> list[Call]:
    """Drop the calls without which the last one has its fault as well."""
    begin = [one for one, *_ in calls if one in BEGINNING]
    place = 0
    while place < len(calls) - 1:
        fewer = calls[:place] + calls[place + 1 :]
        if calls[place][0] not in begin and matches(fault_of_calls(algorithm, fewer)):
            calls = fewer
        else:
            place += 1
    return calls


def _field_of(name: str) -> str:
    return name.rpartition(".")[2].partition("[")[0]


def _names_in_kernels(algorithm: Algorithm) -> set[str]:
    """Names of the fields that the kernels, or functions that they call, may read."""
    found: set[str] = set()
    waiting, seen = list(kernels_of(algorithm).values()), set[int]()
    while waiting:
        inner = python_function(waiting.pop())
        if not isinstance(inner, types.FunctionType) or id(inner) in seen:
            continue
        seen.add(id(inner))
        names = names_in(inner.__code__)
        found |= names
        values = [inner.__globals__.get(name) for name in names]
        waiting += [*values, *(getattr(v, n, None) for v in values for n in names if _is_module(v))]
    return found


def _is_module(value: Any) -> bool:
    return isinstance(value, types.ModuleType)


class _Draw:
    """Values of the calls of a walk."""

    def __init__(
        self,
        algorithm: Algorithm,
        values: Mapping[str, int],
        state: Mapping[str, Interval],
        rng: random.Random,
    ) -> None:
        self.values_of_fault, self.rng = values, rng
        self.entity = ENTITY[algorithm.kind]
        read = {"now", "word", "entered", "created"} | _names_in_kernels(algorithm)
        self.ranges = {
            name: bounds
            for name, bounds in ranges_of_call(algorithm, state).items()
            if not name.startswith(("state.", "params.")) and _field_of(name) in read
        }
        self.fixed = {k: v for k, v in values.items() if k.startswith("params.")}
        for name in SETTINGS:
            key = f"{self.entity}.{name}"
            if key in self.ranges:
                self.fixed[key] = values.get(key, max(self.ranges.pop(key)[0], 0))
                self.ranges.pop(key, None)
        totals = RECORDS[self.entity][1]
        self.totals = {f"{self.entity}.{n}": one.adds for n, one in totals.items() if one.adds}
        self.states = [v for k, v in values.items() if k.startswith("state.")]
        self.last: dict[str, int] = {}

    def restart(self) -> None:
        """Begin a walk: time is 0 again."""
        self.last = {}

    def own(self, run: Run) -> dict[str, int]:
        """The counterexample's own values, with no time before that of the call before."""
        mine = {**self.values_of_fault, **self.fixed}
        mine["now"] = max(mine.get("now", 0), self.last.get("now", 0))
        for name in self.totals:
            if name in mine or name in self.last:
                mine[name] = max(mine.get(name, 0), self.last.get(name, 0))
        return {k: v for k, v in mine.items() if not k.startswith(("state.", "flow["))}

    def values(self, run: Run) -> dict[str, int]:
        """Values of the next call."""
        rng, mine = self.rng, dict(self.fixed)
        near = [*run.kept.values(), *self.fixed.values()]
        for name, (low, high) in self.ranges.items():
            kind = rng.randrange(5)
            if kind == 0 and name in self.values_of_fault:
                value = self.values_of_fault[name]
            elif kind == 1 and near:
                value = min(max(rng.choice(near) + rng.randrange(-1, 2), low), high)
            elif kind == 2 and self.states:
                value = min(max(rng.choice(self.states), low), high)
            else:
                value = random_value(rng, low, high)
            if name == "now" or name in self.totals:
                before = self.last.get(name, 0)
                if value < before or rng.random() < 0.5:
                    most = min(self.totals.get(name, high), high - before)
                    value = before + random_value(rng, 0, max(most, 0))
                self.last[name] = value
            mine[name] = value
        for name in ("frame.entered", "frame.created"):
            mine[name] = min(mine[name], mine["now"])
        return mine


def text_of(calls: Sequence[Call]) -> str:
    """Names of the events, with how often each is called in a row."""
    return ", ".join(event if times == 1 else f"{times} x {event}" for event, _, times in calls)
