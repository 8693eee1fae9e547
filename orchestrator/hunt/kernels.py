"""Which lines of which files are kernels: the functions that numba compiles."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from pathlib import Path

from orchestrator.algorithm import Algorithm

DECORATORS = {"compiled", "inlined"}


def files(algorithms: Iterable[Algorithm]) -> list[Path]:
    """The files of node logic and of the kernels of algorithms, with what those import beside them
    that is compiled."""
    from orchestrator.engine import node

    found = set(Path(node.__path__[0]).glob("*.py"))
    for one in algorithms:
        for kernel in (*one.kernels.values(), *one.timers.values()):
            source = inspect.getsourcefile(inspect.unwrap(kernel))
            if source is not None:
                found.add(Path(source).resolve())
    return sorted(found)


def lines(path: Path, kernels: Iterable[str] = ()) -> dict[int, str]:
    """Line -> name of the compiled function that it is in; `kernels` are compiled undecorated."""
    named, found = set(kernels), dict[int, str]()
    for place in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(place, ast.FunctionDef) and (
            place.name in named or DECORATORS & {_name(one) for one in place.decorator_list}
        ):
            first = place.body[0].lineno
            found |= dict.fromkeys(range(first, (place.end_lineno or first) + 1), place.name)
    return found


def kernel_names(algorithms: Iterable[Algorithm]) -> dict[Path, set[str]]:
    """File -> names of the kernels in it."""
    found: dict[Path, set[str]] = {}
    for one in algorithms:
        for kernel in (*one.kernels.values(), *one.timers.values()):
            source = inspect.getsourcefile(inspect.unwrap(kernel))
            if source is not None:
                found.setdefault(Path(source).resolve(), set()).add(kernel.__name__)
    return found


def _name(decorator: ast.expr) -> str:
    return decorator.id if isinstance(decorator, ast.Name) else ""
