"""Streaming executor: runs points as they come and stores each; none stays in memory.

`carry_out` returns all results at once; a sweep may have a hundred thousand points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from orchestrator.batch.batch_executor import is_storable, row_of_answer
from orchestrator.batch.experiment import Point
from orchestrator.batch.process_pool import LOOK_AHEAD, ProcessPool, Say
from orchestrator.batch.result_store import Row, Store
from orchestrator.batch.worker_replies import IN_PROGRESS, Answer


class Workers(Protocol):
    """Workers that run points: processes of this machine, or of a cluster."""

    def answers(self, points: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Answer]]:
        """(number, reply) in order of completion; points are taken on demand. A slow point may have
        intermediate replies."""


Executor = Callable[[Say], AbstractContextManager[Workers]]
"""Makes workers in a `with` block, given a function that reports their failures."""


def process_executor(jobs: int) -> Executor:
    """Worker processes of this machine."""
    return lambda say: ProcessPool(jobs, say, LOOK_AHEAD)


def stream_points(
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
        if how == IN_PROGRESS:
            going(under_way[number], what)
            continue
        point = under_way.pop(number)
        row = row_of_answer(point, answer)
        if is_storable(point, row):
            store.put(point, row)
        yield point, row
