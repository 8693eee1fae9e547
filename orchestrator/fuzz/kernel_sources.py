"""Source files and functions of kernels: those of algorithms, and the helpers that they call."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from orchestrator.algorithm import Algorithm

CORE = "orchestrator"
Function = tuple[Path, str]
"""Its file and its name."""


def node_files() -> list[Path]:
    """The files of node logic, all of which is compiled."""
    from orchestrator.engine import node

    return sorted(Path(node.__path__[0]).resolve().glob("*.py"))


def functions_of(algorithm: Algorithm) -> list[Function]:
    """The kernels of an algorithm and all that they call outside of the core."""
    found: dict[Function, None] = {}
    waiting: list[Any] = [*algorithm.kernels.values(), *algorithm.timers.values()]
    while waiting:
        function = _plain(waiting.pop(0))
        source = inspect.getsourcefile(function)
        assert source is not None
        key = Path(source).resolve(), function.__name__
        if key in found:
            continue
        found[key] = None
        called = (function.__globals__.get(name) for name in _names(function.__code__))
        waiting += [one for one in called if _is_guests(one)]
    return list(found)


def files(algorithms: Iterable[Algorithm]) -> list[Path]:
    """The files of the kernels of algorithms, with what those call beside the core."""
    return sorted({path for one in algorithms for path, _ in functions_of(one)})


def _is_guests(value: Any) -> bool:
    plain = _plain(value)
    return isinstance(plain, FunctionType) and plain.__module__.partition(".")[0] != CORE


def _plain(function: Any) -> Any:
    """The Python function behind one that is compiled."""
    return inspect.unwrap(getattr(function, "py_func", function))


def _names(code: CodeType) -> set[str]:
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found


def code_of(kernel: Any) -> list[CodeType]:
    """The code of a kernel and of all that it calls outside of the core."""
    found: dict[CodeType, None] = {}
    waiting = [_plain(kernel)]
    while waiting:
        function = waiting.pop()
        if function.__code__ not in found:
            found[function.__code__] = None
            called = (function.__globals__.get(name) for name in _names(function.__code__))
            waiting += [_plain(one) for one in called if _is_guests(one)]
    return list(found)
