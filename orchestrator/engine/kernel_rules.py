"""Rules of kernels that their source has to keep, as numba compiles what breaks them in silence.

A compiled kernel is called off the GIL, so nothing catches what it raises. It draws from its own
generator alone, as a seed has one outcome. It ends, and gives each variable a value before a use of
it, as machine code reads what lies in the register otherwise. Its numbers are int64. It prints
nothing: what a command prints is data.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from orchestrator.engine.kernel_limits import Limits, timer_sentence
from orchestrator.engine.kernel_mistakes import KernelMistake
from orchestrator.engine.kernel_numbers import (
    ALL_INT64,
    INT64,
    MULTIPLY,
    check_constants,
    is_literal,
    is_power,
    literal_value,
)
from orchestrator.engine.settable_fields import ENTITY, FRAME, MESSAGE

NO_LIMITS = Limits()
RANDOM_MODULES = ("random", "numpy.random", "secrets")
"""Modules whose generators the seed of a plan does not reach."""
_LOOPS = (ast.While, ast.For)


def check_function(function: Any) -> None:
    """Raise KernelMistake unless a kernel is a function of Python that answers when it is called.

    It is no method, no object that another decorator made, no coroutine and no generator.
    """
    plain = "a kernel is a plain function of a module, without a decorator"
    if isinstance(function, types.MethodType):
        raise KernelMistake(function.__func__, None, "it is a method", plain)
    if not isinstance(function, types.FunctionType):
        inner = getattr(function, "py_func", None)
        found = function if inner is None else inner
        raise KernelMistake(found, None, f"it is no function but of {type(function)}", plain)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise KernelMistake(function, None, "it is a coroutine", "define it without async")
    if inspect.isgeneratorfunction(function):
        raise KernelMistake(function, None, "it is a generator", "return one answer, do not yield")


def check_rules(
    function: Callable[..., Any], limits: Limits = NO_LIMITS, *, helper: bool = False
) -> None:
    """Raise KernelMistake for the first rule that the source of a kernel breaks.

    `limits`: which fields it may assign to. A `helper` has arguments of its own: which of them are
    parameters, the entity or the frame is not known.
    """
    check_constants(function)
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return  # made without a file
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        return
    arguments = [one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)]
    params = "" if helper or len(arguments) < 2 else arguments[1]
    own = [] if helper else arguments
    for line, cause, remedy in (
        *_broken(node, function, params),
        *_assigned(node, limits, own, function),
    ):
        raise KernelMistake(function, first + line - 1, cause, remedy)
    unset = _Assignments(node, arguments).first_unset()
    if unset is not None:
        cause = f"{unset.id} has no value on a path to this line"
        remedy = "give it one before the branch"
        raise KernelMistake(function, first + unset.lineno - 1, cause, remedy)


def _assigned(
    function_node: ast.FunctionDef,
    limits: Limits,
    arguments: list[str],
    function: Callable[..., Any],
) -> Iterator[tuple[int, str, str]]:
    """Line, cause and remedy of each assignment to a field that is not the kernel's to set."""
    places = {
        arguments[place]: place
        for place in (ENTITY, FRAME, MESSAGE)
        if place < len(arguments) and limits.settable(place) is not None
    }
    for node in ast.walk(function_node):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            other = node.value.id  # a record, by another name
            more = [one.id for one in node.targets if isinstance(one, ast.Name)]
            places |= dict.fromkeys(more, places[other]) if other in places else {}
    for node in ast.walk(function_node):
        if not isinstance(node, ast.Attribute | ast.Subscript):
            continue
        root, field = _root(node), _first_field(node)
        if not isinstance(node.ctx, ast.Store) or root not in places:
            continue
        fields = limits.settable(places[root]) or frozenset()
        names = [f"{root}.{one}" for one in sorted(fields)]
        remedy = f"it may set {', '.join(names)}" if names else "it may set none of its fields"
        kind_words = limits.kind.replace("_", " ")
        if field not in fields:
            cause = f"it assigns to {root}.{field}, which no {kind_words} sets"
            if field in limits.unserved and places[root] == ENTITY:
                cause = f"it sets {root}.{field}, and its algorithm has no kernel for that"
                event = "`timers`" if field == "timers" else "the kernel `timer`"
                remedy = f"give the algorithm {event}, or do not set it"
            yield node.lineno, cause, remedy
        elif field == "timers" and isinstance(node, ast.Subscript):
            place = _number(node.slice, function)
            if place is not None and not 0 <= place < limits.named:
                yield node.lineno, *timer_sentence(place, limits.named)


def _number(node: ast.expr, function: Callable[..., Any]) -> int | None:
    """The number that a literal or a global name is; None for others."""
    if isinstance(node, ast.Name) and node.id not in function.__code__.co_varnames:
        found = function.__globals__.get(node.id)
        return found if isinstance(found, int) else None
    return literal_value(node) if is_literal(node) else None


def _first_field(node: ast.expr) -> str:
    """The field that follows the name which a chain of attributes and items begins with."""
    found = ""
    while isinstance(node, ast.Attribute | ast.Subscript):
        found = node.attr if isinstance(node, ast.Attribute) else found
        node = node.value
    return found


def _broken(
    function_node: ast.FunctionDef, function: Callable[..., Any], params: str
) -> Iterator[tuple[int, str, str]]:
    """Line, cause and remedy of each rule that is broken."""
    local = set(function.__code__.co_varnames)
    for node in ast.walk(function_node):
        if isinstance(node, ast.Raise | ast.Assert):
            word = "raises" if isinstance(node, ast.Raise) else "asserts"
            remedy = "nothing catches that in a run: return an answer on every path"
            yield node.lineno, f"it {word}", remedy
        elif isinstance(node, ast.While) and _is_endless(node, function):
            yield node.lineno, "its loop never ends", "give it a condition, a break or a return"
        elif isinstance(node, ast.Call) and _draws(node.func, function, local):
            remedy = "draw with lfsr_next(state.lfsr): a seed has one outcome"
            yield node.lineno, f"it calls {ast.unparse(node.func)}", remedy
        elif isinstance(node, ast.Call) and _prints(node.func, function, local):
            remedy = "that works uncompiled alone, with NUMBA_DISABLE_JIT=1: take it out"
            yield node.lineno, "it prints", remedy
        elif isinstance(node, ast.BinOp | ast.AugAssign) and is_power(node):
            yield node.lineno, f"it computes {ast.unparse(node)}, which is not checked", MULTIPLY
        elif isinstance(node, ast.BinOp) and is_literal(node) and literal_value(node) not in INT64:
            yield node.lineno, f"{ast.unparse(node)} is beyond an int64", ALL_INT64
        elif isinstance(node, ast.Global):
            yield node.lineno, f"it assigns to the global {node.names[0]}", _IN_STATE
        elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            root = _root(node)
            if params and root == params:
                yield node.lineno, f"it assigns to {ast.unparse(node)}, a parameter", _IN_STATE
            elif root is not None and root not in local:
                yield node.lineno, f"it assigns to the global {root}", _IN_STATE


_IN_STATE = "keep what changes in its state"


def _prints(called: ast.expr, function: Callable[..., Any], local: set[str]) -> bool:
    """True for a call of Python's own `print`."""
    if not isinstance(called, ast.Name) or called.id in local or called.id != "print":
        return False
    return called.id not in function.__globals__


def _root(node: ast.expr) -> str | None:
    """The name that a chain of attributes and items begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_endless(loop: ast.While, function: Callable[..., Any]) -> bool:
    """True for a loop on a constant that nothing leaves."""
    test = loop.test
    if not (isinstance(test, ast.Constant) and test.value):
        return False
    return not any(_leaves(one, within=False) for one in loop.body)


def _leaves(node: ast.AST, *, within: bool) -> bool:
    """True if a statement may leave the loop around it; `within` one more, whose breaks stay."""
    if isinstance(node, ast.Return | ast.Raise):
        return True
    if isinstance(node, ast.Break):
        return not within
    inner = within or isinstance(node, _LOOPS)
    return any(_leaves(one, within=inner) for one in ast.iter_child_nodes(node))


def _draws(called: ast.expr, function: Callable[..., Any], local: set[str]) -> bool:
    """True if a called expression is of a generator that the plan's seed does not reach."""
    names: list[str] = []
    node = called
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id in local:
        return False
    found: Any = function.__globals__.get(node.id)
    for name in reversed(names):
        if _is_random(found):
            return True
        found = getattr(found, name, None)
    return _is_random(found)


def _is_random(value: Any) -> bool:
    if isinstance(value, types.ModuleType):
        return value.__name__ in RANDOM_MODULES
    owner = getattr(value, "__self__", None)
    modules = (getattr(value, "__module__", None), getattr(type(owner), "__module__", None))
    return callable(value) and any(
        str(one).split(".mtrand")[0] in RANDOM_MODULES for one in modules
    )


class _Assignments:
    """Which local variables have a value, statement by statement; loops run at least once."""

    def __init__(self, node: ast.FunctionDef, arguments: list[str]) -> None:
        self._node, self._arguments = node, set(arguments)
        stored = (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_store(n))
        self._names = set(stored) - self._arguments
        own = (ast.comprehension, ast.Lambda, ast.FunctionDef, ast.Match, ast.Try, ast.With)
        within = (n for one in node.body for n in ast.walk(one))
        self._is_plain = not any(isinstance(n, own) for n in within)
        self._unset: ast.Name | None = None

    def first_unset(self) -> ast.Name | None:
        """The first use of a variable that has no value on a path to it."""
        if self._is_plain:
            self._block(self._node.body, set(self._arguments))
        return self._unset

    def _block(self, body: list[ast.stmt], known: set[str]) -> set[str] | None:
        """Names with a value behind these statements; None where no path gets there."""
        now: set[str] | None = set(known)
        for one in body:
            if now is None:
                return None
            now = self._statement(one, now)
        return now

    def _statement(self, node: ast.stmt, known: set[str]) -> set[str] | None:
        if isinstance(node, ast.If):
            self._use(node.test, known)
            return _both(self._block(node.body, known), self._block(node.orelse, known))
        if isinstance(node, ast.While | ast.For):
            self._use(node.test if isinstance(node, ast.While) else node.iter, known)
            target: set[str] = set() if isinstance(node, ast.While) else _stored(node.target)
            self._block(node.body, known | target)
            return known | target | {n for one in node.body for n in _stored(one)}
        if isinstance(node, ast.AugAssign):
            self._use(node.value, known)
            if isinstance(node.target, ast.Name):
                self._see(node.target, known)
        self._use(node, known)
        if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
            return None
        return known | _stored(node)

    def _use(self, node: ast.AST, known: set[str]) -> None:
        for one in ast.walk(node):
            if isinstance(one, ast.NamedExpr):
                return  # has a value from its place in the expression on
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                self._see(one, known)

    def _see(self, name: ast.Name, known: set[str]) -> None:
        if self._unset is None and name.id in self._names and name.id not in known:
            self._unset = name


def _is_store(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _stored(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_store(n)}


def _both(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
