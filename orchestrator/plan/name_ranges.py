"""Many names of one kind, written once: h{1..640}, {leaf,spine}{1..4}, {net}-host.

In braces stand a range of numbers, a list of words (of which each may be a range), or the name of a
list from the plan's [lists]. A name with several of them stands for every combination, the first
turning slowest; the same named list twice is one and the same.

In the texts of a table that is made for each name, {} is the value of the first one in braces, {2}
that of the second, {net} that of the list net, and {+1}, {-1}, {2+1} the next and the last value
(round at the ends).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from orchestrator.plan.input_problems import near

RANGE = re.compile(r"(\d{1,6})\.\.(\d{1,6})")
WORD = re.compile(r"[A-Za-z0-9_-]+")
CHOICE = re.compile(r"\{([^{}]*(?:\.\.|,)[^{}]*|[A-Za-z][A-Za-z0-9_]*)\}")
VALUE = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*|\d{1,2})?([+-]\d{1,6})?\}")
LONGEST = 4096
"""Values of one range or list."""

MOST_AXES = 8
"""Ranges and lists in one name."""

Lists = Mapping[str, Sequence[str]]
Picks = tuple[int, ...]


class NoRange(ValueError):
    """Braces that stand for nothing; the message says what would be right."""


@dataclass(frozen=True)
class Axis:
    """One thing in braces: its values, and its name where it is one of the plan's lists."""

    label: str | None
    values: Sequence[str]


def axes(text: str, lists: Lists, known: Sequence[Axis] = ()) -> list[Axis]:
    """Axes of the braces in a name, beyond the `known`. Raises NoRange."""
    found: list[Axis] = []
    for match in CHOICE.finditer(text):
        inner = match[1]
        if ".." in inner or "," in inner:
            found.append(Axis(None, values(inner)))
        elif inner not in lists:
            raise NoRange(f"{{{inner}}} is no list of this plan; {near(inner, lists)}")
        elif all(axis.label != inner for axis in (*known, *found)):
            found.append(Axis(inner, lists[inner]))
        if len(found) > MOST_AXES:
            raise NoRange(f"a name has at most {MOST_AXES} ranges and lists")
    return found


def labels(texts: Iterable[str]) -> list[str]:
    """The named lists in some names."""
    inner = [match[1] for text in texts for match in CHOICE.finditer(text)]
    return [name for name in inner if ".." not in name and "," not in name]


def values(inner: str) -> list[str]:
    """The values that 1..4, a,b or a,1..4 stand for. Raises NoRange."""
    ranges: list[Sequence[Any]] = []
    for part in inner.split(","):
        match = RANGE.fullmatch(part.strip())
        if match is None and not WORD.fullmatch(part.strip()):
            raise NoRange("a range such as {1..4} or a list of words such as {a,b} is expected")
        if match is None:
            ranges.append([part.strip()])
            continue
        first, last = int(match[1]), int(match[2])
        if last < first:
            raise NoRange("a range goes from the smaller to the larger number")
        ranges.append(range(first, last + 1))
    if sum(map(len, ranges)) > LONGEST:
        raise NoRange(f"a range or list has at most {LONGEST} values")
    return [str(value) for one in ranges for value in one]


def count(found: Sequence[Axis]) -> int:
    """Number of names that these stand for."""
    return prod(len(axis.values) for axis in found)


def picks(found: Sequence[Axis]) -> Iterator[Picks]:
    """Every combination, as indices of values; the first axis turns slowest."""
    return product(*(range(len(axis.values)) for axis in found))


def named(text: str, found: Sequence[Axis], chosen: Picks, skip: int = 0) -> str:
    """The name that `text` is for one combination; `skip` axes without a name belong to others."""
    unnamed = iter([at for at, axis in enumerate(found) if axis.label is None][skip:])

    def value(match: re.Match[str]) -> str:
        inner = match[1]
        label = None if ".." in inner or "," in inner else inner
        at = next(unnamed) if label is None else [axis.label for axis in found].index(label)
        return found[at].values[chosen[at]]

    return str(filled(CHOICE.sub(value, text), found, chosen))


def filled(value: Any, found: Sequence[Axis], chosen: Picks) -> Any:
    """A copy of a value with the combination put into its texts and keys."""
    if isinstance(value, str):
        return VALUE.sub(lambda match: _value(match, found, chosen), value)
    if isinstance(value, list):
        return [filled(element, found, chosen) for element in value]
    if isinstance(value, dict):
        return {
            filled(key, found, chosen): filled(element, found, chosen)
            for key, element in value.items()
        }
    return value


def _value(match: re.Match[str], found: Sequence[Axis], chosen: Picks) -> str:
    """Value of {}, {2}, {net}, {+1}; braces that mean none of the axes stay as they are."""
    which, by = match[1], int(match[2] or 0)
    if not found:
        return match[0]
    unnamed = [at for at, axis in enumerate(found) if axis.label is None]
    if which is None:
        at = unnamed[0] if unnamed else 0
    elif which.isdecimal():
        if not 1 <= int(which) <= len(unnamed):
            return match[0]
        at = unnamed[int(which) - 1]
    else:
        labels = [axis.label for axis in found]
        if which not in labels:
            return match[0]
        at = labels.index(which)
    of = found[at].values
    return of[(chosen[at] + by) % len(of)]


def spread(text: str, lists: Lists) -> list[str]:
    """All names that one text stands for. Raises NoRange."""
    found = axes(text, lists)
    return [named(text, found, chosen) for chosen in picks(found)]
