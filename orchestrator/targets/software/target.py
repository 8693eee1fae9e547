"""Target `software`: the parent's side of a run on emulated machines."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from orchestrator.progress import Progress
from orchestrator.targets.software.launch import Worker
from orchestrator.targets.software.probe import probe

if TYPE_CHECKING:
    from orchestrator.errors import Refused
    from orchestrator.plan import ResolvedPlan
    from orchestrator.progress import Report
    from orchestrator.recording import Recording

REPORT_S = 0.5
"""Between two reports of progress, by this process's own clock: the worker is left alone."""


class Software:
    """Real Ethernet frames over veth, in real time, without privileges."""

    name = "software"
    summary = "real frames between network namespaces, in real time, rootless"

    def probe(self) -> Refused | None:
        """Why namespaces are not to be had here."""
        return probe()

    def run(self, resolved: ResolvedPlan, progress: Report) -> Recording:
        """Run the plan in a worker process, which takes everything with it when it ends."""
        from orchestrator.compiling import TYPICAL
        from orchestrator.targets.software import job

        duration = resolved.plan.duration / 1e12
        progress(Progress("preparing", 0.0, "namespaces and interfaces"))
        done = threading.Event()
        drawer = threading.Thread(target=_draw, args=(progress, duration, done), daemon=True)
        try:
            with Worker("orchestrator.targets.software.job:run", resolved.plan.to_toml()) as worker:
                for news in worker.reports():
                    if news == job.COMPILING:
                        progress(Progress("compiling", 0.0, f"or loading; {TYPICAL}"))
                    elif news == job.STARTED:
                        drawer.start()
                recording: Recording = worker.result
                return recording
        finally:
            done.set()
            if drawer.ident is not None:
                drawer.join()


def _draw(progress: Report, duration: float, done: threading.Event) -> None:
    start = time.monotonic()
    while not done.wait(REPORT_S):
        now = min(time.monotonic() - start, duration)
        progress(Progress("running", now / duration, f"t = {now:.1f} s of {duration:g} s"))
