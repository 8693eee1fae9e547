"""Concurrent executor for machines of a testbed: one point on each machine.

Each point waits in a thread of its own; the controller assigns points to machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from types import TracebackType

from orchestrator.points.answers import Answer
from orchestrator.points.carry import Carry
from orchestrator.points.crew import Say
from orchestrator.points.in_turn import InTurn
from orchestrator.points.subject import Point
from orchestrator.points.through import Executor


class SideBySide(InTurn):
    """Executor of `size` points at once, in a `with` block; `stop` ends running points at its
    end."""

    def __init__(self, carry: Carry, say: Say, size: int, stop: Callable[[], None]) -> None:
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

    def __enter__(self) -> SideBySide:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()
        self._hands.shutdown(wait=True, cancel_futures=True)


def side_by_side(carry: Carry, size: int, stop: Callable[[], None]) -> Executor:
    """Executor that runs `size` points at once by `carry`."""
    return lambda say: SideBySide(carry, say, size, stop)
