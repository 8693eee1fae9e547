"""Names of the types of a plan's keys, with the bounds of their values."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from orchestrator.plan import field_types, figure_tables
from orchestrator.plan.algorithm_params import Ratio
from orchestrator.plan.model_introspection import choices_of, quantity_of
from orchestrator.plan.plan_tables import PluginTable
from orchestrator.plan.program_table import Command
from orchestrator.plan.units import Quantity, format_ratio

NAMED: tuple[tuple[Any, str], ...] = (
    (field_types.Slug, "name"),
    (field_types.Slugs, "name, or list of names"),
    (field_types.Group, "list of names"),
    (field_types.Line, "text"),
    (figure_tables.Lines, "text, or list of texts"),
    (figure_tables.Bounds, "list of 2 values"),
    (field_types.Scalar, "number, text with unit, true or false"),
    (field_types.Point, "[size, share]"),
    (Ratio, "ratio"),
    (Command, "text, or list of words"),
)
PLAIN = {int: "whole number", bool: "true or false", float: "number", str: "text"}
SIGNS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


def words(annotation: Any) -> str:
    """The type of a value: name, size, list of names, table ..."""
    for named, text in NAMED:
        if annotation == named:
            return text
    if quantity := quantity_of(annotation):
        return quantity.name
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "choice"
    if origin is Annotated:
        return words(arguments[0])
    if origin is dict:
        return f"tables by {words(arguments[0])}" if _table(arguments[1]) else "table of names"
    if origin is list:
        return "list of tables" if _table(arguments[0]) else f"list of {words(arguments[0])}"
    if origin is tuple and arguments[-1] is Ellipsis:
        return f"list of {words(arguments[0])}s"
    if origin is tuple:
        return f"list of {len(arguments)} {words(arguments[0])}s"
    choices = [choice for choice in arguments if choice is not type(None)]
    if choices:
        return " or ".join(dict.fromkeys(words(choice) for choice in choices))
    if annotation is PluginTable:
        return "plugin"
    return "table" if _table(annotation) else PLAIN[annotation]


def bounds(annotation: Any, field: FieldInfo) -> str:
    """Accepted values: > 0, ≤ 1GB; or the choices."""
    literals = [one for one in choices_of(annotation) if get_origin(one) is Literal]
    if choices := [choice for literal in literals for choice in get_args(literal)]:
        return ", ".join(f'`"{choice}"`' for choice in choices)
    quantity = quantity_of(annotation)
    found: dict[str, str] = {}
    for mark in (*_marks(annotation), *field.metadata):
        for attribute, sign in SIGNS.items():
            if hasattr(mark, attribute):
                found[sign] = f"{sign} {value(getattr(mark, attribute), quantity)}"
        for attribute, sign in (("min_length", "≥"), ("max_length", "≤")):
            if getattr(mark, attribute, None) is not None:
                found[f"{attribute}{sign}"] = f"{sign} {getattr(mark, attribute)} of them"
    order = [sign for sign in (*SIGNS.values(), *found) if sign in found]
    return ", ".join(found[sign] for sign in dict.fromkeys(order))


def default(annotation: Any, field: FieldInfo) -> str:
    """Default as a plan writes it; empty without a default, or where another key sets it."""
    if field.is_required():
        return "must be given"
    given = field.get_default(call_default_factory=True)
    if isinstance(given, PluginTable):
        return f'`{{ plugin = "{given.plugin}" }}`'
    if given is None or isinstance(given, BaseModel | dict | list) or given == "":
        return ""
    text = value(given, quantity_of(annotation))
    return f'`"{text}"`' if text != str(given) or isinstance(given, str) else f"`{text}`"


def value(given: Any, quantity: Quantity | None) -> str:
    """A value as a plan writes it, without quotes."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, Fraction):
        return format_ratio(given)
    if isinstance(given, int) and given > 1 << 40 and given & (given - 1) == 0:
        return f"2^{given.bit_length() - 1}"
    return quantity.format(given) if quantity and isinstance(given, int) else str(given)


def tables_in(annotation: Any) -> list[type[BaseModel]]:
    """The tables that a value of this type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found = [table for part in get_args(annotation) for table in tables_in(part)]
    return list(dict.fromkeys(found))


def _table(annotation: Any) -> bool:
    return bool(tables_in(annotation))


def _marks(annotation: Any) -> Iterator[Any]:
    """All metadata of `Annotated` in a type, also of the members of unions."""
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        yield from _marks(inner)
        for mark in marks:
            yield from mark.metadata if isinstance(mark, FieldInfo) else [mark]
    elif get_origin(annotation) not in (dict, list, tuple):
        for part in get_args(annotation):
            yield from _marks(part)
