"""Lookup in pydantic models by key path: types of tables, their keys, their units."""

from __future__ import annotations

import ast
import functools
import inspect
from itertools import pairwise
from types import ModuleType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from orchestrator.plan.units import Quantity, UnitOf

ONE_STAGE, STAGE_LIST = "(a table)", "(a list of tables)"
"""The forms in which a delay line is written, as pydantic adds them to the location of an error."""


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


def keys_of(annotation: Any) -> list[str]:
    """The keys that a table of this type may have."""
    for choice in choices_of(annotation):
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            return [field.alias or name for name, field in choice.model_fields.items()]
    return []


def choices_of(annotation: Any) -> list[Any]:
    """The types a value may have, without wrappers and without None."""
    if get_origin(annotation) is Annotated:
        return choices_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        found = [choice for part in get_args(annotation) for choice in choices_of(part)]
        return [choice for choice in found if choice is not type(None)]
    return [annotation]


def follow(model: Any, location: tuple[int | str, ...]) -> tuple[list[int | str], Any, Any]:
    """The key path of pydantic's `location`, the type of its table and the type found there.

    Where several tables are possible pydantic adds the `kind` that it took, and where a delay line
    may be a table or a list, the form: no parts of the path.
    """
    path: list[int | str] = []
    parent: Any = None
    annotation = model
    for part in location:
        if part in (ONE_STAGE, STAGE_LIST):
            continue
        choices = choices_of(annotation)
        tagged = [c for c in choices if len(choices) > 1 and kind_of(c) == part]
        if tagged:
            annotation = tagged[0]
            continue
        path.append(part)
        parent, annotation = annotation, below(choices, part)
    return path, parent, annotation


def kind_of(choice: Any) -> Any:
    """The `kind` that picks this model, None for any other type."""
    if not (isinstance(choice, type) and issubclass(choice, BaseModel)):
        return None
    field = choice.model_fields.get("kind")
    kinds = get_args(field.annotation) if field else ()
    return kinds[0] if len(kinds) == 1 else None


def below(choices: list[Any], part: int | str) -> Any:
    """The type of the value under key `part`; None when it is not known."""
    for choice in choices:
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            for name, field in choice.model_fields.items():
                if part in (name, field.alias):
                    return Annotated[field.annotation, *field.metadata, None]
        elif get_origin(choice) in (dict, list, tuple):
            return get_args(choice)[-1 if get_origin(choice) is dict else 0]
    return None


def quantity_of(annotation: Any) -> Quantity | None:
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        found = [mark.quantity for mark in marks if isinstance(mark, UnitOf)]
        return found[0] if found else quantity_of(inner)
    if get_origin(annotation) in (Union, UnionType):
        return next((q for part in get_args(annotation) if (q := quantity_of(part))), None)
    return None
