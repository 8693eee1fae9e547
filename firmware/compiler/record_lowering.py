"""Lowering of reads and writes of record fields to the intermediate form."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firmware.compiler.intermediate_form import (
    COMPARISONS,
    Constant,
    Field,
    Load,
    Node,
    Operation,
    Store,
    Value,
    Variable,
)
from firmware.proof.kernel_source import Source
from firmware.proof.symbolic_state import Untranslated
from firmware.proof.term_graph import LEAST, MOST, apply

FLOW_STATE = "flow_state"
"""Record name of the state of one flow of a receiver: its fields are arrays by flow."""
MOST_FLOWS = 1 << 16
"""Flows of a receiver at the most."""


@dataclass(frozen=True)
class RecordHandle:
    """Record argument of a kernel. `flow`: the index of a receiver's flow."""

    name: str
    shapes: dict[str, tuple[int, ...]] = field(hash=False, compare=False)
    flow: Value | None = None


@dataclass(frozen=True)
class ArrayHandle:
    """Array field of a record."""

    record: RecordHandle
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.record.shapes[self.name]


def stride_of(size: int) -> int:
    """Cells from one row of an array of two indices to the next: a power of two."""
    return 1 << max(size - 1, 0).bit_length()


class RecordLowering(ABC):
    """Lowering of field accesses in one function's frame. Raises Untranslated.

    `truths` are the variables that are 0 or 1, shared by all frames of a kernel.
    """

    def __init__(self, source: Source, names: dict[str, Any], truths: set[Variable]) -> None:
        self.source, self.names, self.truths = source, names, truths
        self.out: list[Node] = []

    @abstractmethod
    def value(self, node: ast.expr) -> Any: ...

    @abstractmethod
    def new_variable(self, name: str) -> Variable: ...

    @abstractmethod
    def call_function(self, function: Any, given: list[Any], node: ast.AST) -> Any: ...

    def refuse(self, node: ast.AST, reason: str) -> Untranslated:
        return Untranslated(str(self.source.file), getattr(node, "lineno", 0), reason)

    def emit(self, op: str, *operands: Value, table: tuple[int, ...] = ()) -> Value:
        """Append an operation and return its result; constants are folded."""
        if all(isinstance(one, Constant) for one in operands):
            folded = _fold(op, [one.value for one in operands if isinstance(one, Constant)], table)
            if folded is not None:
                return Constant(folded)
        if op == "select" and isinstance(operands[0], Constant):
            return operands[1] if operands[0].value else operands[2]
        target = self.new_variable(op)
        self.out.append(Operation(target, op, operands, table))
        logical = op in ("bitand", "bitor") and all(map(self.is_truth, operands))
        if op in COMPARISONS or logical:
            self.truths.add(target)
        return target

    def is_truth(self, value: Value) -> bool:
        """Return whether a value is 0 or 1 by its operation."""
        if isinstance(value, Constant):
            return value.value in (0, 1)
        return value in self.truths

    def wrap(self, value: Any, node: ast.AST) -> Any:
        """Value of a Python object: integers and booleans become constants."""
        if isinstance(value, bool | np.bool_ | int | np.integer):
            if not LEAST <= int(value) <= MOST:
                raise self.refuse(node, f"{value} does not fit an int64")
            return Constant(int(value))
        if isinstance(value, float):
            raise self.refuse(node, "floats are not translated")
        return value

    def number(self, node: ast.expr) -> Value:
        return self.as_number(self.value(node), node)

    def as_number(self, value: Any, node: ast.AST) -> Value:
        if not isinstance(value, Constant | Variable):
            raise self.refuse(node, f"a number is expected, not {type(value).__name__}")
        return value

    def read_attribute(self, value: Any, node: ast.Attribute) -> Any:
        if isinstance(value, Constant | Variable):
            raise self.refuse(node, f"a number has no {node.attr!r}")
        if not isinstance(value, RecordHandle):
            return self.wrap(getattr(value, node.attr), node)
        if node.attr not in value.shapes:
            raise self.refuse(node, f"{value.name} has no field {node.attr!r}")
        if value.shapes[node.attr]:
            return ArrayHandle(value, node.attr)
        target = self.new_variable(f"{value.name}_{node.attr}")
        self.out.append(Load(target, *_scalar_field(value, node.attr)))
        return target

    def store(self, target: ast.Attribute | ast.Subscript, value: Value) -> None:
        record = self.value(target.value)
        if isinstance(target, ast.Attribute):
            if not isinstance(record, RecordHandle) or record.shapes.get(target.attr) != ():
                raise self.refuse(target, f"no record has a field {target.attr!r} here")
            stored, index = _scalar_field(record, target.attr)
            self.out.append(Store(stored, value, index))
            return
        if not isinstance(record, ArrayHandle):
            raise self.refuse(target, "only arrays of a record are assigned to by index")
        self.out.append(
            Store(self._array_field(record, target), value, self._index(record, target))
        )

    def _array_field(self, array: ArrayHandle, node: ast.AST) -> Field:
        if array.record.flow is not None:
            raise self.refuse(node, "arrays in the state of a flow are not translated")
        first, *rest = array.shape
        return Field(array.record.name, array.name, first * (stride_of(rest[0]) if rest else 1))

    def _index(self, array: ArrayHandle, node: ast.Subscript) -> Value:
        given = self.value(node.slice)
        indices = given if isinstance(given, tuple) else (given,)
        if len(indices) != len(array.shape) or len(indices) > 2:
            raise self.refuse(node, f"{array.name} has {len(array.shape)} indices")
        first, *rest = (self.as_number(one, node) for one in indices)
        if not rest:
            return first
        shift = Constant(stride_of(array.shape[1]).bit_length() - 1)
        return self.emit("add", self.emit("shl", first, shift), rest[0])

    def read_subscript(self, node: ast.Subscript) -> Any:
        value = self.value(node.value)
        if isinstance(value, ArrayHandle):
            index = self._index(value, node)
            target = self.new_variable(f"{value.record.name}_{value.name}")
            self.out.append(Load(target, self._array_field(value, node), index))
            return target
        if not isinstance(value, tuple):
            raise self.refuse(node, "only arrays of a record and constant tuples have an index")
        at = self.number(node.slice)
        if isinstance(at, Constant):
            return self.wrap(value[at.value], node)
        entries = [self.as_number(self.wrap(entry, node), node) for entry in value]
        if not all(isinstance(entry, Constant) for entry in entries):
            raise self.refuse(node, "an index of a tuple of variables is not translated")
        table = tuple(entry.value for entry in entries if isinstance(entry, Constant))
        return self.emit("table", at, table=table)


def _scalar_field(record: RecordHandle, name: str) -> tuple[Field, Value | None]:
    if record.flow is None:
        return Field(record.name, name), None
    return Field(record.name, name, MOST_FLOWS), record.flow


def _fold(op: str, values: list[int], table: tuple[int, ...]) -> int | None:
    """Result of an operation on constants; None where it has none within an int64."""
    if op == "copy":
        return values[0]
    if op in ("select", "table", "lfsr"):
        return None
    result = int(values[0] != values[1]) if op == "ne" else apply(op, values)
    return int(result) if result is not None and LEAST <= result <= MOST else None
