"""State machine of a kernel: the states, what each computes, and where it goes on.

A state takes one clock. It computes a chain of operations whose delay is at most `LONGEST_CHAIN`,
and ends early where a shared unit is used: the multiplier, the divider, the port of an array.
Values go from one state to another in registers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from firmware.compiler.intermediate_form import Constant, Field, Variable

DELAYS = {"add": 2, "sub": 2, "lt": 2, "le": 2, "eq": 1, "ne": 1, "min": 3, "max": 3, "lfsr": 3}
DELAYS |= {
    "resize": 0,
    "data": 1,
    "bitand": 1,
    "bitor": 1,
    "bitxor": 1,
    "select": 1,
    "table": 2,
    "shl": 2,
    "shr": 2,
}
"""Delay of an operation, in half an adder; shifts by a constant have none."""
LONGEST_CHAIN = 6
"""Three adders of 64 bits in a row."""
DIVIDER_BITS = 64
DIVIDER_STEP = 2
"""Quotient bits of the divider per clock (firmware/rtl/divide.v)."""
DIVIDER_CLOCKS = DIVIDER_BITS // DIVIDER_STEP + 2
"""Clocks of the state that waits for the divider."""

Place = Variable | Field
"""A register: that of a variable, or of a record field."""


@dataclass(frozen=True)
class Wire:
    """Result of a step, valid in its state."""

    number: int
    bits: int


Operand = Constant | Wire | Variable | Field
"""A variable or field as an operand is the content of its register when the state begins."""


@dataclass(frozen=True)
class Step:
    """`target` is the result of an operation in this state."""

    target: Wire
    op: str
    operands: tuple[Operand, ...]
    table: tuple[int, ...] = ()


@dataclass(frozen=True)
class UnitUse:
    """Use of a shared unit at the end of a state.

    `unit`: "multiply" and "divide" take two operands; "read" and "write" the index of an array,
    and what is written.
    """

    unit: str
    operands: tuple[Operand, ...]
    field: Field | None = None


@dataclass(frozen=True)
class Branch:
    """Goes on in `then` where the test is not 0, else in `orelse`."""

    test: Operand
    then: State
    orelse: State


@dataclass(frozen=True)
class Jump:
    """Goes on in a state."""

    to: State


@dataclass(frozen=True)
class Done:
    """The event is over."""

    answer: Operand


@dataclass(eq=False)
class State:
    """One state. `outputs`: what registers hold after it, where that changes."""

    number: int
    steps: list[Step] = field(default_factory=list)
    uses: list[UnitUse] = field(default_factory=list)
    outputs: dict[Place, Operand] = field(default_factory=dict)
    end: Jump | Branch | Done | None = None
    waits: bool = False
    """True for the state that waits for the divider."""

    @property
    def clocks(self) -> int:
        return DIVIDER_CLOCKS if self.waits else 1

    @property
    def successors(self) -> tuple[State, ...]:
        if isinstance(self.end, Jump):
            return (self.end.to,)
        if isinstance(self.end, Branch):
            return self.end.then, self.end.orelse
        return ()

    def operands(self) -> list[Operand]:
        """All operands that the state reads."""
        read = [one for step in self.steps for one in step.operands]
        read += [one for use in self.uses for one in use.operands]
        read += self.outputs.values()
        if isinstance(self.end, Branch):
            read.append(self.end.test)
        elif isinstance(self.end, Done):
            read.append(self.end.answer)
        return read


@dataclass(eq=False)
class LoopStates:
    """A loop: its first state, its rounds at the most (None: no bound is known), its states."""

    head: State
    most: int | None
    numbers: range = range(0)


@dataclass
class Machine:
    """State machine of one kernel."""

    event: str
    states: list[State]
    loops: list[LoopStates]

    @property
    def entry(self) -> State:
        return self.states[0]


def without_empty_states(machine: Machine) -> Machine:
    """The same machine without states that do nothing but go on."""

    def behind(state: State) -> State:
        passed = set[int]()
        while isinstance(state.end, Jump) and not state.waits and id(state) not in passed:
            if state.steps or state.uses or state.outputs:
                break
            passed.add(id(state))
            state = state.end.to
        return state

    for state in machine.states:
        if isinstance(state.end, Jump):
            state.end = Jump(behind(state.end.to))
        elif isinstance(state.end, Branch):
            then, orelse = behind(state.end.then), behind(state.end.orelse)
            state.end = Jump(then) if then is orelse else Branch(state.end.test, then, orelse)
    entry = behind(machine.entry)
    reached, waiting = list[State](), [entry]
    while waiting:
        state = waiting.pop()
        if state not in reached:
            reached.append(state)
            waiting += reversed(state.successors)
    loops = [LoopStates(behind(one.head), one.most, one.numbers) for one in machine.loops]
    return Machine(machine.event, reached, [one for one in loops if one.head in reached])
