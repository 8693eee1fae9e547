"""Process pool for points: starts workers on demand, replaces dead ones, ends them at once.

Each worker has a pipe of its own, so that the pool knows the point that killed a worker. (The
standard library's executor knows only that one of the running points did, leaves its workers
waiting when it is killed, and starts them with the working folder on their import path.)
"""

from __future__ import annotations

import contextlib
import multiprocessing
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from types import TracebackType

from orchestrator import python_command
from orchestrator.batch.experiment import Point
from orchestrator.batch.worker_replies import DONE, FAILED, IN_PROGRESS, Answer
from orchestrator.errors import RunFailed

WORKER = "orchestrator.batch.point_worker"
INVALID = 3
"""Exit code of a run that has no result."""
TRIES = 2
"""Number of workers that a point may kill before the pool gives up."""
PATIENCE_S = 5.0
AHEAD = 1
"""Points queued for a worker besides the running one, while points are quick: the worker need not
wait while the parent reads the next plan. Slow points are not queued: the last ones would wait."""
QUICK_S = 0.5
LOOK_AHEAD = 64
"""Number of points searched for one of the experiment that a worker has loaded."""
Say = Callable[[str], None]


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection
    subject: str = ""
    """Digest of the experiment whose table it has."""
    given: deque[tuple[int, Point]] = field(default_factory=deque)
    """The running point and the queued ones, each with its number."""

    @classmethod
    def start(cls) -> _Worker:
        ours, its = multiprocessing.Pipe()
        with its:
            process = subprocess.Popen(
                python_command.module(WORKER, str(its.fileno())),
                pass_fds=[its.fileno()],
                env=python_command.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the parent, which ends it by the pipe
            )
        return cls(process, ours)

    @property
    def point(self) -> tuple[int, Point] | None:
        """The running point, with its number."""
        return self.given[0] if self.given else None

    def give(self, place: int, point: Point) -> None:
        """Send it a point. A dead worker is detected when its reply is read."""
        new = point.subject.digest != self.subject
        self.given.append((place, point))
        self.subject = point.subject.digest
        with contextlib.suppress(OSError):
            self.pipe.send((point.subject if new else None, point.seed))

    def end(self) -> int:
        """Close its pipe and wait for its end; returns its return code."""
        self.pipe.close()
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class ProcessPool:
    """Pool of worker processes in a `with` block, which ends all of them."""

    def __init__(self, size: int, say: Say, look_ahead: int = 1) -> None:
        """`look_ahead`: most points that are taken ahead, to give a worker those of one
        experiment."""
        self._size, self._say, self._look_ahead = size, say, look_ahead
        self._workers: list[_Worker] = []
        self._deaths: dict[str, int] = {}
        self._ahead = 0

    def answers(self, points: Iterable[tuple[int, Point]]) -> Iterator[tuple[int, Answer]]:
        """(number, reply) of points with their numbers, in the order of the replies; a slow point
        has intermediate replies before.

        Raises RunFailed for a point that killed two workers; one whose experiment limits its CPU
        time has failed with the first.
        """
        waiting = iter(points)
        again: list[tuple[int, Point]] = []
        looked_at: list[tuple[int, Point]] = []

        def next_for(worker: _Worker | None) -> tuple[int, Point] | None:
            return again.pop() if again else self._best(worker, looked_at, waiting)

        while True:
            for worker in self._workers:
                if worker.point is None and (work := next_for(worker)) is not None:
                    worker.give(*work)
            while len(self._workers) < self._size and (work := next_for(None)) is not None:
                self._workers.append(_Worker.start())
                self._workers[-1].give(*work)
            for worker in self._workers:
                while len(worker.given) <= self._ahead and (work := next_for(worker)) is not None:
                    worker.give(*work)
            busy = {worker.pipe: worker for worker in self._workers if worker.point is not None}
            if not busy:
                return
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                place, point = worker.given[0]
                try:
                    answer: Answer = worker.pipe.recv()
                except (EOFError, OSError):
                    how = self._handle_dead_worker(worker, point)
                    if point.subject.cpu_s is not None:
                        worker.given.popleft()
                        yield place, (FAILED, (INVALID, f"a worker ended {how} while it ran"))
                    again += worker.given
                else:
                    if answer[0] != IN_PROGRESS:
                        worker.given.popleft()
                    self._ahead = AHEAD * _is_quick(answer)
                    yield place, answer

    def _best(
        self,
        worker: _Worker | None,
        looked_at: list[tuple[int, Point]],
        waiting: Iterator[tuple[int, Point]],
    ) -> tuple[int, Point] | None:
        """Of `looked_at` and `waiting`, the first point of the worker's own experiment, or else of
        one that no worker has; else the first point."""
        own = "" if worker is None else worker.subject
        taken = {one.subject for one in self._workers} - {own}
        another: int | None = None
        for at in range(self._look_ahead):
            if at == len(looked_at):
                if (work := next(waiting, None)) is None:
                    break
                looked_at.append(work)
            subject = looked_at[at][1].subject.digest
            if subject == own:
                return looked_at.pop(at)
            if another is None and subject not in taken:
                another = at
                if not any(one[1].subject.digest == own for one in looked_at[at:]):
                    break
        return looked_at.pop(another or 0) if looked_at else None

    def _handle_dead_worker(self, worker: _Worker, point: Point) -> str:
        """Report a dead worker, and return how it ended; raise RunFailed if its point had killed
        another one."""
        self._workers.remove(worker)
        code = worker.end()
        how = f"by signal {-code}" if code < 0 else f"with code {code}"
        if point.subject.cpu_s is not None:
            return how
        self._deaths[point.digest] = self._deaths.get(point.digest, 0) + 1
        if self._deaths[point.digest] >= TRIES:
            text = f"{point}: {TRIES} workers ended {how} while they ran it"
            raise RunFailed(f"{text}; run it alone (tailback run) to see why")
        self._say(f"a worker ended {how}; {point} is run again")
        return how

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            worker.end()


def _is_quick(answer: Answer) -> bool:
    how, what = answer
    return how == DONE and what["cost_s"] < QUICK_S
