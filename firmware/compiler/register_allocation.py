"""Registers of a machine: liveness of its variables, and which of them share a register."""

from __future__ import annotations

from dataclasses import dataclass, field

from firmware.compiler.intermediate_form import Variable
from firmware.compiler.state_machine import Machine, State, Wire
from firmware.compiler.width_analysis import KernelBounds


@dataclass
class Registers:
    """Registers of an algorithm's module. Kernels share them, since one runs at a time."""

    widths: list[int] = field(default_factory=list)
    numbers: dict[tuple[str, Variable], int] = field(default_factory=dict)
    """Register of a variable, by event."""


def _is_variable(operand: object) -> bool:
    return isinstance(operand, Variable) and operand.number >= 0


def live_variables(machine: Machine, now: Variable) -> dict[int, set[Variable]]:
    """Variables whose register is read after a state, by the number of the state."""
    reads = {
        state.number: {o for o in state.operands() if isinstance(o, Variable) and _is_variable(o)}
        - {now}
        for state in machine.states
    }
    before: dict[int, set[Variable]] = {state.number: set() for state in machine.states}
    after: dict[int, set[Variable]] = {state.number: set() for state in machine.states}
    changed = True
    while changed:
        changed = False
        for state in reversed(machine.states):
            live = set[Variable]().union(*(before[one.number] for one in state.successors))
            begin = reads[state.number] | (live - set(state.outputs))
            if live != after[state.number] or begin != before[state.number]:
                after[state.number], before[state.number] = live, begin
                changed = True
    return after


def drop_dead_outputs(machine: Machine, now: Variable) -> dict[int, set[Variable]]:
    """Drop outputs that no later state reads; returns the live variables after each state."""
    while True:
        after = live_variables(machine, now)
        dropped = False
        for state in machine.states:
            for place in list(state.outputs):
                if isinstance(place, Variable) and place not in after[state.number]:
                    del state.outputs[place]
                    dropped = True
        if not dropped:
            break
    for state in machine.states:
        _drop_unused_steps(state)
    return after


def _drop_unused_steps(state: State) -> None:
    used = {one for one in state.operands() if isinstance(one, Wire)}
    while unused := [step for step in state.steps if step.target not in used]:
        state.steps = [step for step in state.steps if step not in unused]
        used = {one for one in state.operands() if isinstance(one, Wire)}


def allocate(registers: Registers, machine: Machine, bounds: KernelBounds, now: Variable) -> None:
    """Give each variable of a machine a register that no other live variable has."""
    after = drop_dead_outputs(machine, now)
    conflicts: dict[Variable, set[Variable]] = {}
    for state in machine.states:
        live = after[state.number]
        for variable in live:
            conflicts.setdefault(variable, set()).update(live - {variable})
    for variable in sorted(conflicts, key=lambda one: (-bounds.width(one), one.number)):
        width = bounds.width(variable)
        taken = {registers.numbers.get((machine.event, other)) for other in conflicts[variable]}
        free = [n for n in range(len(registers.widths)) if n not in taken]
        fits = [n for n in free if registers.widths[n] >= width]
        if fits:
            number = min(fits, key=lambda n: (registers.widths[n], n))
        elif free:
            number = max(free, key=lambda n: (registers.widths[n], -n))
            registers.widths[number] = width
        else:
            number = len(registers.widths)
            registers.widths.append(width)
        registers.numbers[machine.event, variable] = number
