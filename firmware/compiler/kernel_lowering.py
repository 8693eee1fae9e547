"""Lowering of a kernel's syntax tree to the intermediate form; helper functions are inlined.

Code that the form cannot express is refused with its file and line.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from firmware.compiler.intermediate_form import (
    Constant,
    If,
    KernelForm,
    Leave,
    Operation,
    Scope,
    Value,
    Variable,
)
from firmware.compiler.loop_lowering import LoopLowering, Numbering
from firmware.compiler.record_lowering import ArrayHandle, RecordHandle
from firmware.proof.counterexample_replay import kernels_of, shapes_of
from firmware.proof.field_ranges import ENTITY, RECORDS
from firmware.proof.kernel_source import Source, python_function, source_of
from orchestrator.algorithm import Algorithm
from orchestrator.engine.records import FRAME

DEEPEST = 30
"""Most nested calls: recursion is refused."""


def lower_algorithm(algorithm: Algorithm) -> list[KernelForm]:
    """Intermediate forms of all kernels of an algorithm, timers included. Raises Untranslated."""
    return [lower_kernel(algorithm, event) for event in kernels_of(algorithm)]


def lower_kernel(algorithm: Algorithm, event: str) -> KernelForm:
    """Intermediate form of the kernel of an event. Raises Untranslated."""
    source = source_of(python_function(kernels_of(algorithm)[event]))
    entity = ENTITY[algorithm.kind]
    dtypes: list[tuple[str, np.dtype]] = [
        ("state", algorithm.state),
        ("params", algorithm.params.dtype()),
        (entity, RECORDS[entity][0]),
        ("frame", FRAME),
    ]
    numbering = Numbering()
    now = Variable(next(numbering.variables), "now")
    answer = Variable(next(numbering.variables), "answer")
    given: list[Any] = [RecordHandle(name, shapes_of(dtype)) for name, dtype in dtypes]
    given += [now, RecordHandle("message", shapes_of(FRAME))]
    names = dict(zip(source.parameters, given, strict=True))
    frame = KernelLowering(source, names, set(), numbering, 0)
    returned = frame.run()
    if not isinstance(returned, Constant | Variable):
        raise frame.refuse(source.tree, "a kernel returns a number on every path")
    frame.out.append(Operation(answer, "copy", (returned,)))
    return KernelForm(event, now, answer, tuple(frame.out))


class KernelLowering(LoopLowering):
    """Lowering of one function: `run` returns its result, `out` has its nodes."""

    def __init__(
        self,
        source: Source,
        names: dict[str, Any],
        truths: set[Variable],
        numbering: Numbering,
        depth: int,
    ) -> None:
        super().__init__(source, names, truths, numbering)
        self.depth = depth
        self.scope = next(numbering.scopes)
        self.result: Any = None
        self.returns = 0
        self.assigned = {
            node.id
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }

    def run(self) -> Any:
        """Lower the function's body; returns its result, None without one."""
        for name in self.assigned & set(self.names):
            if isinstance(self.names[name], Constant | Variable):
                self.names[name] = self._assign_name(name, self.names[name])
        *body, last = self.source.tree.body
        self.block(body)
        if self.returns == 0 and isinstance(last, ast.Return):
            return None if last.value is None else self.value(last.value)
        self.step(last)
        if self.returns:
            self.out = [Scope(self.scope, tuple(self.out))]
        return self.result

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.step(statement)
            if self.out and isinstance(self.out[-1], Leave):
                return  # unreachable code follows

    def step(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.assign(target, value)
        elif isinstance(node, ast.AugAssign):
            before = self.number(_as_read(node.target))
            self.assign(node.target, self.operate(node.op, before, self.number(node.value), node))
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, self.value(node.value))
        elif isinstance(node, ast.If):
            self._if(node)
        elif isinstance(node, ast.Return):
            self._return(node)
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self.value(node.value)
        elif isinstance(node, ast.For) and not node.orelse:
            self.lower_for(node)
        elif isinstance(node, ast.While) and not node.orelse:
            self.lower_while(node)
        elif isinstance(node, ast.Break | ast.Continue):
            left, continued = self.loops[-1]
            self.out.append(Leave(left if isinstance(node, ast.Break) else continued))
        elif not isinstance(node, ast.Pass):
            raise self.refuse(node, f"{type(node).__name__} is not translated")

    # assignments

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, Constant | Variable):
                self._assign_name(target.id, value)
            elif self.nesting and self.names.get(target.id, value) != value:
                raise self.refuse(target, f"{target.id!r} is a record or tuple that may change")
            else:
                self.names[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, tuple):
            if len(target.elts) != len(value):
                raise self.refuse(target, "targets and values differ in number")
            numbers = [self.copied(one) for one in value]  # all are read before one is assigned
            for element, number in zip(target.elts, numbers, strict=True):
                self.assign(element, number)
        elif isinstance(target, ast.Attribute | ast.Subscript):
            self.store(target, self.as_number(value, target))
        else:
            raise self.refuse(target, "this target of an assignment is not translated")

    def _assign_name(self, name: str, value: Value) -> Variable:
        variable = self.names.get(name)
        if not isinstance(variable, Variable) or not variable.name.startswith(f"{name}'"):
            if name in self.names and self.nesting:
                raise self.refuse(self.source.tree, f"{name!r} is a number and a record")
            variable = self.new_variable(f"{name}'{self.scope}")
            self.names[name] = variable
        self.out.append(Operation(variable, "copy", (value,)))
        return variable

    # control flow

    def _if(self, node: ast.If) -> None:
        test = self.number(node.test)
        if isinstance(test, Constant):
            self.block(node.body if test.value else node.orelse)
            return
        before = dict(self.names)
        body = self.nested(node.body)
        self.names = {**self.names}
        orelse = self.nested(node.orelse)
        self._check_bindings(before, node)
        self.out.append(If(test, body, orelse))

    def _check_bindings(self, before: dict[str, Any], node: ast.AST) -> None:
        """Drop records and tuples that only some paths bind: a later use is refused."""
        for name, value in list(self.names.items()):
            if name not in before and not isinstance(value, Variable):
                del self.names[name]

    def _return(self, node: ast.Return) -> None:
        value = None if node.value is None else self.value(node.value)
        parts = value if isinstance(value, tuple) else (value,)
        if self.returns == 0 and value is not None:
            made = tuple(self.new_variable("result") for _ in parts)
            self.result = made if isinstance(value, tuple) else made[0]
        targets = self.result if isinstance(self.result, tuple) else (self.result,)
        alike = isinstance(value, tuple) == isinstance(self.result, tuple)
        if not alike or len(targets) != len(parts) or (value is None) != (self.result is None):
            raise self.refuse(node, "returns of different shapes are not translated")
        self.returns += 1
        for target, number in zip(targets, parts, strict=True):
            if target is not None:
                self.out.append(Operation(target, "copy", (self.as_number(number, node),)))
        self.out.append(Leave(self.scope))

    def call_function(self, function: Any, given: list[Any], node: ast.AST) -> Any:
        """Inline a helper function; returns its result."""
        try:
            source = source_of(function)
        except (LookupError, AttributeError, OSError):
            name = getattr(function, "__name__", repr(function))
            raise self.refuse(node, f"the function {name} has no translation") from None
        if self.depth >= DEEPEST:
            raise self.refuse(node, "calls are nested too deep")
        if len(source.parameters) != len(given):
            raise self.refuse(node, "default values of parameters are not translated")
        for value in given:
            if isinstance(value, ArrayHandle):
                raise self.refuse(node, "an array as an argument is not translated")
        names = dict(zip(source.parameters, given, strict=True))
        inner = KernelLowering(source, names, self.truths, self.numbering, self.depth + 1)
        result = inner.run()
        self.out += inner.out
        return result


def _as_read(target: ast.expr) -> ast.expr:
    """The expression that reads a target of an assignment."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load(), lineno=target.lineno, col_offset=target.col_offset)
    return target
