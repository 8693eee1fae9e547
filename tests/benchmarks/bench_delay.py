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
    from orchestrator.calibration.arithmetic import told
    from orchestrator.calibration.delay import DELAYS, measure_delay
    from orchestrator.calibration.plans import FRAME, GIGABIT, MS, delayed
    from orchestrator.calibration.stalls import measure_stalls
    from orchestrator.calibration.trial import rehearse
    from orchestrator.targets.software.backends import PACKETS
    from orchestrator.targets.software.realtime import prepare

    rehearse(delayed(MS, GIGABIT, GIGABIT, FRAME, MS))
    report: dict[str, Any] = {"preparation": prepare(), "stalls": told(measure_stalls(seconds)[0])}
    report["delay"] = [
        told(measure_delay(delay, seconds, PACKETS, load)) for delay in DELAYS for load in LOADS
    ]
    return report


if __name__ == "__main__":
    from orchestrator.targets.software.launch import run_job

    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    print(json.dumps(run_job("tests.benchmarks.bench_delay:measure", wanted), indent=1))
