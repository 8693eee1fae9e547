"""State of a symbolic path: local names, records, and the facts known on the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firmware.proof.intervals import Known
from firmware.proof.terms import Interval, Term


@dataclass(frozen=True)
class Record:
    """A record that a kernel gets: its fields, their shapes, between what they lie."""

    name: str
    kind: str
    """Records of one kind may be the same one: the states of two flows."""
    shapes: dict[str, tuple[int, ...]] = field(hash=False, compare=False)
    bounds: Callable[[str], Interval] = field(hash=False, compare=False)
    index: Term | None = None


@dataclass(frozen=True)
class Grid:
    """A field that is an array."""

    record: Record
    field: str


Key = tuple[str, str]
"""A record's name and a field's."""


@dataclass
class State:
    """One path so far."""

    known: Known = field(default_factory=Known)
    store: dict[Key, Term] = field(default_factory=dict)
    cells: dict[Key, list[tuple[tuple[Term, ...], Term]]] = field(default_factory=dict)
    """Of arrays: what was last read or written, by index; a write forgets the others."""
    put: list[tuple[Key, Term, Interval]] = field(default_factory=list)
    """What was written into arrays and into records that may be another's, and its bounds by what
    was known there: behind a loop or a statement that is joined less is known."""
    often: set[tuple[str, str]] = field(default_factory=set)
    """Of these, what a loop writes: any number of times."""
    read: int = 0
    """How many numbers were made on this path of which only bounds are known."""
    loose: bool = False
    """In or behind a loop that is not gone round: what an array holds is not followed any more."""

    def copy(self) -> State:
        cells = {key: list(rows) for key, rows in self.cells.items()}
        copy = State(self.known.copy(), dict(self.store), cells, list(self.put), set(self.often))
        copy.read, copy.loose = self.read, self.loose
        return copy


@dataclass(frozen=True)
class Obligation:
    """Something that must hold where `known` does: `term` within `bounds`."""

    what: str
    file: str
    line: int
    term: Term
    bounds: Interval
    excluded: int | None
    """A value that it must not have either: 0 of a divisor."""
    known: Known


@dataclass(frozen=True)
class Untranslated(Exception):
    """A place in a kernel that is not understood: named, never passed over."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


class Infeasible(Exception):
    """This path contradicts itself."""


Values = dict[str, Any]
