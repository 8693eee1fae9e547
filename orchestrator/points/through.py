"""Streaming executor: runs points as they come and stores each; none stays in memory.

`carry_out` returns all results at once; a sweep may have a hundred thousand points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from orchestrator.points.answers import UNDER_WAY, Answer
from orchestrator.points.carry import says_something, taken
from orchestrator.points.crew import LOOK_AHEAD, Crew, Say
from orchestrator.points.store import Row, Store
from orchestrator.points.subject import Point


class Workers(Protocol):
    """Workers that run points: processes of this machine, or of a cluster."""

    def answers(self, points: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Answer]]:
        """(number, reply) in order of completion; points are taken on demand. A slow point may have
        intermediate replies."""


Executor = Callable[[Say], AbstractContextManager[Workers]]
"""Makes workers in a `with` block, given a function that reports their failures."""


def processes(jobs: int) -> Executor:
    """Worker processes of this machine."""
    return lambda say: Crew(jobs, say, LOOK_AHEAD)


def carry_through(
    points: Iterable[Point],
    store: Store,
    workers: Workers,
    kept: Callable[[Point, Row | None], None] = lambda point, row: None,
    going: Callable[[Point, float], None] = lambda point, seconds: None,
) -> Iterator[tuple[Point, Row]]:
    """Run points; yields each with its row once that is in the store. Rows that a machine
    distorted are not stored.

    `kept` is called for points that the store has, which are not run, and for duplicates, whose row
    may be None while the first is running. `going` is called with the estimated duration (s) of
    slow points. Raises PointFailed, RunFailed.
    """
    under_way: dict[int, Point] = {}
    seen: set[bytes] = set()

    def missing() -> Iterator[tuple[int, Point]]:
        for number, point in enumerate(points):
            digest = bytes.fromhex(point.digest)
            row = store.get(point)
            if digest in seen or row is not None:
                kept(point, row)
                continue
            seen.add(digest)
            under_way[number] = point
            yield number, point

    for number, answer in workers.answers(missing()):
        how, what = answer
        if how == UNDER_WAY:
            going(under_way[number], what)
            continue
        point = under_way.pop(number)
        row = taken(point, answer)
        if says_something(point, row):
            store.put(point, row)
        yield point, row
