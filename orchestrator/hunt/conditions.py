"""Instrumentation of conditions in compiled functions: each must be seen true and false.

A condition is the test of an `if`, a `while` or a conditional expression, an operand of `and` and
`or`, or a loop over a range: a loop is *true* where it begins a round and *false* where it has no
more. Every branch follows from them. `marked` puts a call around each, which notes how it came out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

MARK, LOOP = "__tailback_condition__", "__tailback_rounds__"
"""The functions that marked code calls, among the builtins."""
REMARK = re.compile(
    r"#.*?never (?P<how>true|false)(?: on (?P<target>[\w-]+))?(?: \(`(?P<text>[^`]*)`\))?"
    r": (?P<reason>.+)$"
)
"""`# never true: REASON`, or with the condition's text where a line has several; behind it, or as
lines of its own above it. `# never true on TARGET: REASON` is of that target alone."""


@dataclass(frozen=True)
class Condition:
    """One of them, at its place in a file."""

    line: int
    column: int
    function: str
    """The outermost that it is in."""
    text: str
    excused: tuple[tuple[bool, str], ...] = ()
    """Outcome that it never has, by its author, and the reason."""
    excused_on: tuple[tuple[str, bool, str], ...] = ()
    """The same of one target alone, whose name comes first."""

    def never(self, target: str) -> dict[bool, str]:
        """Outcome that it never has on a target, and the reason."""
        there = {how: reason for name, how, reason in self.excused_on if name == target}
        return dict(self.excused) | there

    @property
    def title(self) -> str:
        """With its function: ``on_sent: limiter.active == 0``."""
        return f"{self.function}: {self.text}"


def conditions(text: str) -> list[Condition]:
    """Those of a file, numbered as `marked` numbers them."""
    return _marked(text, 0)[1]


def marked(text: str, first: int) -> ast.Module:
    """The tree of a file whose conditions are noted, under their numbers from `first` on."""
    return _marked(text, first)[0]


def _marked(text: str, first: int) -> tuple[ast.Module, list[Condition]]:
    marker = _Marker(first, text.splitlines())
    tree = ast.fix_missing_locations(marker.visit(ast.parse(text)))
    return tree, marker.found


class _Marker(ast.NodeTransformer):
    def __init__(self, first: int, lines: list[str]) -> None:
        self._first, self._lines = first, lines
        self._function = ""
        self.found: list[Condition] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Its body alone: decorators and defaults are no part of what it does."""
        outermost, self._function = self._function == "", self._function or node.name
        node.body = [self.visit(one) for one in node.body]
        if outermost:
            self._function = ""
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._tested(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._tested(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._tested(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """A value, not a test: its last operand decides nothing."""
        if self._function:
            node.values = [
                *(self._condition(one) for one in node.values[:-1]), self.visit(node.values[-1])
            ]  # fmt: skip
            return node
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        if self._function:
            inner = self.visit(node.iter)
            text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
            node.iter = self._call(LOOP, node.iter, inner, text)
            node.body = [self.visit(one) for one in node.body]
            node.orelse = [self.visit(one) for one in node.orelse]
            return node
        return self.generic_visit(node)

    def _tested(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        if self._function:
            test, node.test = node.test, ast.Constant(True)
            self_test = self._condition(test)
            self.generic_visit(node)
            node.test = self_test
            return node
        return self.generic_visit(node)

    def _condition(self, test: ast.expr) -> ast.expr:
        if isinstance(test, ast.BoolOp):
            test.values = [self._condition(one) for one in test.values]
            return test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self._condition(test.operand)
            return test
        if isinstance(test, ast.Constant):
            return test
        text = ast.unparse(test)
        return self._call(MARK, test, self.visit(test), text)

    def _call(self, name: str, place: ast.expr, inner: ast.expr, text: str) -> ast.expr:
        number = self._first + len(self.found)
        said = list(_excused(self._beside(place), text))
        everywhere = tuple((how, reason) for name, how, reason in said if name is None)
        there = tuple((name, how, reason) for name, how, reason in said if name is not None)
        where = place.lineno, place.col_offset + 1
        self.found.append(Condition(*where, self._function, text, everywhere, there))
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number), inner], [])
        return ast.copy_location(call, place)

    def _beside(self, place: ast.expr) -> list[str]:
        """The lines of a condition, and remarks right above them."""
        first = place.lineno - 1
        while first > 0 and self._lines[first - 1].lstrip().startswith("#"):
            first -= 1
        return self._lines[first : place.end_lineno]


def _excused(lines: list[str], text: str) -> Iterator[tuple[str | None, bool, str]]:
    """Exemption of a condition by the remarks next to it: a target, or None for all targets."""
    for line in lines:
        found = REMARK.search(line)
        if found is not None and found["text"] in (None, text):
            yield found["target"], found["how"] == "true", found["reason"].strip()
