"""Source of a compiled function: its syntax tree and the values of its names."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, eq=False)
class Source:
    """Source of a function: its syntax tree, file and names."""

    name: str
    file: Path
    tree: ast.FunctionDef
    names: dict[str, Any]

    @property
    def parameters(self) -> list[str]:
        return [argument.arg for argument in self.tree.args.args]


def python_function(function: Any) -> Callable[..., Any]:
    """Python function of a compiled one."""
    return getattr(function, "py_func", function)


@functools.cache
def source_of(function: Callable[..., Any]) -> Source:
    """Source of a function. Raises LookupError where its text is unavailable."""
    code = function.__code__
    file = Path(code.co_filename)
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= code.co_firstlineno <= node.body[0].lineno:
                outer = inspect.getclosurevars(function).nonlocals
                names = {**vars(builtins), **function.__globals__, **outer}
                return Source(function.__name__, file, node, names)
    raise LookupError(f"{file}: no text of {function.__name__}")


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))
