"""Hostile numbers, and the places that take a number: derived from plans, models and commands."""

from __future__ import annotations

import copy
import functools
import random
import types
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from pydantic import BaseModel

from orchestrator.cli.main import assemble
from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.toml_text import write
from orchestrator.registry import Registry

NUMBERS = [
    *("9" * 10_000, "-" + "9" * 5_000, "0x" + "f" * 3_600, "0b" + "1" * 10_000, "1" + "0" * 25),
    *("1e400", "-1e400", "1e" + "9" * 50, "nan", "-nan", "inf", "-inf"),
]
"""Of TOML: no key takes any of these."""
TEXTS = [
    *("9" * 10_000 + "KB", "9" * 59, "1e999s", "1e5", "0x10", "nan", "nans", "inf", "infb/s"),
    *("-1B", "-1s", "-1b/s", "1 parsec", "1 l", "\u0663s", "1_s", "1/0", "1/" + "3" * 5_000),
    *("0." + "0" * 9_000 + "1s", "1..2", "--1s", "1s1s", "4611686018427387904ps", ""),
]
"""Texts that are no quantity."""
OPTIONS = [
    *("nan", "inf", "-inf", "1e400", "9" * 10_000, "-" + "9" * 10_000, "0x" + "f" * 3_600),
    *("1e" + "9" * 50, "-1e999", "1 parsec", "", " ", "1_0_", "1/0"),
]
JSON = [
    *("9" * 400, "9" * 10_000, "-" + "9" * 4_299, "1e400", "-1e999", "NaN", "Infinity"),
    *("-Infinity", "1e" + "9" * 50, "9223372036854775808", "-9223372036854775809"),
]
WORD, MARK = "words", "@@the hostile one@@"
NAMES = {"nodes", "links", "traffic", "phases", "ports", "groups", "programs", "targets", "lists"}
"""Tables whose keys are names."""
Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a table that holds no others, and its path."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*path, key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from leaves(one, (*path, number))
    else:
        yield path, value


def kind_of(table: dict[str, Any], path: Path) -> str:
    """A key without names: two values of one kind are read by one field of a model."""
    words, at, named = [], table, False
    for part in path:
        at = at[part]  # type: ignore[index]
        words.append("*" if named or isinstance(part, int) else str(part))
        if isinstance(at, dict):
            words += [f"({at[key]})" for key in ("kind", "plugin") if key in at]
        named = part in NAMES and not named
    return ".".join(words)


@functools.cache
def tables() -> dict[str, dict[str, Any]]:
    """The shipped plans with every default."""
    return {name: Plan.load(path).to_table() for name, path in Registry.load().plans().items()}


@functools.cache
def keys() -> dict[str, tuple[str, Path]]:
    """Every kind of key of the shipped plans that holds no text or truth: a plan, and where."""
    found: dict[str, tuple[str, Path]] = {}
    for name, table in tables().items():
        for path, value in leaves(table):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if number or (isinstance(value, str) and value[:1].isdigit()):
                found.setdefault(kind_of(table, path), (name, path))
    return found


def with_value(name: str, path: Path, literal: str) -> str:
    """The text of a shipped plan with another value in one place."""
    table = copy.deepcopy(tables()[name])
    at: Any = table
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = MARK
    return write(table).replace(f'"{MARK}"', literal)


def takes_text(name: str, path: Path) -> bool:
    """True where any words are accepted."""
    try:
        Plan.load(with_value(name, path, f'"{WORD}"')).check(Registry.load())
    except BadInput:
        return False
    return True


def types_in(annotation: Any) -> set[Any]:
    """The types that an annotation is made of."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return types_in(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return {kind for part in get_args(annotation) for kind in types_in(part)}
    return {annotation}


def number_fields(model: type[BaseModel]) -> list[str]:
    """Keys of a model's fields that take a number and no text."""
    found = []
    for name, field in model.model_fields.items():
        kinds = types_in(field.annotation)
        if kinds & {int, float, Fraction} and str not in kinds:
            found.append(field.alias or name)
    return found


def models_below(base: type[BaseModel]) -> list[type[BaseModel]]:
    """A model's subclasses, of tailback's packages."""
    found: list[type[BaseModel]] = []
    for model in base.__subclasses__():
        found += [model, *models_below(model)]
    return [model for model in dict.fromkeys(found) if not model.__module__.startswith("tests")]


def commands() -> Iterator[tuple[list[str], Any]]:
    """Every command: its words, and typer's object."""
    waiting = [([], typer.main.get_command(assemble(Registry.load(), [])))]
    while waiting:
        words, command = waiting.pop()
        inner = getattr(command, "commands", None)
        if inner:
            waiting += [([*words, name], one) for name, one in inner.items()]
        else:
            yield words, command


def drawn(seed: object, choices: list[str], count: int) -> list[str]:
    """Some of the values, by a seed."""
    return random.Random(str(seed)).sample(choices, count)
