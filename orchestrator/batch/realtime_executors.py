"""Concurrent executor for machines of a testbed: one point on each machine.

Each point waits in a thread of its own; the controller assigns points to machines.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from types import TracebackType
from typing import Any

from orchestrator.batch.batch_executor import MEASURED, RunPoint
from orchestrator.batch.experiment import Point
from orchestrator.batch.process_pool import Say
from orchestrator.batch.result_store import Row
from orchestrator.batch.stream_executor import Executor
from orchestrator.batch.worker_replies import DONE, FAILED, Answer
from orchestrator.errors import TailbackError
from orchestrator.plan import Plan
from orchestrator.run.verdict import INVALID

# Serial executor in real time: on `software`, on `gateware`, on machines of a testbed.
#
# Two runs at once would compete for the processor, and a machine of a testbed holds one. A run that
# the machine distorted is invalid and is retried a few times.

TRIES = 3
"""Most runs of a point while they are invalid."""


def plan_of(point: Point) -> Plan:
    """Plan of a point: that of its experiment, with the seed."""
    return Plan(**point.subject.table, seed=point.seed)


def run_locally(plan_of: Callable[[Point], Plan], **how: Any) -> RunPoint:
    """Function that runs a point as `tailback run` does: for targets without worker processes.

    `how` goes to the run: pace, cores, testbed, programs.
    """
    from orchestrator.run.execute_run import run as run_plan

    def elsewhere(point: Point) -> Row:
        run = run_plan(
            *(plan_of(point), point.subject.target, point.seed),
            out=None,
            report=False,
            live=False,
            **how,
        )
        return {key: run.result[key] for key in MEASURED if key in run.result}

    return elsewhere


class SerialExecutor:
    """Executor that runs points one by one."""

    def __init__(self, carry: RunPoint, say: Say) -> None:
        self._carry, self._say = carry, say

    def answers(self, points: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Answer]]:
        """(number, reply) in the order of the points."""
        for number, point in points:
            yield number, self._answer(point)

    def _answer(self, point: Point) -> Answer:
        for left in reversed(range(TRIES)):
            begun = time.monotonic()
            try:
                row = self._carry(point)
            except TailbackError as error:
                return FAILED, (error.exit_code, str(error))
            if row["fidelity"]["verdict"] != INVALID:
                break
            why = next(iter(row["fidelity"].get("reasons", [])), "the machine distorted it")
            then = "run again" if left else "left out"
            self._say(f"{point} is invalid, and {then}: {why}")
        return DONE, row | {"cost_s": time.monotonic() - begun}


def serial_executor(carry: RunPoint) -> Executor:
    """Executor that runs points by `carry`, one by one."""
    return lambda say: contextlib.nullcontext(SerialExecutor(carry, say))


class ConcurrentExecutor(SerialExecutor):
    """Executor of `size` points at once, in a `with` block; `stop` ends running points at its
    end."""

    def __init__(self, carry: RunPoint, say: Say, size: int, stop: Callable[[], None]) -> None:
        super().__init__(carry, say)
        self._size, self._stop = size, stop
        self._hands = ThreadPoolExecutor(size, thread_name_prefix="point")

    def answers(self, points: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Answer]]:
        """(number, reply) in order of completion."""
        waiting = iter(points)
        going: dict[Future[Answer], int] = {}

        def begin(count: int) -> None:
            for number, point in islice(waiting, count):
                going[self._hands.submit(self._answer, point)] = number

        begin(self._size)
        while going:
            done, _ = wait(going, return_when=FIRST_COMPLETED)
            for one in done:
                yield going.pop(one), one.result()
            begin(len(done))

    def __enter__(self) -> ConcurrentExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()
        self._hands.shutdown(wait=True, cancel_futures=True)


def concurrent_executor(carry: RunPoint, size: int, stop: Callable[[], None]) -> Executor:
    """Executor that runs `size` points at once by `carry`."""
    return lambda say: ConcurrentExecutor(carry, say, size, stop)
