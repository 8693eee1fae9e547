"""Field documentation of models: the text in a Field, or the docstring below it."""

from __future__ import annotations

import ast
import functools
import inspect
from itertools import pairwise
from types import ModuleType

from pydantic import BaseModel


@functools.cache
def _classes(module: ModuleType) -> dict[str, ast.ClassDef]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Field -> what is said of it; fields of which nothing is said are not there."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        module = inspect.getmodule(base)
        if not issubclass(base, BaseModel) or base is BaseModel or module is None:
            continue
        body = _classes(module)[base.__name__].body
        for field, below in pairwise(body):
            text = _text(below)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and text:
                found[field.target.id] = text
    given = {n: f.description for n, f in model.model_fields.items() if f.description}
    return {name: text for name, text in (found | given).items() if name in model.model_fields}


def _text(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return inspect.cleandoc(str(statement.value.value))
    return ""
