"""Worker that takes the measurements in turn and reports progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orchestrator.calibration.arithmetic import told
from orchestrator.calibration.delay import DELAYS, measure_delay
from orchestrator.calibration.departures import LOADS, measure_departures
from orchestrator.calibration.forwarding import SIZES, measure_forwarding
from orchestrator.calibration.grounds import VETH, Cable, Ground
from orchestrator.calibration.limiter import RATES, measure_limiter
from orchestrator.calibration.plans import FAST, FRAME, MS, through_switch
from orchestrator.calibration.stalls import measure_stalls
from orchestrator.calibration.trial import rehearse
from orchestrator.calibration.turnaround import measure_turnaround
from orchestrator.targets.software import realtime
from orchestrator.targets.software.datapath import Choice

STAGE = "stage"
SHARES = {
    "stalls": 0.17,
    "forwarding": 0.04,
    "departures": 0.05,
    "limiter": 0.055,
    "delay": 0.04,
    "turnaround": 0.045,
}
"""Of the time that is given, for each thing of a kind. What is left takes setting up."""
LEAST_S = 5.0
MOST_PORTS = 64
"""Ports that the trials of one job open, of a backend that needs their number in advance."""


@dataclass
class _Teller:
    control: Any
    todo: int
    done: int = 0

    def __call__(self, kind: str, of: str) -> None:
        self.control.report((STAGE, kind, self.done / self.todo, of))
        self.done += 1


def measure(control: Any, seconds: float, carried: Choice, cable: Cable | None) -> dict[str, Any]:
    """Everything, in about `seconds`; the sections of a profile as plain data."""
    backend = carried.backend()
    ground: Ground = VETH if cable is None else cable
    todo = 2 + len(SIZES) + len(LOADS) + len(RATES) + len(DELAYS) + 1
    tell: Callable[[str, str], None] = _Teller(control, todo)
    tell("compiling", "or loading")
    rehearse(through_switch(10**9, FRAME, MS))
    realtime.prepare()
    each = {kind: share * seconds for kind, share in SHARES.items()}
    tell("stalls", "control threads on every core")
    stalls, step_ns = measure_stalls(each["stalls"])
    forwarding = []
    for size in SIZES:
        tell("forwarding", f"frames of {size} octets")
        forwarding.append(measure_forwarding(size, each["forwarding"], backend, ground))
    departures, stamps, apart = [], None, 0
    holds = forwarding[-1].frames_per_s
    for load in LOADS:
        tell("departures", f"at {load:.0%} of what a core forwards")
        found, error, clocks = measure_departures(
            load, min(holds, FAST / 8 / FRAME), each["departures"], backend, ground
        )
        departures.append(found)
        stamps, apart = (stamps, apart) if error is None else (error, clocks)
    limiters = []
    for rate in RATES:
        tell("limiter", f"at {rate / 1e6:g} Mb/s")
        limiters.append(measure_limiter(rate, each["limiter"], backend, ground))
    delays = []
    for delay in DELAYS:
        tell("delay line", f"of {delay / 1e9:g} ms")
        delays.append(measure_delay(delay, each["delay"], backend, ground=ground))
    tell("turnaround", "of CNM and PAUSE")
    turned = measure_turnaround(each["turnaround"], backend, ground)
    return {
        "forwarding": [told(one) for one in forwarding],
        "departures": [told(one) for one in departures],
        "stalls": told(stalls),
        "limiter": [told(one) for one in limiters],
        "delay": [told(one) for one in delays],
        "turnaround": told(turned),
        "timestamps": {
            "error": None if stamps is None else told(stamps),
            "clock_step_ns": step_ns,
            "clocks_apart_ns": apart,
        },
    }
