"""Worker process: runs points on `simulated` one after another, with the engine loaded.

Started as `python -m orchestrator.batch.point_worker DESCRIPTOR`. It receives (experiment or None,
seed), None for the last experiment, and replies (outcome, result). For a slow point it reports the
estimated duration before. A point that needs more CPU time than its experiment allows ends the
worker by SIGXCPU. It writes no file, and ends when its parent does.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from orchestrator.assembly import ReusableWorld
from orchestrator.batch.experiment import Experiment
from orchestrator.batch.kernel_edit import apply_edit
from orchestrator.batch.worker_replies import CRASHED, DONE, FAILED, IN_PROGRESS, Answer
from orchestrator.errors import TailbackError
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.progress import Progress, Report, silent
from orchestrator.registry import Registry
from orchestrator.run.engine_compile import compile_lock, is_compiled
from orchestrator.run.run_result import measure
from orchestrator.targets.simulated import Simulated

EVERY_S = 1.0
"""Interval of the estimates of a slow point."""


class DurationEstimate:
    """Estimate of a point's duration, from its progress in the time so far.

    The time begins with the first report, because compilation and layout come before it.
    """

    def __init__(
        self, send: Callable[[Answer], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._send, self._clock = send, clock
        self._first: tuple[float, float] | None = None
        self._told = 0.0

    def __call__(self, progress: Progress) -> None:
        """Process a progress report of the run."""
        if not 0 < progress.done < 1:  # it compiles, or has ended
            return
        now = self._clock()
        if self._first is None:
            self._first, self._told = (now, progress.done), now
        begun, share = self._first
        if now - self._told >= EVERY_S and progress.done > share:
            self._told = now
            self._send((IN_PROGRESS, (now - begun) / (progress.done - share)))


def simulate(
    resolved: ResolvedPlan, again: ReusableWorld, progress: Report = silent
) -> dict[str, Any]:
    """Measurements of one point, and the seconds that it took.

    The run reuses the arrays of earlier points of the same experiment, in `again`.
    """
    registry = Registry.load()
    begun = time.perf_counter()
    with contextlib.nullcontext() if is_compiled() else compile_lock():
        recording = Simulated().run_in_world(resolved, progress, again)
    found = measure(registry, resolved, recording)
    return found | {"cost_s": time.perf_counter() - begun}


class PointRunner:
    """Runner of points; it checks the plan of each experiment once, and lays out its arrays
    once."""

    def __init__(self) -> None:
        self._table: dict[str, Any] = {}
        self._resolved: ResolvedPlan | None = None
        self._again = ReusableWorld()

    def answer(self, table: dict[str, Any] | None, seed: int, progress: Report = silent) -> Answer:
        """Run one point, of the last experiment without a table; returns a reply in every case."""
        if table is not None:
            self._table, self._resolved, self._again = table, None, ReusableWorld()
        try:
            registry = Registry.load()
            if self._resolved is None:
                self._resolved = Plan(**self._table, seed=seed).check(registry)
            resolved = self._resolved.with_seed(seed, registry)
            return DONE, simulate(resolved, self._again, progress)
        except TailbackError as error:
            return FAILED, (error.exit_code, str(error))
        except Exception:
            return CRASHED, traceback.format_exc()


def _end_with(pipe: Connection) -> None:
    """End this process at once when the other end of the pipe is closed by any end of the
    parent."""
    ends = select.poll()
    ends.register(pipe.fileno(), 0)  # poll reports a hang-up without a request
    ends.poll()
    os._exit(1)


def main(descriptor: int) -> None:
    """Run points until the parent has no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which closes the pipe
    pipe = Connection(descriptor)
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    bench, cpu_s = PointRunner(), None
    with contextlib.suppress(EOFError, ConnectionError):  # the parent ended, or ends this process
        while True:
            experiment: Experiment | None
            experiment, seed = pipe.recv()
            if experiment is not None:
                apply_edit(experiment.kernel)
                cpu_s = experiment.cpu_s
            table = None if experiment is None else experiment.table
            with _cpu_time(cpu_s):
                answer = bench.answer(table, seed, DurationEstimate(pipe.send))
            pipe.send(answer)


@contextlib.contextmanager
def _cpu_time(most_s: float | None) -> Iterator[None]:
    """Within this block so much more CPU time (s) ends this process; None: any."""
    if most_s is None:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limit = math.ceil(time.process_time() + most_s)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (before, hard))


if __name__ == "__main__":
    main(int(sys.argv[1]))
