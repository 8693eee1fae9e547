"""Lowering of a kernel's expressions to the intermediate form."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from firmware.compiler.intermediate_form import (
    Constant,
    Field,
    If,
    Load,
    Node,
    Operation,
    Value,
)
from firmware.compiler.record_lowering import FLOW_STATE, RecordHandle, RecordLowering
from firmware.proof.kernel_source import python_function
from firmware.proof.symbolic_execution import OPERATORS

ENGINE = "orchestrator.engine.jit"
WORDS = Field("file", "word", 1 << 32)
"""Words of a file or of the stamps of an acknowledgement, by index (`word_at`)."""
COMPARED: dict[type[ast.cmpop], tuple[str, bool]] = {
    ast.Lt: ("lt", False),
    ast.Gt: ("lt", True),
    ast.LtE: ("le", False),
    ast.GtE: ("le", True),
    ast.Eq: ("eq", False),
    ast.NotEq: ("ne", False),
}
"""Comparison -> operation, and whether its operands are exchanged."""


class ExpressionLowering(RecordLowering):
    """Lowering of expressions in one function's frame. Raises Untranslated."""

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return self.wrap(node.value, node)
        if isinstance(node, ast.Name):
            if node.id in self.names:
                return self.names[node.id]
            if node.id not in self.source.names:
                raise self.refuse(node, f"{node.id!r} is read before it is assigned")
            return self.wrap(self.source.names[node.id], node)
        if isinstance(node, ast.Attribute):
            return self.read_attribute(self.value(node.value), node)
        if isinstance(node, ast.BinOp):
            left = self.number(node.left)
            return self.operate(node.op, left, self.number(node.right), node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BoolOp):
            return self._boolean(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.IfExp):
            return self._conditional(node)
        if isinstance(node, ast.Subscript):
            return self.read_subscript(node)
        if isinstance(node, ast.Tuple):
            return tuple(self.value(element) for element in node.elts)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self.refuse(node, f"{type(node).__name__} is not translated")

    def operate(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        if isinstance(op, ast.Pow) and isinstance(left, Constant) and isinstance(right, Constant):
            return Constant(int(left.value**right.value))
        name = OPERATORS.get(type(op))
        if name is None:
            raise self.refuse(node, f"{type(op).__name__} is not translated")
        if isinstance(right, Constant):
            if name in ("div", "mod") and right.value == 0:
                raise self.refuse(node, "divides by 0")
            shift = _power_of_two(right)
            if shift is not None and name == "div":  # both round towards minus infinity
                return self.emit("shr", left, Constant(shift))
            if shift is not None and name == "mod":
                return self.emit("bitand", left, Constant(right.value - 1))
        if name == "mul":
            for factor, other in ((left, right), (right, left)):
                shift = _power_of_two(factor)
                if shift is not None:
                    return self.emit("shl", other, Constant(shift)) if shift else other
        return self.emit(name, left, right)

    def _unary(self, node: ast.UnaryOp) -> Value:
        operand = self.number(node.operand)
        if isinstance(node.op, ast.Not):
            return self.emit("eq", operand, Constant(0))
        if isinstance(node.op, ast.USub):
            return self.emit("sub", Constant(0), operand)
        if isinstance(node.op, ast.Invert):
            return self.emit("sub", Constant(-1), operand)
        return operand

    def _boolean(self, node: ast.BoolOp) -> Value:
        """`and` and `or`: the value of the last operand that was evaluated, as in Python."""
        result = self.number(node.values[0])
        for operand in node.values[1:]:
            both = isinstance(node.op, ast.And)
            if isinstance(result, Constant):
                if bool(result.value) is both:
                    result = self.number(operand)
                    continue
                return result
            outer, self.out = self.out, []
            value = self.number(operand)
            inner, self.out = self.out, outer
            if self.is_truth(result) and self.is_truth(value) and _is_cheap(inner):
                self.out += inner
                result = self.emit("bitand" if both else "bitor", result, value)
                continue
            joined = self.new_variable("and" if both else "or")
            self.out.append(Operation(joined, "copy", (result,)))
            inner.append(Operation(joined, "copy", (value,)))
            branches = (tuple(inner), ()) if both else ((), tuple(inner))
            self.out.append(If(joined, *branches))
            result = joined
        return result

    def _compare(self, node: ast.Compare) -> Value:
        left, result = self.number(node.left), None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.number(right_node)
            if type(op) not in COMPARED:
                raise self.refuse(node, f"{type(op).__name__} is not translated")
            name, exchanged = COMPARED[type(op)]
            operands = (right, left) if exchanged else (left, right)
            compared = self.emit(name, *operands)
            result = compared if result is None else self.emit("bitand", result, compared)
            left = right
        assert result is not None
        return result

    def _conditional(self, node: ast.IfExp) -> Any:
        test = self.number(node.test)
        if isinstance(test, Constant):
            return self.value(node.body if test.value else node.orelse)
        outer, branches, values = self.out, list[list[Node]](), list[Value]()
        for expression in (node.body, node.orelse):
            self.out = []
            values.append(self.number(expression))
            branches.append(self.out)
        self.out = outer
        if all(_is_cheap(branch) for branch in branches):
            self.out += [*branches[0], *branches[1]]
            return self.emit("select", test, *values)
        joined = self.new_variable("chosen")
        for branch, value in zip(branches, values, strict=True):
            branch.append(Operation(joined, "copy", (value,)))
        self.out.append(If(test, tuple(branches[0]), tuple(branches[1])))
        return joined

    # calls

    def _call(self, node: ast.Call) -> Any:
        function = python_function(self.value(node.func))
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            raise self.refuse(node, "keywords and * in a call are not translated")
        given = [self.value(argument) for argument in node.args]
        module, name = getattr(function, "__module__", ""), getattr(function, "__name__", "")
        if function in (min, max) and len(given) > 1:
            result = self.as_number(given[0], node)
            for other in given[1:]:
                result = self.emit(name, result, self.as_number(other, node))
            return result
        if function is abs:
            number = self.as_number(given[0], node)
            return self.emit("max", number, self.emit("sub", Constant(0), number))
        if function in (int, np.int64):
            return self.as_number(given[0], node)
        if function is bool:
            return self.emit("ne", self.as_number(given[0], node), Constant(0))
        if (module, name) == ("orchestrator.engine.lfsr", "lfsr_next"):
            return self.emit("lfsr", self.as_number(given[0], node))
        if module == ENGINE and name == "select":
            return self.emit("select", *(self.as_number(one, node) for one in given))
        if module == ENGINE and name == "word_at":
            target = self.new_variable("word")
            self.out.append(Load(target, WORDS, self.as_number(given[1], node)))
            return target
        if module == ENGINE and name == "flow_state":
            record = given[0]
            assert isinstance(record, RecordHandle)
            flow = self.emit("copy", self.as_number(given[1], node))
            return RecordHandle(FLOW_STATE, record.shapes, flow)
        return self.call_function(function, given, node)


def _is_cheap(nodes: list[Node]) -> bool:
    """Whether nodes may be executed though their result is not used: no effect, no long unit."""
    for node in nodes:
        if isinstance(node, Load):
            if node.index is not None:
                return False
        elif not isinstance(node, Operation) or node.op in ("mul", "div", "mod", "lfsr"):
            return False
    return len(nodes) <= 8


def _power_of_two(value: Value) -> int | None:
    """Exponent of a constant power of two; None for another value."""
    if isinstance(value, Constant) and value.value > 0 and value.value.bit_count() == 1:
        return value.value.bit_length() - 1
    return None
