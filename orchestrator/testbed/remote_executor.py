"""Remote executor: runs each point at a controller, and stores the measured numbers only.

Of its folder only the numbers are kept.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.batch.batch_executor import MEASURED
from orchestrator.batch.experiment import Point
from orchestrator.batch.realtime_executors import plan_of
from orchestrator.batch.result_store import Row
from orchestrator.errors import RunFailed, TailbackError
from orchestrator.progress import silent
from orchestrator.targets.software.software_target import stepped
from orchestrator.testbed.controller import controller_client
from orchestrator.testbed.controller.controller_messages import REMOTE, Progress
from orchestrator.testbed.interruptible_wait import wait_for_run


@dataclass
class RemoteExecutor:
    """Executor of points at a controller. `stop` ends all runs that other threads wait for."""

    address: str
    keys: Path
    key: str | None
    pace: float = 1.0
    _going: set[asyncio.Task[Any]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def carry(self, point: Point) -> Row:
        """Row of a point. Raises the controller's error."""
        said: list[str] = []
        target = point.subject.target
        options = point.subject.table.get("targets", {}).get(target, {})
        pace = stepped(float(options.get("pace", self.pace)))
        with tempfile.TemporaryDirectory(prefix="tailback-") as out:
            asking = controller_client.run(
                *(self.address, self.keys, self.key, plan_of(point), False, Path(out)),
                *(silent, said.append, pace, target),
                sources=None if target == REMOTE else point.subject.sources,
            )
            outcome = wait_for_run(self._stoppable(asking))
        if outcome.error is not None:
            failed = TailbackError(outcome.error)
            failed.exit_code = outcome.exit_code
            raise failed
        result = outcome.result or {}
        if "metrics" not in result:
            raise RunFailed("the controller says nothing of what the run measured")
        if (of := (result.get("target"), result.get("seed"))) != (target, point.seed):
            raise RunFailed(f"the controller ran {of[0]} with seed {of[1]}: not what it was asked")
        return {key: result[key] for key in MEASURED if key in result}

    def machines(self, target: str) -> list[str]:
        """Machines that can run a plan on a target now. Raises RunFailed, BadInput."""
        state = wait_for_run(controller_client.status(self.address, self.keys, self.key))
        return [one["name"] for one in state["machines"] if one["holds"].get(target) == ""]

    def stop(self) -> None:
        """Cancel all pending runs at the controller, and refuse new ones."""
        with self._lock:
            self._stopped = True
            for task in self._going:
                task.get_loop().call_soon_threadsafe(task.cancel)

    async def _stoppable(self, asking: Coroutine[Any, Any, Progress]) -> Progress:
        task = asyncio.current_task()
        assert task is not None
        with self._lock:
            if self._stopped:
                asking.close()
                raise RunFailed("stopped")
            self._going.add(task)
        try:
            return await asking
        finally:
            with self._lock:
                self._going.discard(task)
