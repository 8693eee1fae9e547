"""Lowering of loops and nested blocks to the intermediate form."""

from __future__ import annotations

import ast
import itertools
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from firmware.compiler.expression_lowering import ExpressionLowering
from firmware.compiler.intermediate_form import (
    Constant,
    If,
    Leave,
    Loop,
    Node,
    Operation,
    Scope,
    Variable,
)
from firmware.proof.kernel_source import Source

MOST_UNROLLED = 64
"""Most rounds of a loop over a constant tuple."""


@dataclass
class Numbering:
    """Numbers of the variables and scopes of one kernel."""

    variables: Iterator[int] = field(default_factory=itertools.count)
    scopes: Iterator[int] = field(default_factory=itertools.count)


class LoopLowering(ExpressionLowering):
    """Lowering of loops in one function's frame. Raises Untranslated."""

    def __init__(
        self,
        source: Source,
        names: dict[str, Any],
        truths: set[Variable],
        numbering: Numbering,
    ) -> None:
        super().__init__(source, names, truths)
        self.numbering = numbering
        self.loops: list[tuple[int, int]] = []
        """Scopes that `break` and `continue` leave, innermost last."""
        self.nesting = 0

    @abstractmethod
    def block(self, statements: list[ast.stmt]) -> None: ...

    @abstractmethod
    def assign(self, target: ast.expr, value: Any) -> None: ...

    def new_variable(self, name: str) -> Variable:
        return Variable(next(self.numbering.variables), name)

    def nested(self, statements: list[ast.stmt]) -> tuple[Node, ...]:
        """Nodes of a nested block."""
        outer, self.out = self.out, []
        self.nesting += 1
        self.block(statements)
        self.nesting -= 1
        inner, self.out = self.out, outer
        return tuple(inner)

    def copied(self, value: Any) -> Any:
        """Copy a variable, so that a later assignment does not change the value."""
        if not isinstance(value, Variable):
            return value
        copied = self.new_variable(value.name)
        self.out.append(Operation(copied, "copy", (value,)))
        return copied

    def lower_while(self, node: ast.While) -> None:
        left, continued = next(self.numbering.scopes), next(self.numbering.scopes)
        outer, self.out = self.out, []
        self.nesting += 1
        test = self.number(node.test)
        if not (isinstance(test, Constant) and test.value):
            self.out.append(If(test, (), (Leave(left),)))
        self.loops.append((left, continued))
        body = self.nested(node.body)
        self.loops.pop()
        self.nesting -= 1
        inner, self.out = self.out, outer
        inner.append(Scope(continued, body))
        self.out.append(Scope(left, (Loop(tuple(inner)),)))

    def lower_for(self, node: ast.For) -> None:
        call = node.iter
        is_range = isinstance(call, ast.Call) and self.value(call.func) is range
        if not is_range:
            self._for_each(node, self.value(node.iter))
            return
        assert isinstance(call, ast.Call)
        bounds = [self.number(argument) for argument in call.args]
        start, stop = (Constant(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        step = bounds[2] if len(bounds) == 3 else Constant(1)
        if not isinstance(step, Constant) or step.value == 0:
            raise self.refuse(node, "a range with a variable step is not translated")
        start, stop = self.copied(start), self.copied(stop)  # `range` reads its bounds once
        counter = self.new_variable("counter")
        self.out.append(Operation(counter, "copy", (start,)))
        left, continued = next(self.numbering.scopes), next(self.numbering.scopes)
        outer, self.out = self.out, []
        operands = (counter, stop) if step.value > 0 else (stop, counter)
        self.out.append(If(self.emit("lt", *operands), (), (Leave(left),)))
        self.nesting += 1
        self.assign(node.target, counter)
        self.nesting -= 1
        self.loops.append((left, continued))
        self.out.append(Scope(continued, self.nested(node.body)))
        self.loops.pop()
        self.out.append(Operation(counter, "add", (counter, step)))
        inner, self.out = self.out, outer
        self.out.append(Scope(left, (Loop(tuple(inner), (start, stop, step.value)),)))

    def _for_each(self, node: ast.For, values: Any) -> None:
        """Unroll a loop over a constant tuple."""
        if not isinstance(values, tuple) or len(values) > MOST_UNROLLED:
            raise self.refuse(node, "loops over ranges and constant tuples are translated")
        left = next(self.numbering.scopes)
        outer, self.out = self.out, []
        for entry in values:
            wrapped = tuple(entry) if isinstance(entry, list) else entry
            if isinstance(wrapped, tuple):
                wrapped = tuple(self.wrap(one, node) for one in wrapped)
            continued = next(self.numbering.scopes)
            self.assign(node.target, self.wrap(wrapped, node))
            self.loops.append((left, continued))
            self.out.append(Scope(continued, self.nested(node.body)))
            self.loops.pop()
        inner, self.out = self.out, outer
        self.out.append(Scope(left, tuple(inner)))
