"""Scheduling of a kernel's intermediate form into the states of a machine."""

from __future__ import annotations

import itertools

from firmware.compiler.intermediate_form import (
    Constant,
    Field,
    If,
    KernelForm,
    Load,
    Loop,
    Node,
    Operation,
    Scope,
    Store,
    Value,
    Variable,
    all_nodes,
)
from firmware.compiler.state_machine import (
    DELAYS,
    LONGEST_CHAIN,
    Branch,
    Done,
    Jump,
    LoopStates,
    Machine,
    Operand,
    Place,
    State,
    Step,
    UnitUse,
    Wire,
    without_empty_states,
)
from firmware.compiler.width_analysis import KernelBounds

PRODUCT = Variable(-1, "product")
QUOTIENT = Variable(-2, "quotient")
REMAINDER = Variable(-3, "remainder")
"""Results of the shared units, which stay until the unit is used again."""
RESULTS = {"mul": PRODUCT, "div": QUOTIENT, "mod": REMAINDER}
UNITS = {"mul": "multiply", "div": "divide", "mod": "divide"}


class _ChainTooLong(Exception):
    """Both branches of an `If` do not fit into the current state."""


class Scheduler:
    """Scheduler of one kernel. `stored`: fields that any kernel of the algorithm writes."""

    def __init__(self, form: KernelForm, bounds: KernelBounds, stored: set[Field]) -> None:
        self.form, self.bounds, self.stored = form, bounds, stored
        self.numbers, self.wires = itertools.count(), itertools.count()
        self.states: list[State] = []
        self.loops: list[LoopStates] = []
        self.exits: dict[int, State] = {}
        self.left: set[int] = set()
        """Scopes that a `Leave` ends."""
        self.aliases: dict[Variable, Operand] = {}
        """Variables that are a field which no kernel writes."""
        self.current: dict[Place, Operand] = {}
        self.delays: dict[Operand, int] = {}
        self.at: State | None = self._new_state()
        self.fixed = False
        """True while an `If` is tried within the current state."""

    def run(self) -> Machine:
        """Schedule the kernel."""
        self._block(self.form.body)
        if self.at is not None:
            answer = self._operand(self.form.answer)
            self._end(Done(answer))
        return without_empty_states(Machine(self.form.event, self.states, self.loops))

    # states

    def _new_state(self) -> State:
        state = State(next(self.numbers))
        self.states.append(state)
        return state

    def _end(self, end: Jump | Branch | Done) -> None:
        assert self.at is not None
        self.at.outputs = {p: o for p, o in self.current.items() if o != p}
        self.at.end = end
        self.current, self.delays, self.at = {}, {}, None

    def _go_on_in(self, state: State) -> None:
        if self.at is not None:
            self._end(Jump(state))
        self.at = state

    def _next_state(self) -> None:
        if self.fixed:
            raise _ChainTooLong
        self._go_on_in(self._new_state())

    # values

    def _operand(self, value: Value | Field) -> Operand:
        if isinstance(value, Constant):
            return value
        if isinstance(value, Variable) and value in self.aliases:
            return self.aliases[value]
        return self.current.get(value, value)

    def _compute(self, op: str, operands: list[Operand], bits: int, table: tuple[int, ...]) -> Wire:
        assert self.at is not None
        wire = Wire(next(self.wires), bits)
        self.at.steps.append(Step(wire, op, tuple(operands), table))
        self.delays[wire] = self._delay(op, operands)
        return wire

    def _delay(self, op: str, operands: list[Operand]) -> int:
        shift = op in ("shl", "shr") and isinstance(operands[1], Constant)
        begin = max((self.delays.get(one, 0) for one in operands), default=0)
        return begin + (0 if shift else DELAYS[op])

    # nodes

    def _block(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if self.at is None:
                return
            self._node(node)

    def _node(self, node: Node) -> None:
        if isinstance(node, Operation):
            self._operation(node)
        elif isinstance(node, Load):
            self._load(node)
        elif isinstance(node, Store):
            self._store(node)
        elif isinstance(node, If):
            self._if(node)
        elif isinstance(node, Scope):
            self._scope(node)
        elif isinstance(node, Loop):
            head = self._new_state()
            self._go_on_in(head)
            loop = LoopStates(head, self.bounds.rounds(node))
            self.loops.append(loop)
            self._block(node.body)
            loop.numbers = range(head.number, len(self.states))
            if self.at is not None:
                self._end(Jump(head))
        else:
            self.left.add(node.label)
            self._end(Jump(self.exits[node.label]))

    def _operation(self, node: Operation) -> None:
        if node.op == "copy":
            self.current[node.target] = self._operand(node.operands[0])
            return
        if node.op in UNITS:
            self._use_unit(node)
            return
        operands = [self._operand(one) for one in node.operands]
        if self._delay(node.op, operands) > LONGEST_CHAIN:
            self._next_state()
            operands = [self._operand(one) for one in node.operands]
        bits = self.bounds.width(node.target)
        self.current[node.target] = self._compute(node.op, operands, bits, node.table)

    def _use_unit(self, node: Operation) -> None:
        """Multiply or divide: operands go into the unit's registers, results come later."""
        if self.fixed:
            raise _ChainTooLong
        assert self.at is not None
        operands = tuple(self._operand(one) for one in node.operands)
        self.at.uses.append(UnitUse(UNITS[node.op], operands))
        self._next_state()
        assert self.at is not None
        self.at.waits = node.op != "mul"
        if not self.at.waits:
            self.at.uses.append(UnitUse("product", ()))
        self._next_state()
        result = RESULTS[node.op]
        delay = 0 if node.op == "mul" else 3  # the quotient gets its sign
        self.delays[result] = delay
        wire = self._compute("resize", [result], self.bounds.width(node.target), ())
        self.current[node.target] = wire

    def _load(self, node: Load) -> None:
        if node.index is None:
            if node.field not in self.stored:
                self.aliases[node.target] = node.field
            else:
                self.current[node.target] = self._operand(node.field)
            return
        self._free_port(node.field)
        assert self.at is not None
        self.at.uses.append(UnitUse("read", (self._operand(node.index),), node.field))
        self._next_state()
        wire = self._compute("data", [node.field], self.bounds.width(node.target), ())
        self.current[node.target] = wire

    def _store(self, node: Store) -> None:
        if node.index is None:
            self.current[node.field] = self._operand(node.value)
            return
        self._free_port(node.field)
        assert self.at is not None
        operands = self._operand(node.index), self._operand(node.value)
        self.at.uses.append(UnitUse("write", operands, node.field))

    def _free_port(self, accessed: Field) -> None:
        """Go on in a new state where this one uses the array's port already."""
        if self.fixed:
            raise _ChainTooLong
        assert self.at is not None
        if any(use.field == accessed for use in self.at.uses):
            self._next_state()

    def _if(self, node: If) -> None:
        if isinstance(node.test, Constant):
            self._block(node.body if node.test.value else node.orelse)
            return
        if self._within_state(node):
            return
        if self.fixed:
            raise _ChainTooLong
        test = self._operand(node.test)
        if isinstance(test, Constant):
            self._block(node.body if test.value else node.orelse)
            return
        behind = self._new_state()
        begins = [self._new_state() if body else behind for body in (node.body, node.orelse)]
        self._end(Branch(test, *begins))
        reached = behind in begins
        for begin, body in zip(begins, (node.body, node.orelse), strict=True):
            if begin is behind:
                continue
            self.at = begin
            self._block(body)
            if self.at is not None:
                self._end(Jump(behind))
                reached = True
        self.at = behind if reached else None

    def _within_state(self, node: If) -> bool:
        """Compute both branches in the current state and select the results, where that fits."""
        simple = Operation | Load | Store | If
        if not all(isinstance(one, simple) for one in all_nodes((*node.body, *node.orelse))):
            return False
        assert self.at is not None
        saved = len(self.at.steps), dict(self.current), dict(self.delays), self.fixed
        self.fixed = True
        try:
            test = self._operand(node.test)
            before, results = dict(self.current), list[dict[Place, Operand]]()
            for body in (node.body, node.orelse):
                self.current = dict(before)
                self._block(body)
                results.append(self.current)
            self.current = before
            for place in {**results[0], **results[1]}:
                values = [result.get(place, place) for result in results]
                if values[0] == values[1]:
                    self.current[place] = values[0]
                    continue
                operands = [test, *values]
                if self._delay("select", operands) > LONGEST_CHAIN:
                    raise _ChainTooLong
                bits = self.bounds.width(place)
                self.current[place] = self._compute("select", operands, bits, ())
        except _ChainTooLong:
            count, self.current, self.delays, _ = saved
            del self.at.steps[count:]
            return False
        finally:
            self.fixed = saved[3]
        return True

    def _scope(self, node: Scope) -> None:
        behind = self._new_state()
        self.exits[node.label] = behind
        self._block(node.body)
        if node.label in self.left:
            self._go_on_in(behind)


def schedule(form: KernelForm, bounds: KernelBounds, stored: set[Field]) -> Machine:
    """State machine of a kernel."""
    return Scheduler(form, bounds, stored).run()
