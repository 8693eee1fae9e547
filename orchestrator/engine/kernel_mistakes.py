"""Mistakes in kernels: each becomes one sentence with file, line, cause and remedy.

numba explains a kernel that it cannot compile in a hundred lines about its own passes, and compiles
silently what the rules of kernels refuse (floats, answers without a meaning).
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.engine import answer_sets

ARGUMENTS = ("state", "params", "entity", "frame", "now", "message")
SUBSET = "kernels are written in the subset of Python that numba compiles"


class KernelMistake(Exception):
    """A kernel that cannot be used: `place` (file:line), cause and remedy, as one sentence."""

    def __init__(self, function: Callable[..., Any], line: int | None, cause: str, remedy: str):
        code = getattr(function, "__code__", None)
        file = getattr(code, "co_filename", "?")
        at = line if line is not None else getattr(code, "co_firstlineno", 0)
        self.place = f"{file}:{at}"
        name = getattr(function, "__name__", "?")
        head = "" if code is None else f"{self.place}: kernel {name}: "
        super().__init__(f"{head}{cause}; {remedy}")


def check_arguments(function: Callable[..., Any]) -> None:
    """Raise KernelMistake for a kernel that does not take the arguments of kernels, in their order.

    Each has any name but that of an argument at another place.
    """
    parameters = inspect.signature(function).parameters
    wanted = f"a kernel takes ({', '.join(ARGUMENTS)})"
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if len(parameters) != len(ARGUMENTS) or any(
        one.kind not in plain or one.default is not one.empty for one in parameters.values()
    ):
        cause = f"it takes ({', '.join(map(str, parameters.values()))})"
        raise KernelMistake(function, None, cause, wanted)
    for place, name in enumerate(parameters):
        if name in ARGUMENTS and ARGUMENTS.index(name) != place:
            cause = f"its argument {place + 1} is called {name}"
            raise KernelMistake(function, None, cause, wanted)


def check_source(function: Callable[..., Any], answers: Collection[int] | None) -> None:
    """Raise KernelMistake for answers without a meaning and for divisions by 0 that stand in it.

    `answers` are those that have one; None: all numbers. What is computed is not known here.
    """
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return  # made without a file
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None and answers is not None:
            for each in _answers(node.value):
                value = _constant(each, function)
                if value is not None and value not in answers:
                    line = first + each.lineno - 1
                    cause = f"it answers {value}, which has no meaning here"
                    remedy = accepted_answers(answers, value)
                    raise KernelMistake(function, line, cause, remedy)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod | ast.Div):
            if _constant(node.right, function) == 0:
                raise KernelMistake(
                    function, first + node.lineno - 1, "it divides by 0", "divide by another number"
                )
            if isinstance(node.op, ast.Div):
                raise KernelMistake(
                    function,
                    first + node.lineno - 1,
                    "it divides with /, which makes a float",
                    "divide with //: all numbers of kernels are int64",
                )


def accepted_answers(answers: Collection[int], answered: int) -> str:
    """What a kernel may answer instead of `answered`, for people."""
    if isinstance(answers, range):
        return f"{answers.start} or more is accepted"
    accepted = f"{', '.join(map(str, sorted(answers)))} are accepted"
    declared = answer_sets.declared_by(answered, answers)
    return f"{accepted}; {declared}" if declared else accepted


def zero_divisor(divided: int | None) -> tuple[str, str]:
    """Cause and remedy of a division by 0 at run time; `divided` where it is known."""
    what = "" if divided is None else f" {divided}"
    return f"it divided{what} by 0", "test the divisor first, or give its parameter a bound (gt=0)"


def _answers(value: ast.expr) -> Iterator[ast.expr]:
    """The values that a returned expression may have, as far as they stand in it."""
    if isinstance(value, ast.IfExp):
        yield from _answers(value.body)
        yield from _answers(value.orelse)
    else:
        yield value


def _constant(value: ast.expr, function: Callable[..., Any]) -> int | None:
    """The number that an expression is: of digits, or a global name; None for others."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        number = _constant(value.operand, function)
        return None if number is None else -number
    found: Any = None
    if isinstance(value, ast.Constant):
        found = value.value
    elif isinstance(value, ast.Name) and value.id not in function.__code__.co_varnames:
        found = function.__globals__.get(value.id)
    return int(found) if isinstance(found, int) and not isinstance(found, bool) else None


def check_types(function: Callable[..., Any], annotation: Any, *, helper: bool = False) -> None:
    """Raise KernelMistake where a compiled kernel has floats, or a path without an answer.

    A `helper` of kernels need not answer.

    `annotation` is numba's, with the types that were inferred; text, where they come from its
    cache, in which only kernels are that were checked.
    """
    if isinstance(annotation, str):
        return
    from numba.core import ir, types

    for block in annotation.blocks.values():
        for step in block.body:
            if not isinstance(step, ir.Assign):
                continue
            kind = annotation.typemap.get(step.target.name)
            if isinstance(kind, types.Float | types.Complex):
                raise KernelMistake(
                    function,
                    step.loc.line,
                    "it computes with a float, which would be cut to an int64",
                    "all numbers of kernels are int64: multiply first, and divide with //",
                )
            value = step.value
            if not helper and isinstance(value, ir.Expr) and value.op == "cast":
                answered = annotation.typemap.get(value.value.name)
                if isinstance(answered, types.Optional | types.NoneType):
                    raise _no_answer(function, step.loc.line)


def check_stores(function: Callable[..., Any], annotation: Any, allowed: Any) -> None:
    """Raise KernelMistake where a helper assigns to a field that its kernels may not set.

    `allowed`: type of a record -> word for it, and the fields that may be set.
    """
    if isinstance(annotation, str):
        return  # from numba's cache: see `check_types`
    from numba.core import ir

    for block in annotation.blocks.values():
        for step in block.body:
            if not isinstance(step, ir.SetAttr):
                continue
            word, fields = allowed.get(annotation.typemap.get(step.target.name), ("", None))
            if fields is None or step.attr in fields:
                continue
            known = f"it may set {', '.join(sorted(fields))}" if fields else "it may set none"
            cause = f"it assigns to {step.attr} of {word}, which the kernel that calls it may not"
            raise KernelMistake(function, step.loc.line, cause, known)


def _no_answer(function: Callable[..., Any], line: int | None) -> KernelMistake:
    return KernelMistake(
        function, line, "a path through it ends without an answer", "return 0 at its end"
    )


def explained(function: Callable[..., Any], error: Exception, dtypes: Collection[np.dtype]) -> Any:
    """The mistake behind an error of numba, a KernelMistake; `dtypes`: its records."""
    text = str(error)
    own = Path(getattr(getattr(function, "__code__", None), "co_filename", "")).name
    places = re.findall(r'File "([^"]+)", line (\d+)| (?:at|from) (\S+) \((\d+)\)', text)
    lines = [int(a or b) for file, a, at, b in places if Path(file or at).name == own]
    head = getattr(getattr(function, "__code__", None), "co_firstlineno", None)
    line = next((one for one in lines if one != head), lines[0] if lines else None)
    name = error.args[0] if isinstance(error, KeyError) and error.args else None
    if found := re.search(r"at line (\d+) of \S+", text):
        line = int(found[1])
    if found := re.search(r"nknown attribute '(\w+)' of type [Rr]ecord", text):
        name = found[1]
    if isinstance(name, str):
        line = _line_of_name(function, name) or line
        fields = sorted({field for one in dtypes for field in one.names or ()})
        near = get_close_matches(name, fields, 3)
        remedy = f"did you mean {' or '.join(near)}?" if near else "see the fields of its records"
        return KernelMistake(function, line, f"its record has no field {name!r}", remedy)
    if found := re.search(r"NameError: name '(\w+)' is not defined", text):
        cause = f"there is no {found[1]!r}"
        line = _line_of_name(function, found[1]) or line
        return KernelMistake(function, line, cause, "define it in the module, or import it")
    if found := re.search(r"Untyped global name '(\w+)':.*<class 'function'>", text, re.DOTALL):
        return KernelMistake(
            function, line, f"it calls {found[1]}, which is not compiled", "decorate it @compiled"
        )
    if found := re.search(r"Untyped global name '(\w+)'", text):
        cause = f"it uses {found[1]}, which is no number, array, or compiled function"
        return KernelMistake(function, line, cause, SUBSET)
    if re.search(r"onversion from (none|Optional\(int64\)) to int64", text):
        return _no_answer(function, line)
    cause = next((one.strip() for one in text.splitlines() if _tells(one)), type(error).__name__)
    return KernelMistake(function, line, f"it cannot be compiled ({cause})", SUBSET)


def _line_of_name(function: Callable[..., Any], name: str) -> int | None:
    """The first line of a kernel that uses a field or a variable of this name."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return None
    places = [
        node.lineno
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr == name)
        or (isinstance(node, ast.Name) and node.id == name)
    ]
    return first + min(places) - 1 if places else None


def _tells(line: str) -> bool:
    """True for a line of numba's that is about the code, not about numba's passes."""
    text = line.strip()
    return bool(text) and not re.match(
        r"(Failed in|During:|File |def |<source|\^|Traceback|- |There are|---)", text
    )
