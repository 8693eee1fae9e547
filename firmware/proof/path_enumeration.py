"""Enumeration of all paths through a piece of code, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firmware.proof.symbolic_state import Infeasible

MOST_PATHS = 20_000


class ReturnReached(Exception):
    """A kernel or helper returns."""

    def __init__(self, value: Any) -> None:
        self.value = value


class LoopExited(Exception):
    """A `break` is executed, or a `continue` where `again`."""

    def __init__(self, again: bool) -> None:
        self.again = again


class TooManyPaths(Exception):
    """More paths than the limit."""


@dataclass
class PathChoices:
    """Choices at the forks of a path; the alternatives are queued in `pending`."""

    made: list[int]
    pending: list[list[int]]
    place: int = 0

    def choose(self, ways: int) -> int:
        if self.place == len(self.made):
            self.pending += [[*self.made, way] for way in range(ways - 1, 0, -1)]
            self.made.append(0)
        self.place += 1
        return self.made[self.place - 1]


def explore(walk: Callable[[PathChoices], None], most: int = MOST_PATHS) -> int:
    """Walk every path; returns their number. Raises TooManyPaths."""
    pending: list[list[int]] = [[]]
    count = 0
    while pending:
        count += 1
        if count > most:
            raise TooManyPaths
        try:
            walk(PathChoices(pending.pop(), pending))
        except Infeasible:
            continue
    return count
