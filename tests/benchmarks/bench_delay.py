"""How exact a delay line is: `python tests/benchmarks/bench_delay.py [SECONDS]`.

A NIC sends full frames over a link of 1 Gb/s with a delay of 100 us, 1 ms and 10 ms, at 10, 50 and
100 % of its rate, SECONDS each; the kernel stamps what comes out at the other end, and each frame
carries the time at which it was made. Prints JSON: the error's spread in ns, frames lost and out of
order, and the stalls that the machine had of itself meanwhile.
"""

from __future__ import annotations

import json
import sys
from typing import Any

LOADS = (0.1, 0.5, 1.0)


def measure(control: Any, seconds: float) -> dict[str, Any]:
    """Job of the worker."""
    from orchestrator.calibration.core_stalls import measure_stalls
    from orchestrator.calibration.datapath_trial import rehearse
    from orchestrator.calibration.profile_statistics import as_plain_data
    from orchestrator.calibration.shaping_accuracy import DELAYS, measure_delay
    from orchestrator.calibration.trial_plans import FRAME, GIGABIT, MS, delayed
    from orchestrator.targets.software.packet_backends import PACKETS
    from orchestrator.targets.software.realtime_scheduling import prepare

    rehearse(delayed(MS, GIGABIT, GIGABIT, FRAME, MS))
    report: dict[str, Any] = {
        "preparation": prepare(),
        "stalls": as_plain_data(measure_stalls(seconds)[0]),
    }
    report["delay"] = [
        as_plain_data(measure_delay(delay, seconds, PACKETS, load))
        for delay in DELAYS
        for load in LOADS
    ]
    return report


if __name__ == "__main__":
    from orchestrator.targets.software.worker_process import run_job

    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    print(json.dumps(run_job("tests.benchmarks.bench_delay:measure", wanted), indent=1))
