"""Supervision of a lease's worker process by its agent: reports, orders, end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from orchestrator.targets.software import worker_main
from orchestrator.targets.software.isolation import Denied
from orchestrator.targets.software.kernel_refusals import refusal
from orchestrator.targets.software.worker_process import Worker
from orchestrator.testbed.agent.agent_messages import Change, Changed, Hold, Rows
from orchestrator.testbed.wire.envelope import Unacceptable

ANSWERS = 20
"""Answers about changes that are stored, the latest ones."""
BUG = 70
"""Exit code of a bug in tailback."""


class SupervisedWorker(ABC):
    """Worker process under supervision. `changed` is called after each of its reports."""

    what: ClassVar[str]
    """What the process is called when it ends on its own."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.stage, self.cause, self.code = "", "", 0
        """Stage; the cause of a failure, and the exit code of a reported error."""
        self.detail, self.done = "", 0.0
        self.changes: deque[Changed] = deque(maxlen=ANSWERS)
        self.process = 0
        self._changed = changed
        self._open: list[Any] = []

    def _begin(self, worker: Worker) -> None:
        """Start it, and listen."""
        self._worker = worker
        self._worker.__enter__()
        self.process = self._worker.process.pid
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._worker.pipe.fileno(), self._read)

    def _read(self) -> None:
        """Read one report of the worker."""
        try:
            kind, content = self._worker.pipe.recv()
        except (EOFError, OSError):
            self._failed(f"{self.what} ended ({self._ending()})")
            return
        if kind == worker_main.REPORT:
            self.stage, more = content
            self._news(more)
        elif kind == worker_main.RESULT:
            self._stop_listening()
        elif kind == worker_main.DENIED:
            self._failed(str(refusal(Denied(content[0], OSError(content[1], "")))))
        elif kind == worker_main.FAILED:
            self.code = content[0]
            self._failed(content[1])
        else:
            self.code = BUG
            self._failed(f"{self.what} broke: {content.strip().splitlines()[-1]}")
        self._changed()

    @abstractmethod
    def _news(self, more: dict[str, Any]) -> None:
        """Handle the content of a stage report."""

    def _failed(self, cause: str) -> None:
        self.stage, self.cause = "failed", self.cause or cause
        self._stop_listening()
        self._changed()

    def _ending(self) -> str:
        code = self._worker.process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def _stop_listening(self) -> None:
        self._loop.remove_reader(self._worker.pipe.fileno())

    def order(self, order: Any) -> None:
        """Send the worker an order."""
        self._worker.order(order)

    @abstractmethod
    def change(self, wanted: Change) -> None:
        """Request a live change from the worker; its answer is among `changes` later."""

    @abstractmethod
    def halt(self) -> None:
        """End the run now; what was measured can be collected."""

    def rows(self, after: int) -> tuple[Rows, bytes] | None:
        """The samples behind row `after`, as many as go into a payload; None: nothing new."""
        return None

    def close(self) -> None:
        """End the worker, whatever it is doing, and let go of everything."""
        if self.process:
            self._stop_listening()
            self._end()
            self._worker.pipe.close()
            self.process = 0
        for thing in self._open:
            os.close(thing) if isinstance(thing, int) else thing.close()
        self._open.clear()

    def _end(self) -> None:
        self._worker.process.kill()
        self._worker.process.wait()


# Worker of a lease that runs a whole plan on one of this machine's targets.
#
# Neither namespaces nor priorities: what is held takes its time, and no NIC.

HOLDER = "orchestrator.testbed.agent.plan_process"
JOB = f"{HOLDER}:hold"
LONGEST = 1000
"""Most characters of a stage's detail."""
ENDING_S, LOOK_S = 1.0, 0.01
"""For which its process may tidy up: half-made models. A lease is over a second after silence ends
it."""


class PlanWorker(SupervisedWorker):
    """See the module."""

    what = "the process that ran the plan"

    def __init__(self, wanted: Hold, spool: Path, changed: Callable[[], None]) -> None:
        super().__init__(changed)
        spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        spec = {
            "plan": wanted.plan,
            "target": wanted.target,
            "sources": wanted.sources,
            "spool": str(spool),
        }
        self._begin(Worker(JOB, spec, process=HOLDER))

    def _news(self, more: dict[str, Any]) -> None:
        self.detail = str(more.get("detail", ""))[:LONGEST]
        self.done = min(max(float(more.get("done", 0.0)), 0.0), 1.0)

    def change(self, wanted: Change) -> None:
        """Refuse: a whole plan takes no live changes."""
        raise Unacceptable("held", "a plan that one machine holds is not changed while it runs")

    def halt(self) -> None:
        """Refuse: a whole plan ends with all its results or none."""
        raise Unacceptable("held", "a plan that one machine holds is run to its end, or given up")

    def _end(self) -> None:
        """Let it tidy up, then end it and all that it has started (a compiler, say)."""
        process = self._worker.process
        process.terminate()
        end = time.monotonic() + ENDING_S
        while not _has_ended(process.pid) and time.monotonic() < end:
            time.sleep(LOOK_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # its number is taken until it is waited for
        process.wait()


def _has_ended(process: int) -> bool:
    try:
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process, look) is not None
    except ChildProcessError:  # it was waited for already
        return True
