"""Annotated types of values that a person writes with units, and values written as text.

Nothing slow is imported here: the command line describes options of these types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo

from orchestrator.plan import units


def _exact(quantity: units.Quantity) -> tuple[Any, ...]:
    def parse(value: object, info: ValidationInfo) -> int:
        bare = not info.context or info.context.get("bare_numbers", True)
        return quantity.parse(value, bare=bare)

    return BeforeValidator(parse), PlainSerializer(quantity.format), units.UnitOf(quantity)


Size = Annotated[int, *_exact(units.SIZE)]
"""Octets as int, from text with a unit, such as "26KB"."""
Duration = Annotated[int, *_exact(units.DURATION)]
"""ps as int, from text with a unit, such as "20us"."""
Rate = Annotated[int, *_exact(units.RATE)]
"""bit/s as int, from text with a unit, such as "10Gb/s"."""
Ratio = Annotated[Fraction, BeforeValidator(units.parse_ratio), PlainSerializer(units.format_ratio)]
"""Exact fraction, from text such as "1/128", "0.5" or "15%"; a kernel reads it as two int64,
`name_num` and `name_den`."""


def integer_text(value: object) -> object:
    """An int written as text (the command line, a timeline) is an int all the same."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", value):
        return int(value)
    return value


def boolean_text(value: object) -> object:
    """A bool written as text is a bool all the same."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


_files_count = ContextVar("files_count", default=True)


@contextmanager
def without_files() -> Iterator[None]:
    """Within this block no parameter may name a file: the plan is not this machine's own."""
    token = _files_count.set(False)
    try:
        yield
    finally:
        _files_count.reset(token)


_plan_folder: ContextVar[Path | None] = ContextVar("plan_folder", default=None)


@contextmanager
def paths_relative_to(folder: Path | None) -> Iterator[None]:
    """Within this block a relative path in a parameter counts from `folder`, the plan's own, and
    from the working directory where there is no such file."""
    token = _plan_folder.set(folder)
    try:
        yield
    finally:
        _plan_folder.reset(token)


def file_of_plan(path: str) -> Path:
    """The file that a parameter of the plan names, which need not exist."""
    folder = _plan_folder.get()
    return folder / path if folder is not None and (folder / path).is_file() else Path(path)


_only_files: ContextVar[tuple[frozenset[str], str] | None] = ContextVar("only_files", default=None)


@contextmanager
def only_files(paths: Iterable[str], otherwise: str) -> Iterator[None]:
    """Within this block parameters may name these files alone (absolute paths): others are refused
    before anything reads them, as `otherwise` ("a file that is not ...")."""
    token = _only_files.set((frozenset(paths), otherwise))
    try:
        yield
    finally:
        _only_files.reset(token)


def file_refusal(path: str) -> str:
    """Why no parameter may name the file at this absolute path; empty: one may."""
    allowed, otherwise = _only_files.get() or (frozenset({path}), "")
    return "" if path in allowed else otherwise


def files_count() -> bool:
    """True if a plan may name files of this machine."""
    return _files_count.get()
