"""Worker of a lease that runs a whole plan on one of this machine's targets.

Neither namespaces nor priorities: what is held takes its time, and no NIC.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.targets.software.launch import Worker
from orchestrator.testbed.agent.hosted import Hosted
from orchestrator.testbed.agent.protocol import Change, Hold
from orchestrator.testbed.wire.envelope import Unacceptable

HOLDER = "orchestrator.testbed.agent.holder"
JOB = f"{HOLDER}:hold"
LONGEST = 1000
"""Most characters of a stage's detail."""
ENDING_S, LOOK_S = 1.0, 0.01
"""For which its process may tidy up: half-made models. A lease is over a second after silence ends
it."""


class Whole(Hosted):
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
