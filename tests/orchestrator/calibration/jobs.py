"""Jobs of a worker: single measurements, with faults planted in them."""

from __future__ import annotations

import os
from typing import Any

from orchestrator.calibration.arithmetic import told
from orchestrator.calibration.delay import measure_delay
from orchestrator.calibration.departures import measure_departures
from orchestrator.calibration.forwarding import measure_forwarding
from orchestrator.calibration.limiter import measure_limiter
from orchestrator.calibration.plans import FRAME, GIGABIT, S, delayed, limited
from orchestrator.calibration.stalls import measure_stalls
from orchestrator.calibration.trial import rehearse
from orchestrator.calibration.turnaround import measure_turnaround
from orchestrator.targets.software.backends import PACKETS

SECONDS = 0.4


def limiter(control: Any, rate: int, off_percent: float) -> dict[str, Any]:
    """A limiter that is told to be at a rate and set to another one."""
    plan = limited(round(rate * (1 + off_percent / 100)), FRAME, round(SECONDS * S))
    rehearse(plan)
    return told(measure_limiter(rate, SECONDS, PACKETS, plan=plan))


def delay(control: Any, delay_ps: int, added_ps: int, load: float) -> dict[str, Any]:
    """A delay line that is told to have a delay and has a longer one."""
    rate = round(load * GIGABIT)
    plan = delayed(delay_ps + added_ps, rate, GIGABIT, FRAME, round(SECONDS * S))
    rehearse(plan)
    return told(measure_delay(delay_ps, SECONDS, PACKETS, load, plan=plan))


def stalls(control: Any, seconds: float) -> dict[str, Any]:
    """The control threads, after a word that they begin."""
    measure_stalls(0.01)  # compiled, or loaded
    control.report(os.getpid())
    found, _ = measure_stalls(seconds)
    return told(found)


def departures(control: Any) -> dict[str, Any]:
    """A core's forwarding and departures at a tenth of it, and what else comes of that."""
    forwarding = measure_forwarding(FRAME, 0.2, PACKETS)
    found, stamps, apart = measure_departures(0.1, forwarding.frames_per_s, SECONDS, PACKETS)
    return {
        "forwarding": told(forwarding),
        "departures": told(found),
        "stamps": None if stamps is None else told(stamps),
        "apart_ns": apart,
    }


def turnaround(control: Any) -> dict[str, Any]:
    """Of CNM and PAUSE."""
    return told(measure_turnaround(SECONDS, PACKETS))
