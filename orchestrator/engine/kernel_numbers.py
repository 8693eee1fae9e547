"""Numbers in the source of kernels: literals beyond an int64, and powers, which no guard checks."""

from __future__ import annotations

import ast
import dis
import operator
from collections.abc import Callable
from typing import Any

from orchestrator.engine.kernel_mistakes import KernelMistake

MULTIPLY = "multiply: a product beyond an int64 is refused"
ALL_INT64 = "all numbers of kernels are int64"
INT64 = range(-(2**63), 2**63)


def check_constants(function: Callable[..., Any]) -> None:
    """Raise KernelMistake for a number in the code of a kernel that no int64 is."""
    line = function.__code__.co_firstlineno
    for step in dis.get_instructions(function):
        line = step.starts_line or line
        value = step.argval
        if step.opname == "LOAD_GLOBAL":
            value = function.__globals__.get(value)
        if isinstance(value, int) and value not in INT64 and step.opname in _LOADS:
            shown = str(value) if value.bit_length() < 200 else "a number"
            cause = f"{shown} is beyond an int64"
            raise KernelMistake(function, line, cause, ALL_INT64)


_LOADS = ("LOAD_CONST", "LOAD_GLOBAL")


def is_power(node: ast.BinOp | ast.AugAssign) -> bool:
    """True for a power of something that is no literal."""
    return isinstance(node.op, ast.Pow) and not is_literal(node)


def is_literal(node: ast.AST) -> bool:
    """True for an expression of numbers alone, which Python computes when it reads the code."""
    kinds = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
    return all(isinstance(one, kinds) for one in ast.walk(node))


def literal_value(node: ast.expr) -> int:
    """The number that an expression of numbers alone is; 0 where it is none, or a division by 0."""
    try:
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, int) else 0
        if isinstance(node, ast.UnaryOp):
            return int(_OPERATIONS[type(node.op)](literal_value(node.operand)))
        if isinstance(node, ast.BinOp):
            left, right = literal_value(node.left), literal_value(node.right)
            if isinstance(node.op, ast.Pow | ast.LShift) and right > 63:
                return 2**63 if left else 0
            return int(_OPERATIONS[type(node.op)](left, right))
    except (KeyError, ValueError, ArithmeticError):
        return 0
    return 0


_OPERATIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.USub: operator.neg,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}
