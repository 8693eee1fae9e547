"""Condition coverage of this process and of the processes that it starts.

A folder has a list of files with the number of each one's first condition, and a map of two octets
a condition: the first is 1 when it was false once, the second when it was true. Processes that
have the folder's name in their environment (TAILBACK_CONDITIONS, and `startup` on PYTHONPATH) load
these files marked and write into the same map, so that no result has to be sent when they end.
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import json
import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

# Instrumentation of conditions in compiled functions: each must be seen true and false.
#
# A condition is the test of an `if`, a `while` or a conditional expression, an operand of `and` and
# `or`, or a loop over a range: a loop is *true* where it begins a round and *false* where it has no
# more. Every branch follows from them. `marked` puts a call around each, which notes how it came
# out.

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
        said = list(_excused(self._adjacent_lines(place), text))
        everywhere = tuple((how, reason) for name, how, reason in said if name is None)
        there = tuple((name, how, reason) for name, how, reason in said if name is not None)
        where = place.lineno, place.col_offset + 1
        self.found.append(Condition(*where, self._function, text, everywhere, there))
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number), inner], [])
        return ast.copy_location(call, place)

    def _adjacent_lines(self, place: ast.expr) -> list[str]:
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


VARIABLE = "TAILBACK_CONDITIONS"
STARTUP = Path(__file__).parent / "startup"
FILES, MAP = "files.json", "marks"


class Marks:
    """The conditions of some files, and how they have come out so far."""

    def __init__(self, folder: Path, files: Iterable[Path]) -> None:
        self.folder = folder
        self.files: dict[Path, list[Condition]] = {}
        self.first: dict[Path, int] = {}
        count = 0
        for path in files:
            self.files[path] = conditions(path.read_text("utf-8"))
            self.first[path] = count
            count += len(self.files[path])
        numbers = {str(path): number for path, number in self.first.items()}
        (folder / FILES).write_text(json.dumps(numbers), encoding="utf-8")
        (folder / MAP).write_bytes(bytes(2 * max(count, 1)))
        self._map = _mapped(folder)

    def environment(self, given: dict[str, str]) -> dict[str, str]:
        """Of a process that is to note conditions, and of all that it starts."""
        path = os.pathsep.join(filter(None, (str(STARTUP), given.get("PYTHONPATH"))))
        return given | {VARIABLE: str(self.folder), "PYTHONPATH": path}

    def came_out(self, path: Path, number: int, how: bool) -> bool:
        """True if a file's condition was true, or false, once."""
        return self._map[2 * (self.first[path] + number) + how] == 1

    def state(self) -> bytes:
        """All of it, to be compared."""
        return self._map[:]

    def add(self, state: bytes) -> None:
        """Add the outcomes of another `state`."""
        self._map[:] = bytes(here | there for here, there in zip(self._map[:], state, strict=True))

    def clear(self) -> None:
        """Reset all outcomes."""
        self._map[:] = bytes(len(self._map))

    def close(self) -> None:
        """No more is asked."""
        self._map.close()


def _mapped(folder: Path) -> mmap.mmap:
    with (folder / MAP).open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def install(folder: Path) -> None:
    """Have this process load the listed files marked."""
    numbers: dict[str, int] = json.loads((folder / FILES).read_text("utf-8"))
    marks = _mapped(folder)

    def mark(number: int, value: Any) -> Any:
        marks[2 * number + bool(value)] = 1
        return value

    def rounds(number: int, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            marks[2 * number + 1] = 1
            yield value
        marks[2 * number] = 1

    setattr(builtins, MARK, mark)
    setattr(builtins, LOOP, rounds)
    loader: Any = importlib.machinery.SourceFileLoader
    as_before: Callable[[Any, str], CodeType | None] = loader.get_code

    def get_code(self: Any, name: str) -> CodeType | None:
        source = os.path.realpath(self.get_filename(name))
        if source not in numbers:
            return as_before(self, name)
        text = Path(source).read_text("utf-8")
        made: CodeType = compile(marked(text, numbers[source]), source, "exec", dont_inherit=True)
        return made

    loader.get_code = get_code
