"""Send thread of a storm, and its scheduling class.

A thread that sleeps between its frames may have the scheduler's real-time class: it is put on a
core at once, whoever spins there. One that spins may not, for the kernel takes a real-time spinner
off its core for 50 ms of every second. So a storm sleeps as long as its frames leave a quarter of
a core, and spins with a high ordinary priority where they do not.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from orchestrator.storm import loop, times
from orchestrator.storm.desk import Desk
from orchestrator.targets.software import realtime
from orchestrator.targets.software.kernelcalls import set_timer_slack

NAP_NS = 5_000
"""Nothing is slept for that is due sooner. To wake up takes longer, which the margin bears."""


def naps(desk: Desk) -> bool:
    """Return whether the frames of a storm leave a quarter of a core."""
    each = desk.holds["hold_ns"] - desk.holds["margin_ns"]
    return bool((times.FRAME_NS / each).sum() <= times.BUSY[0] / times.BUSY[1] + 0.01)


class StormThread(threading.Thread):
    """Keeps the holds of a desk to the end of the storm."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(name="storm", daemon=True)
        self.desk = desk
        self.scheduled = "ordinary"
        """How: "real time", "nice -10" or "ordinary"."""
        self.cpu_s = 0.0
        self.taken: dict[str, float] = {}
        """What others had of the core meanwhile (see `realtime.taken`), s."""

    def run(self) -> None:
        """Take what the scheduler gives, and go."""
        with suppress(OSError):
            set_timer_slack(1)
        self.scheduled = _elevated(sleeps=bool(self.desk.control[loop.NAP_NS]))
        before, cpu = realtime.taken(), time.thread_time()
        loop.keep(self.desk)
        self.cpu_s, after = time.thread_time() - cpu, realtime.taken()
        self.taken = {key: after[key] - before[key] for key in before if key in after}

    def stop(self) -> None:
        """Let all ports go; it ends soon."""
        self.desk.control[loop.STOP] = 1


def _elevated(*, sleeps: bool) -> str:
    """Raise this thread's scheduling class as far as permitted; describe the result."""
    steps: list[tuple[str, Callable[[], None]]] = [
        ("nice -10", lambda: os.setpriority(os.PRIO_PROCESS, 0, realtime.NICE))
    ]
    if sleeps:
        least = os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO))
        fifo = os.SCHED_FIFO
        steps.insert(0, ("real time", lambda: os.sched_setscheduler(0, fifo, least)))
    for name, step in steps:
        with suppress(OSError):
            step()
            return name
    return "ordinary"
