"""Settings of the command line, key=value, laid over a plan's data."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, get_origin

from pydantic import BaseModel

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import former_names, name_ranges
from orchestrator.plan.input_problems import join, shown, unknown
from orchestrator.plan.model_introspection import below, choices_of, keys_of, kind_of
from orchestrator.plan.name_ranges import NoRange
from orchestrator.plan.toml_text import check_numbers

SET, TARGETS = "--set", "targets"
MOST_KEYS = 4096
"""Keys that one setting with ranges may stand for."""


def apply(
    model: type[BaseModel], data: dict[str, Any], defaults: dict[str, Any], settings: Sequence[str]
) -> dict[str, Any]:
    """A copy of `data` with the settings; a table that it lacks begins as in `defaults`.

    A key may have ranges: every key that it stands for is set. Raises BadInput for keys that lead
    nowhere; values are checked when the plan is built.
    """
    pairs: list[tuple[str, Any]] = []
    problems: list[Problem] = []
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or not key.strip():
            problems.append(Problem(SET, shown(setting), "KEY=VALUE is expected"))
        else:
            pairs.append((key.strip(), literal(text.strip())))
    return overlay(model, data, defaults, pairs, SET, problems)


def with_setting_locations(
    error: BadInput, settings: Sequence[str], descriptions: Sequence[str], *, sole: bool = False
) -> BadInput:
    """The same error with the setting that each problem comes from as its location, from
    `descriptions`.

    That is the last one of the problem's key, or of a table that holds it or is held by it.
    `sole`: nothing else can be wrong, so that one setting alone is it, whatever it led to.
    """
    keys = [
        (key_segments(key), place)
        for setting, place in reversed([*zip(settings, descriptions, strict=True)])
        for key in keys_for(setting.partition("=")[0].strip(), [], SET)
    ]

    def setting_of(problem: Problem) -> str:
        if problem.where == SET:
            return ""
        path = key_segments(problem.where)
        found = [place for key, place in keys if all(map(str.__eq__, key, path))]
        found = found or (list(descriptions) if sole and len(descriptions) == 1 else [])
        return found[0] if found else ""

    problems = [one if one.at else replace(one, at=setting_of(one)) for one in error.problems]
    return BadInput(error.source, problems) if problems else error


def overlay(
    model: type[BaseModel],
    data: dict[str, Any],
    defaults: dict[str, Any],
    pairs: Iterable[tuple[str, Any]],
    said: str,
    problems: Sequence[Problem] = (),
) -> dict[str, Any]:
    """As `apply`, of keys and values; `said` is what they are called in messages."""
    data = copy.deepcopy(data)
    found = list(problems)
    for key, value in pairs:
        for name in keys_for(key, found, said):
            problem = _put(model, data, defaults, key_segments(name), copy.deepcopy(value))
            found += [problem] if problem else []
    if found:
        raise BadInput(said, found)
    return data


def key_segments(key: str) -> list[str]:
    """The parts of a dotted key; timeline[0].to has the parts timeline, 0, to."""
    return re.sub(r"\[(\d+)\]", r".\1", key).split(".")


def keys_for(key: str, problems: list[Problem], said: str) -> list[str]:
    """The keys that one with ranges, such as nodes.h{1..8}.buffer, stands for."""
    if "{" not in key:
        return [key]
    try:
        found = name_ranges.axes(key, {})
    except NoRange as error:
        problems.append(Problem(said, shown(key), str(error)))
        return []
    if name_ranges.count(found) > MOST_KEYS:
        problems.append(Problem(said, shown(key), f"at most {MOST_KEYS} keys are expected"))
        return []
    return [name_ranges.named(key, found, chosen) for chosen in name_ranges.picks(found)]


def literal(text: str) -> Any:
    """The value of a TOML literal (7, true, "x", [..]); any other text, and an integer of more than
    64 bits, is itself."""
    try:
        data = tomllib.loads(f"value = {text}")
        check_numbers(SET, data)
    except (ValueError, RecursionError, BadInput):
        return text
    value = data.get("value")
    plain = isinstance(value, str | int | float | list | dict)
    return value if plain and len(data) == 1 else text


def _put(
    annotation: Any, table: Any, defaults: Any, parts: list[str], value: Any
) -> Problem | None:
    """Sets the value at the path, or says which part of the path leads nowhere."""
    where = ""
    for depth, part in enumerate(parts):
        annotation = _chosen(annotation, table)
        last = depth == len(parts) - 1
        key: int | str = part
        if isinstance(table, list):
            if not part.isdecimal() or len(part) > 6 or int(part) >= len(table):
                known = [str(index) for index in range(len(table))]
                return unknown(join(where, part), "index", part, known)
            key = int(part)
        elif (
            allowed := _settable_keys(annotation, table, depth if parts[0] != TARGETS else 0)
        ) is not None and part not in (
            *allowed,
            *former_names.former_of(annotation),
        ):
            return unknown(
                join(where, part), "key", part, allowed, former_names.former_of(annotation)
            )
        where = join(where, part)
        annotation = below([annotation], key)
        if last:
            if isinstance(table, dict):
                for other in former_names.other_names(part, table.get("plugin")):
                    table.pop(other, None)
            table[key] = value
            return None
        defaults = defaults.get(key, {}) if isinstance(defaults, dict) else {}
        if isinstance(table, dict) and key not in table:
            if get_origin(_chosen(annotation, {})) is not dict and not _is_model(annotation):
                return Problem(where, None, "there is nothing below this key")
            table[key] = copy.deepcopy(defaults)
        if isinstance(table[key], tuple):
            table[key] = list(table[key])
        table = table[key]
        if not isinstance(table, dict | list):
            return Problem(where, shown(table), "there is nothing below this key")
    return None


def _chosen(annotation: Any, table: Any) -> Any:
    """The type of this table; where several are possible its `kind` decides."""
    choices = choices_of(annotation)
    kind = table.get("kind") if isinstance(table, dict) else None
    return next((choice for choice in choices if kind_of(choice) == kind), choices[0])


def _is_model(annotation: Any) -> bool:
    return bool(keys_of(annotation))


def _settable_keys(annotation: Any, table: Any, depth: int) -> list[str] | None:
    """Keys that may be set here; None: any (parameters of plugins, ports, forwarding, targets)."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        extra = annotation.model_config.get("extra") == "allow"
        return None if extra else keys_of(annotation)
    return list(table) if depth == 1 else None
