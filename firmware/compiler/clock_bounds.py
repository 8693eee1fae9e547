"""Least and most clocks of an event, by the states of its machine."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

from firmware.compiler.state_machine import Done, LoopStates, Machine, State

OVERHEAD = 1
"""Clocks of an event besides its states: that in which `start` is taken."""


@dataclass(frozen=True)
class Clocks:
    """Clocks from `start` to `done`. `most` is None where a loop has no known bound."""

    least: int
    most: int | None


def clocks_of(machine: Machine) -> Clocks:
    """Least and most clocks of a machine."""
    return Clocks(_least(machine) + OVERHEAD, _most(machine))


def _least(machine: Machine) -> int:
    order = itertools.count()
    waiting = [(machine.entry.clocks, next(order), machine.entry)]
    finished = set[int]()
    while waiting:
        clocks, _, state = heapq.heappop(waiting)
        if isinstance(state.end, Done):
            return clocks
        if state.number in finished:
            continue
        finished.add(state.number)
        for behind in state.successors:
            heapq.heappush(waiting, (clocks + behind.clocks, next(order), behind))
    raise AssertionError("no state ends the event")


def _most(machine: Machine) -> int | None:
    """Longest path, where each loop adds its rounds at the most; an upper bound."""
    bodies: list[tuple[LoopStates, set[State]]] = []
    for loop in machine.loops:
        body = {state for state in machine.states if state.number in loop.numbers}
        if any(loop.head in state.successors for state in body):
            bodies.append((loop, body))
    if any(loop.most is None for loop, _ in bodies):
        return None
    heads = {loop.head for loop, _ in bodies}
    if len(heads) < len(bodies):
        return None  # two loops begin in one state: their rounds are not told apart
    extra: dict[State, int] = {}
    back: set[tuple[State, State]] = set()
    for loop, body in sorted(bodies, key=lambda one: len(one[1])):
        assert loop.most is not None
        cuts = {(s, loop.head) for s in body if loop.head in s.successors}
        back |= cuts
        longest = _longest(loop.head, body, back, extra)
        rounds = max((longest[state] for state, _ in cuts if state in longest), default=0)
        extra[loop.head] = extra.get(loop.head, 0) + loop.most * rounds
    longest = _longest(machine.entry, set(machine.states), back, extra)
    ends = [longest[s] for s in machine.states if isinstance(s.end, Done) and s in longest]
    return max(ends) + OVERHEAD


def _longest(
    begin: State, inside: set[State], back: set[tuple[State, State]], extra: dict[State, int]
) -> dict[State, int]:
    """Clocks of the longest path from a state to each other one, its own included."""
    order, seen = list[State](), set[State]()

    def visit(first: State) -> None:
        stack = [(first, iter(first.successors))]
        seen.add(first)
        while stack:
            state, successors = stack[-1]
            for behind in successors:
                if behind in inside and (state, behind) not in back and behind not in seen:
                    seen.add(behind)
                    stack.append((behind, iter(behind.successors)))
                    break
            else:
                order.append(state)
                stack.pop()

    visit(begin)
    longest = {begin: begin.clocks + extra.get(begin, 0)}
    for state in reversed(order):
        for behind in state.successors:
            if behind in inside and (state, behind) not in back:
                clocks = longest[state] + behind.clocks + extra.get(behind, 0)
                longest[behind] = max(clocks, longest.get(behind, 0))
    return longest
