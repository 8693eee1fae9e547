"""State of a symbolic path: local names, records, and the facts known on the path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firmware.proof.interval_analysis import PathFacts
from firmware.proof.term_graph import Interval, Term


@dataclass(frozen=True)
class Record:
    """Record argument of a kernel: its fields, their shapes and bounds."""

    name: str
    kind: str
    """Records of one kind may alias: the states of two flows."""
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
    """State of one path."""

    known: PathFacts = field(default_factory=PathFacts)
    store: dict[Key, Term] = field(default_factory=dict)
    cells: dict[Key, list[tuple[tuple[Term, ...], Term]]] = field(default_factory=dict)
    """Cells last read or written, by index; a write forgets the others."""
    put: list[tuple[Key, Term, Interval]] = field(default_factory=list)
    """Writes into arrays and into records that may alias, with their bounds at that time: after a
    loop or a merged statement fewer facts are known."""
    often: set[tuple[str, str]] = field(default_factory=set)
    """Keys of these that a loop writes any number of times."""
    read: int = 0
    """Number of variables made on this path."""
    loose: bool = False
    """True in or after a loop that is not unrolled: contents of arrays are no longer tracked."""

    def copy(self) -> State:
        cells = {key: list(rows) for key, rows in self.cells.items()}
        copy = State(self.known.copy(), dict(self.store), cells, list(self.put), set(self.often))
        copy.read, copy.loose = self.read, self.loose
        return copy


@dataclass(frozen=True)
class Obligation:
    """Obligation under the facts `known`: `term` within `bounds`."""

    what: str
    file: str
    line: int
    term: Term
    bounds: Interval
    excluded: int | None
    """A further forbidden value: 0 for a divisor."""
    known: PathFacts


@dataclass(frozen=True)
class Untranslated(Exception):
    """Unsupported code in a kernel: reported, never skipped."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


class Infeasible(Exception):
    """The assumptions of this path are contradictory."""


Values = dict[str, Any]
