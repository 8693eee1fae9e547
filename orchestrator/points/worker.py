"""A process that runs points on `simulated`, one after another, with the engine loaded.

Started as `python -m orchestrator.points.worker DESCRIPTOR`. It is sent (table or None, seed): a
subject's table, or None where it is the last one's; and answers (how it went, what came of it). It
writes no file, and ends when its parent does.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any

from orchestrator.errors import TailbackError
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.points.answers import BROKEN, DONE, FAILED, Answer
from orchestrator.progress import silent
from orchestrator.registry import Registry
from orchestrator.run.compiling import is_compiled, one_at_a_time
from orchestrator.run.judging import measure


def simulate(resolved: ResolvedPlan) -> dict[str, Any]:
    """What one point came to: what was measured of it, and the seconds that it took."""
    registry = Registry.load()
    begun = time.perf_counter()
    target = registry.target(resolved.plan.target)
    with contextlib.nullcontext() if is_compiled() else one_at_a_time():
        recording = target.run(resolved, silent)
    found = measure(registry, resolved, recording)
    return found | {"cost_s": time.perf_counter() - begun}


class Bench:
    """Runs points of one subject after another, and looks at the plan of each subject once."""

    def __init__(self) -> None:
        self._table: dict[str, Any] = {}
        self._resolved: ResolvedPlan | None = None

    def answer(self, table: dict[str, Any] | None, seed: int) -> Answer:
        """One point, of the last subject where there is no table, whatever comes of it."""
        if table is not None:
            self._table, self._resolved = table, None
        try:
            registry = Registry.load()
            if self._resolved is None:
                self._resolved = Plan(**self._table, seed=seed).check(registry)
            return DONE, simulate(self._resolved.with_seed(seed, registry))
        except TailbackError as error:
            return FAILED, (error.exit_code, str(error))
        except Exception:
            return BROKEN, traceback.format_exc()


def _end_with(pipe: Connection) -> None:
    """Wait for the other end to be closed, by whatever end of the parent, and end at once."""
    ends = select.poll()
    ends.register(pipe.fileno(), 0)  # a hang-up is told unasked
    ends.poll()
    os._exit(1)


def main(descriptor: int) -> None:
    """Answer until the parent has no more points."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's, which closes the pipe
    pipe = Connection(descriptor)
    threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
    bench = Bench()
    with contextlib.suppress(EOFError, ConnectionError):  # the parent ended, or ends us, meanwhile
        while True:
            pipe.send(bench.answer(*pipe.recv()))


if __name__ == "__main__":
    main(int(sys.argv[1]))
