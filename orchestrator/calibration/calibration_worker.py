"""Worker that takes the measurements in turn and reports progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orchestrator.calibration.core_stalls import measure_stalls
from orchestrator.calibration.datapath_trial import rehearse
from orchestrator.calibration.departure_lateness import LOADS, measure_departures
from orchestrator.calibration.forwarding_rate import SIZES, measure_forwarding
from orchestrator.calibration.profile_statistics import as_plain_data
from orchestrator.calibration.reaction_delay import measure_turnaround
from orchestrator.calibration.shaping_accuracy import DELAYS, RATES, measure_delay, measure_limiter
from orchestrator.calibration.trial_links import VETH, NicCable, TrialLinks
from orchestrator.calibration.trial_plans import FAST, FRAME, MS, through_switch
from orchestrator.targets.software import realtime_scheduling
from orchestrator.targets.software.backend_selection import BackendChoice

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
class _ProgressReporter:
    control: Any
    todo: int
    done: int = 0

    def __call__(self, kind: str, of: str) -> None:
        self.control.report((STAGE, kind, self.done / self.todo, of))
        self.done += 1


def measure(
    control: Any, seconds: float, carried: BackendChoice, cable: NicCable | None
) -> dict[str, Any]:
    """Everything, in about `seconds`; the sections of a profile as plain data."""
    backend = carried.backend()
    ground: TrialLinks = VETH if cable is None else cable
    todo = 2 + len(SIZES) + len(LOADS) + len(RATES) + len(DELAYS) + 1
    tell: Callable[[str, str], None] = _ProgressReporter(control, todo)
    tell("compiling", "or loading")
    rehearse(through_switch(10**9, FRAME, MS))
    realtime_scheduling.prepare()
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
        "forwarding": [as_plain_data(one) for one in forwarding],
        "departures": [as_plain_data(one) for one in departures],
        "stalls": as_plain_data(stalls),
        "limiter": [as_plain_data(one) for one in limiters],
        "delay": [as_plain_data(one) for one in delays],
        "turnaround": as_plain_data(turned),
        "timestamps": {
            "error": None if stamps is None else as_plain_data(stamps),
            "clock_step_ns": step_ns,
            "clocks_apart_ns": apart,
        },
    }
