"""Interpreter of the intermediate form: the reference for what Verilog is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from firmware.compiler.intermediate_form import (
    Constant,
    Field,
    If,
    KernelForm,
    Leave,
    Load,
    Loop,
    Node,
    Operation,
    Scope,
    Store,
    Value,
    Variable,
)
from firmware.proof.term_graph import apply
from orchestrator.engine.lfsr import lfsr_next

MOST_NODES = 200_000
"""Most nodes of a call; a longer one is an error."""
Cell = tuple[str, str, int]
"""Record, field and index; the index of a single number is 0."""


@dataclass
class Interpreter:
    """Execution of one kernel on cells; a cell that is not there holds 0."""

    cells: dict[Cell, int]
    variables: dict[Variable, int] = field(default_factory=dict)
    executed: int = 0

    def run(self, form: KernelForm, now: int) -> int:
        """Execute a kernel at the time `now` (ps); returns its answer."""
        self.variables = {form.now: now}
        self._block(form.body)
        return self.variables[form.answer]

    def _value(self, value: Value) -> int:
        return value.value if isinstance(value, Constant) else self.variables.get(value, 0)

    def _cell(self, accessed: Field, index: Value | None) -> Cell:
        return accessed.record, accessed.name, 0 if index is None else self._value(index)

    def _block(self, nodes: tuple[Node, ...]) -> int | None:
        """Execute nodes; returns the label of the scope that is left, None at the end."""
        for node in nodes:
            self.executed += 1
            if self.executed > MOST_NODES:
                raise RuntimeError("the kernel's form does not end")
            left = self._node(node)
            if left is not None:
                return left
        return None

    def _node(self, node: Node) -> int | None:
        if isinstance(node, Operation):
            self.variables[node.target] = self._operation(node)
        elif isinstance(node, Load):
            self.variables[node.target] = self.cells.get(self._cell(node.field, node.index), 0)
        elif isinstance(node, Store):
            self.cells[self._cell(node.field, node.index)] = self._value(node.value)
        elif isinstance(node, If):
            return self._block(node.body if self._value(node.test) else node.orelse)
        elif isinstance(node, Scope):
            left = self._block(node.body)
            return None if left == node.label else left
        elif isinstance(node, Loop):
            while (left := self._block(node.body)) is None:
                pass
            return left
        elif isinstance(node, Leave):
            return node.label
        return None

    def _operation(self, node: Operation) -> int:
        return operate(node.op, [self._value(one) for one in node.operands], node.table)


def operate(op: str, values: list[int], table: tuple[int, ...] = ()) -> int:
    """Result of an operation on int64 numbers, wrapped to an int64. Division by 0 is 0."""
    if op == "copy":
        return values[0]
    if op == "select":
        return values[1] if values[0] else values[2]
    if op == "table":
        return table[values[0]] if -len(table) <= values[0] < len(table) else 0
    if op == "lfsr":
        return wrapped(lfsr_next(values[0]))
    if op == "ne":
        return int(values[0] != values[1])
    if op in ("shl", "shr"):
        values = [values[0], values[1] & 63]
    result = apply(op, values)
    return 0 if result is None else wrapped(int(result))


def wrapped(value: int) -> int:
    """The int64 with the low 64 bits of a number."""
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def cells_of(values: Mapping[str, int]) -> dict[Cell, int]:
    """Cells of single numbers by "record.field"."""
    cells: dict[Cell, int] = {}
    for key, value in values.items():
        record, _, name = key.partition(".")
        cells[record, name, 0] = value
    return cells
