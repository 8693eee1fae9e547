"""Mutants of kernels: edits of the syntax trees of a plan's algorithms, as `tailback mutate --draw`
draws them.

The operators (`OPERATORS`): a term or factor dropped, a constant changed, a branch taken always or
never (so that what is done per window is done per acknowledgement), an assignment to the state
forgotten (a reset, a counter, a moving average), a whole event ignored.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from orchestrator.algorithm import Algorithm
from orchestrator.batch.kernel_edit import KernelEdit
from orchestrator.engine.jit import plain

ENGINE = "orchestrator.engine."
RECORDS = frozenset(
    {"state", "params", "entity", "frame", "message", "queue", "limiter", "flow", "node", "port"}
)
"""First arguments of helpers: a call with one of them is no plain function of numbers."""
NO_SCALE = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.Mod)
"""Operations whose right operand is a mask, a shift or a modulus, not a quantity."""
ALWAYS, NEVER = "branch always taken", "branch never taken"
Replacement = ast.AST | None
"""A node instead of another; None: the statement becomes `pass`."""


@dataclass(frozen=True)
class Site:
    """A place of a function at which one operator applies: the node's number in `ast.walk`."""

    operator: str
    node: int
    make: Callable[[Any], Replacement]


def kernel_functions(algorithm: Algorithm) -> list[tuple[FunctionType, bool]]:
    """The functions of plugins that an algorithm's kernels are made of, by name, each with True if
    the engine calls it."""
    kernels = [plain(one) for one in (*algorithm.kernels.values(), *algorithm.timers.values())]
    found = set[FunctionType]()
    for kernel in kernels:
        _reachable(kernel, found)
    by_name = {f"{one.__module__}.{one.__qualname__}": one for one in found}
    return [(by_name[name], by_name[name] in kernels) for name in sorted(by_name)]


def _reachable(function: Any, seen: set[FunctionType]) -> set[FunctionType]:
    """The function and those that it calls, but for the engine's and for closures."""
    if (
        not isinstance(function, FunctionType)
        or function in seen
        or function.__module__.startswith(ENGINE)
        or function.__closure__
    ):
        return seen
    module = sys.modules.get(function.__module__)
    if plain(getattr(module, function.__name__, None)) is not function:
        return seen
    seen.add(function)
    names = function.__code__.co_names
    for name in names:
        value = function.__globals__.get(name)
        inner = vars(value) if isinstance(value, ModuleType) else {name: value}
        for called in names:
            _reachable(plain(inner.get(called)), seen)
    return seen


def kernel_edits(
    function: FunctionType, is_event: bool
) -> Iterator[tuple[str, Callable[[], KernelEdit | None]]]:
    """(operator, the edit or None where it changes nothing) of every place in a function."""
    tree = _tree(function)
    if tree is None:
        return
    before = ast.unparse(tree)
    for site in _sites(tree, function, is_event):
        yield site.operator, functools.partial(_edit, function, tree, before, site)


def _edit(
    function: FunctionType, tree: ast.FunctionDef, before: str, site: Site
) -> KernelEdit | None:
    made, was, now = _replaced(tree, site)
    source = ast.unparse(made)
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return None
    if source == before:
        return None
    line = function.__code__.co_firstlineno + getattr(_at(tree, site.node), "lineno", 1) - 1
    name = f"{function.__module__}.{function.__name__}"
    change = f"{name}:{line}: {site.operator}: {_short(was)} -> {_short(now)}"
    return KernelEdit(function.__module__, function.__name__, source, change)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:57]}..."


@functools.cache
def _tree(function: FunctionType) -> ast.FunctionDef | None:
    """Its `def` statement without docstring and decorators; None: it has no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError, TypeError):
        return None
    if not isinstance(tree, ast.FunctionDef):
        return None
    tree.decorator_list = []
    if ast.get_docstring(tree, clean=False) is not None and len(tree.body) > 1:
        tree.body = tree.body[1:]
    return tree


def _at(tree: ast.AST, number: int) -> Any:
    return next(one for at, one in enumerate(ast.walk(tree)) if at == number)


def _replaced(tree: ast.FunctionDef, site: Site) -> tuple[ast.FunctionDef, str, str]:
    """A copy with the site's change, and the code before and after it."""
    made = copy.deepcopy(tree)
    node = _at(made, site.node)
    was = ast.unparse(node)
    new = site.make(node) or ast.Pass()
    if isinstance(node, ast.FunctionDef):
        return new, was, "return 0"  # type: ignore[return-value]
    for parent in ast.walk(made):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, new)
            elif isinstance(value, list):
                value[:] = [new if one is node else one for one in value]
    ast.fix_missing_locations(made)
    if isinstance(node, ast.If | ast.IfExp):
        was, shown = f"if {ast.unparse(node.test)}", str(site.operator == ALWAYS)
    else:
        shown = ast.unparse(new)
    return made, was, shown


def _sites(tree: ast.FunctionDef, function: FunctionType, is_event: bool) -> Iterator[Site]:
    answers = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Return) and node.value is not None
        for part in _answers(node.value)
    }
    targets = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        for part in ast.walk(node.slice)
    }
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in answers or id(node) in targets:
            continue
        for operator, make in _changes(node, function):
            yield Site(operator, number, make)
    if is_event:
        yield Site("event ignored", 0, _ignored)


def _answers(value: ast.expr) -> Iterator[ast.expr]:
    """The values that an answer may have: another number may have no meaning for the engine."""
    if isinstance(value, ast.IfExp):
        yield from _answers(value.body)
        yield from _answers(value.orelse)
    elif isinstance(value, ast.Constant | ast.Name):
        yield value


def _ignored(tree: ast.FunctionDef) -> ast.FunctionDef:
    tree.body = [ast.Return(ast.Constant(0))]
    return ast.fix_missing_locations(tree)


def _changes(
    node: ast.AST, function: FunctionType
) -> Iterator[tuple[str, Callable[[Any], Replacement]]]:
    """(operator, change) of one node."""
    if isinstance(node, ast.BinOp):
        term = "term dropped" if isinstance(node.op, ast.Add | ast.Sub) else "factor dropped"
        if not isinstance(node.op, NO_SCALE) or isinstance(node.op, ast.LShift | ast.RShift):
            yield term, lambda one: one.left
        if isinstance(node.op, ast.Add):
            yield term, lambda one: one.right
    elif isinstance(node, ast.Call) and node.args and not _needs_call(node):
        yield "term dropped", lambda one: one.args[0]
        if len(node.args) == 2 and isinstance(node.func, ast.Name):
            yield "term dropped", lambda one: one.args[1]
    elif isinstance(node, ast.If | ast.IfExp):
        yield ALWAYS, lambda one: _with_test(one, True)
        yield NEVER, lambda one: _with_test(one, False)
    elif isinstance(node, ast.Assign | ast.AugAssign):
        given = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(given, ast.Attribute | ast.Subscript):
            zero = isinstance(node.value, ast.Constant) and node.value.value == 0
            yield ("reset forgotten" if zero else "assignment forgotten"), lambda one: None
        elif isinstance(node, ast.AugAssign):
            yield "term dropped", lambda one: None
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "call forgotten", lambda one: None
    elif (value := _number(node, function)) is not None:
        others = {2 * value, value // 2, value + 1} if value else {1}
        for other in sorted(others - {value}):
            yield "constant changed", functools.partial(_constant, other)


def _constant(value: int, node: Any) -> ast.AST:
    return ast.Constant(value)


def _with_test(node: Any, value: bool) -> Any:
    """The branch with a test that is always or never true.

    It still contains the old test: numba leaves out what stands behind a constant, and then misses
    a symbol in some functions.
    """
    node = copy.copy(node)
    is_true = ast.Call(ast.Name("bool", ast.Load()), [node.test], [])
    node.test = ast.Compare(is_true, [ast.NotEq() if value else ast.Eq()], [ast.Constant(2)])
    return node


def _needs_call(node: ast.Call) -> bool:
    """True if its first argument is no number that could stand for the call."""
    first = node.args[0]
    loop = isinstance(node.func, ast.Name) and node.func.id == "range"
    return loop or (isinstance(first, ast.Name) and first.id in RECORDS)


def _number(node: ast.AST, function: FunctionType) -> int | None:
    """The whole number that a node is, by its digits or as a constant of the module."""
    value: Any = None
    if isinstance(node, ast.Constant):
        value = node.value
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        value = function.__globals__.get(node.id)
    return value if type(value) is int and 0 <= value < 1 << 61 else None
