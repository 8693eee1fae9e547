"""Intermediate form of a kernel: operations, loads, stores and structured control flow.

All values are int64 numbers; an operation has the meaning of Python's on the same numbers
(`//` and `%` round towards minus infinity) as long as the result fits an int64, and wraps beyond,
as the compiled kernel does. Control flow has three constructs: `If`, `Scope` (a block that `Leave`
ends from within) and `Loop` (a block that repeats until a `Leave` of a scope around it).

The term graph of the proofs (firmware.proof.term_graph) has no control flow: it unrolls loops or
replaces them by bounds, and forgets the content of arrays, so that it cannot be executed. The form
shares its front end (firmware.proof.kernel_source), its operations by name and their bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

BINARY = ("add", "sub", "mul", "div", "mod", "shl", "shr", "bitand", "bitor", "bitxor")
EXTREMES = ("min", "max")
COMPARISONS = ("lt", "le", "eq", "ne")
OPERATIONS = (*BINARY, *EXTREMES, *COMPARISONS, "copy", "select", "table", "lfsr")
"""`copy` of its operand; `select` (condition, value if it is not 0, value if it is 0); `table`:
the constant at an index; `lfsr`: one draw (orchestrator.engine.lfsr.lfsr_next)."""


@dataclass(frozen=True)
class Constant:
    """A constant number."""

    value: int


@dataclass(frozen=True)
class Variable:
    """Variable of a kernel; `name` is that of the source, for reading only."""

    number: int
    name: str


@dataclass(frozen=True)
class Field:
    """Field of a record. `size`: number of cells of an array, 0 for a single number."""

    record: str
    name: str
    size: int = 0

    def __str__(self) -> str:
        return f"{self.record}.{self.name}"


Value = Constant | Variable


@dataclass(frozen=True)
class Operation:
    """`target` becomes the result of `op` on the operands."""

    target: Variable
    op: str
    operands: tuple[Value, ...]
    table: tuple[int, ...] = ()


@dataclass(frozen=True)
class Load:
    """`target` becomes the content of a field, or of the cell `index` of an array."""

    target: Variable
    field: Field
    index: Value | None = None


@dataclass(frozen=True)
class Store:
    """A field, or the cell `index` of an array, becomes `value`."""

    field: Field
    value: Value
    index: Value | None = None


@dataclass(frozen=True)
class If:
    """Executes `body` where the test is not 0, else `orelse`."""

    test: Value
    body: tuple[Node, ...]
    orelse: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Scope:
    """Executes `body` until its end or a `Leave` with its label."""

    label: int
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Loop:
    """Repeats `body`; a `Leave` of a scope around it ends it.

    `span`: first value, end and step of a counter, which bound the rounds; None: a `while`.
    """

    body: tuple[Node, ...]
    span: tuple[Value, Value, int] | None = None


@dataclass(frozen=True)
class Leave:
    """Continues behind the scope with this label."""

    label: int


Node = Operation | Load | Store | If | Scope | Loop | Leave


@dataclass(frozen=True)
class KernelForm:
    """Intermediate form of one kernel. `answer` has the returned number at its end."""

    event: str
    now: Variable
    answer: Variable
    body: tuple[Node, ...]


def all_nodes(body: tuple[Node, ...]) -> Iterator[Node]:
    """All nodes of a block, those of inner blocks included."""
    for node in body:
        yield node
        if isinstance(node, If):
            yield from all_nodes(node.body)
            yield from all_nodes(node.orelse)
        elif isinstance(node, Scope | Loop):
            yield from all_nodes(node.body)


def stored_fields(body: tuple[Node, ...]) -> set[Field]:
    """Fields that a block writes."""
    return {node.field for node in all_nodes(body) if isinstance(node, Store)}


def used_fields(body: tuple[Node, ...]) -> set[Field]:
    """Fields that a block reads or writes."""
    return {node.field for node in all_nodes(body) if isinstance(node, Load | Store)}
