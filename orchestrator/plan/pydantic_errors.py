"""From pydantic's errors to problems that speak of the plan: key paths, units, near spellings."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ValidationError

from orchestrator.errors import Problem
from orchestrator.plan.former_names import former_of
from orchestrator.plan.input_problems import Clash, Missing, dotted, join, near, shown, unknown
from orchestrator.plan.model_introspection import choices_of, follow, keys_of, kind_of, quantity_of
from orchestrator.plan.units import Quantity

_PLAIN = {
    "string_type": "a text is expected",
    "int_type": "a whole number is expected",
    "int_parsing": "a whole number is expected",
    "int_from_float": "a whole number is expected",
    "float_type": "a number is expected",
    "float_parsing": "a number is expected",
    "bool_type": "true or false is expected",
    "dict_type": "a table is expected",
    "model_type": "a table is expected",
    "model_attributes_type": "a table is expected",
    "list_type": "a list is expected",
    "tuple_type": "a list is expected",
    "finite_number": "a finite number is expected",
}
"""Error types of pydantic whose own message speaks of Python rather than of the plan."""

_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def translate(error: ValidationError, model: Any, raw: object, where: str = "") -> list[Problem]:
    """The problems in `error`, raised when `raw`, which lies at `where`, was read as a `model`.

    `model` is a model class or an annotated type. Of more than `MOST` errors the first are put into
    words.
    """
    items = error.errors(include_url=False)[:MOST]
    return [_problem(item, model, raw, where) for item in items]


MOST = 1000
"""Errors of an input that are looked at one by one."""


def paths(error: ValidationError, model: Any) -> list[list[int | str]]:
    """Key paths of all errors."""
    return [follow(model, item["loc"])[0] for item in error.errors(include_url=False)]


def _problem(item: Any, model: Any, raw: object, where: str) -> Problem:
    path, parent, annotation = follow(model, item["loc"])
    if path and path[-1] == "[key]":
        # pydantic's way to say that a table's key is wrong rather than its value.
        return Problem(join(where, dotted(path[:-1])), shown(path[-2]), accepted(item))
    place, kind = join(where, dotted(path)), item["type"]
    if kind == "extra_forbidden":
        former = {old: new for one in choices_of(parent) for old, new in former_of(one).items()}
        return unknown(place, "key", str(path[-1]), keys_of(parent), former)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _no_kind(item, place, annotation)
    quantity = quantity_of(annotation)
    if kind == "missing":
        return Missing(place, None, quantity.accepted if quantity else "this key is required")
    value = _lookup(raw, path, item["input"])
    right = accepted(item, quantity) + _perhaps_percent(item, value)
    if kind == "value_error" and isinstance(value, dict | BaseModel):
        return Clash(place, value, right)
    return Problem(place, shown(value), right)


def _perhaps_percent(item: Any, value: object) -> str:
    """Advice for a ratio that is too large, and would be right in percent: 40 for '40%'."""
    bound = (item.get("ctx") or {}).get("le")
    ratio, written = item["input"], str(shown(value)).strip()
    if not isinstance(ratio, Fraction) or bound is None or not re.fullmatch(r"[\d.]+", written):
        return ""
    return f"; did you mean '{written}%'?" if ratio / 100 <= bound else ""


def _no_kind(item: Any, place: str, annotation: Any) -> Problem:
    """A table whose `kind`, which decides what else it may have, is missing or unknown."""
    kinds = [str(kind_of(choice)) for choice in choices_of(annotation)]
    table = item["input"]
    if item["type"] == "union_tag_not_found" or not isinstance(table, dict):
        return Missing(f"{place}.kind", None, f"one of {', '.join(kinds)} is expected")
    kind = table["kind"]
    return Problem(f"{place}.kind", shown(kind), near(str(shown(kind)), kinds))


def _lookup(raw: Any, path: list[int | str], otherwise: object) -> object:
    """Value as written at `path`; validators may have converted it."""
    for part in path:
        try:
            raw = raw[part]
        except (KeyError, IndexError, TypeError):
            return otherwise
    return raw


def accepted(item: Any, quantity: Quantity | None = None) -> str:
    """The part of an error that says what would be right."""
    kind, context = item["type"], item.get("ctx") or {}
    if kind == "value_error":
        return str(context.get("error"))
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        bound = context[name]
        return f"{words} {quantity.format(int(bound)) if quantity else bound} is expected"
    if kind == "literal_error":
        expected = context["expected"].replace(" or ", ",").split(",")
        return near(str(item["input"]), [name.strip(" '") for name in expected])
    if kind in _PLAIN:
        return _PLAIN[kind]
    message = str(item["msg"])
    return message[:1].lower() + message[1:]
