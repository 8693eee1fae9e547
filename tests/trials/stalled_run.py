"""The job: a plan's run as target software does it, of which every stall is listed.

`fault`: "blind" has no log; "free" has a clock that nobody holds back.
"""

from __future__ import annotations

import time
from typing import Any

from orchestrator.recording import Recording
from orchestrator.run import stall_report
from orchestrator.targets.software import plan_job, thread_io

BLIND, FREE = "blind", "free"


def run(control: Any, text: str, fault: str | None) -> Recording:
    """See the module. `epoch_ns` of the recording is that of CLOCK_MONOTONIC."""
    stall_report.SHOWN = 1 << 20
    if fault == BLIND:
        thread_io.Shared.horizon_ns = property(lambda self: 1 << 60)  # type: ignore[method-assign,assignment]
    if fault == FREE:
        thread_io.horizon_of = lambda asked_ps, speed: thread_io.FREE_RUNNING_PS
    recording = plan_job.run(control, text)
    recording.epoch_ns -= time.time_ns() - time.monotonic_ns()
    return recording
