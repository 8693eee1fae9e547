"""Streaming executor: runs points as they come and stores each; none stays in memory.

`carry_out` is for points whose results are wanted at once. A sweep may have a hundred thousand.
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
    """Whoever runs points: processes of this machine, or those of a cluster."""

    def answers(self, points: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Answer]]:
        """(number, answer) in the order in which they come; points are taken as they are needed.
        Whoever can says of a slow one that it is under way before it is answered."""


Executor = Callable[[Say], AbstractContextManager[Workers]]
"""Makes workers, in a `with` block; they say what becomes of them."""


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
    """Each point that had to be run, and what it came to, once that is in the store; what a
    machine distorted is not kept there.

    What the store has already is told to `kept` and not run; a point that comes twice is run once,
    and told without a row while it is under way. `going` hears of slow ones how many seconds they
    take in all. Raises PointFailed, RunFailed.
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
