"""How exact a limiter is: `python tests/benchmarks/bench_limiter.py [SECONDS]`.

A NIC's limiter at 10, 100 and 950 Mb/s, full frames: the papers' bucket, which is refilled every
16 us, so that frames leave in steps of that, and one that is refilled every 100 ns. Beside them,
in the same run, the kernel's own where `tc` and the kernel have them: tbf with a burst of 3 KB and
of 32 KB, htb as it is by default and with a burst of 32 KB. A peer is kept full by a process that
spins on the other core. Times are the kernel's at the far end of a veth pair. Prints JSON: the
mean error, and how gaps are spread, also without stalls: gaps longer than the ideal one by 50 us,
which jitter is not (as `tailback calibrate` has it), and what leaves within a millisecond behind
one, to make up for it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from typing import Any

OURS = {"tailback": "16us", "tailback, refilled every 100 ns": "100ns"}
PEERS = {
    "tbf burst 3 KB": "tbf rate {rate}bit burst 3000 limit 60000",
    "tbf burst 32 KB": "tbf rate {rate}bit burst 32000 limit 60000",
    "htb": "htb",
    "htb burst 32 KB": "htb",
}
CLASSES = {"htb": "htb rate {rate}bit", "htb burst 32 KB": "htb rate {rate}bit burst 32000"}
STALL_NS, BEHIND_NS = 50_000, 1_000_000
BURST = 8


def measure(control: Any, seconds: float) -> dict[str, Any]:
    """Job of the worker."""
    from orchestrator.calibration.datapath_trial import rehearse
    from orchestrator.calibration.shaping_accuracy import RATES
    from orchestrator.calibration.trial_plans import FRAME, MS, limited
    from orchestrator.targets.software.realtime_scheduling import prepare

    rehearse(limited(RATES[0], FRAME, MS))
    report: dict[str, Any] = {"preparation": prepare()}
    for rate in RATES:
        rows = report[f"{rate // 10**6} Mb/s"] = {
            name: ours(rate, FRAME, seconds, period) for name, period in OURS.items()
        }
        for name in PEERS if shutil.which("tc") else ():
            rows[name] = peer(name, rate, FRAME, seconds)
    return report


def ours(rate: int, frame: int, seconds: float, period: str) -> dict[str, float]:
    """The limiter of a NIC, as `tailback calibrate` looks at it."""
    from orchestrator.calibration.datapath_trial import run_trial
    from orchestrator.calibration.shaping_accuracy import SETTLED_NS
    from orchestrator.calibration.trial_links import ObserverPlacement
    from orchestrator.calibration.trial_plans import S, limited

    room = round(1.2 * rate * seconds / 8 / frame) + 1000
    plan = limited(rate, frame, round(seconds * S))
    plan = plan.with_settings([f"nodes.nic.limiter.period={period}"])
    outcome = run_trial(plan, [["nic"]], watches=[ObserverPlacement("sink", room)])
    times = outcome.seen["sink"].data.times_ns - outcome.start_ns
    return told(rate, frame, times[times > SETTLED_NS])


def told(rate: int, frame: int, times_ns: Any) -> dict[str, float]:
    """Of the times (ns) of frames."""
    import numpy as np

    from orchestrator.calibration.profile_statistics import gap_ns, mean_error_ppm

    ideal = gap_ns(frame, rate)
    gaps = np.diff(times_ns)
    begins = times_ns[:-1]
    ends = times_ns[1:][gaps > ideal + STALL_NS]
    last = np.searchsorted(ends, begins, side="right") - 1
    since = np.where(last >= 0, begins - ends[last], BEHIND_NS) if len(ends) else BEHIND_NS
    steady = gaps[(gaps <= ideal + STALL_NS) & (since >= BEHIND_NS)]
    found = {"frames": len(times_ns), "ideal_us": round(float(ideal) / 1e3, 2)}
    found["mean_error_percent"] = round(mean_error_ppm(times_ns, ideal) / 1e4, 4)
    for name, some in (("gap", gaps), ("steady_gap", steady)):
        for share in (50, 99):
            value = float(np.percentile(some, share)) / 1e3 if len(some) else float("nan")
            found[f"{name}_p{share}_us"] = round(value, 2)
    return found | {"in_stalls_percent": round(100 * (1 - len(steady) / len(gaps)), 2)}


def peer(name: str, rate: int, frame: int, seconds: float) -> dict[str, Any]:
    """A queueing discipline of the kernel's, kept full."""
    import numpy as np

    from orchestrator.calibration.packet_observer import Observer, Offset
    from orchestrator.calibration.shaping_accuracy import SETTLED_NS
    from orchestrator.calibration.trial_links import VETH, ObserverPlacement
    from orchestrator.engine.datapath.mmsg_batch import sender
    from orchestrator.targets.software.network_namespaces import Machines
    from tests.benchmarks import datapath_loops as loops

    machines = Machines()
    for each in ("nic", "sink"):
        machines.add(each)
    machines.join("nic", "sink")
    words = [["qdisc", "add", "dev", "p0", "root", "handle", "1:", *PEERS[name].split()]]
    if name in CLASSES:
        words[0] += ["default", "1"]
        words.append(["class", "add", "dev", "p0", "classid", "1:1", *CLASSES[name].split()])
    with machines.inside("nic"):
        for each in words:
            line = [one.format(rate=rate) for one in ("tc", *each)]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode:
                return {"skipped": done.stderr.strip()}
    room = round(1.2 * rate * seconds / 8 / frame) + 1000
    observer = Observer(VETH.ring(machines, ObserverPlacement("sink", room)), room)
    out = sender(np.zeros((1, 2048), np.uint8), BURST, [2])
    out.octets[0, :18] = list(bytes.fromhex("025442000002 025442000001 8100 0001 88b5"))
    socket = machines.open("nic").fileno()
    begun = time.monotonic_ns()
    until = begun + int(seconds * 1e9)

    def fill() -> None:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        loops.flood(out, socket, frame, BURST, until, np.zeros(2, np.int64))

    thread = threading.Thread(target=fill)
    thread.start()
    thread.join()
    time.sleep(0.02)
    seen = observer.take(Offset.now().ns).times_ns
    machines.close()
    seen = seen[(seen > begun + SETTLED_NS) & (seen < until)]
    return told(rate, frame, seen) if len(seen) > 2 else {"skipped": f"{len(seen)} frames came"}


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    from orchestrator.targets.software.worker_process import run_job

    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    print(json.dumps(run_job("tests.benchmarks.bench_limiter:measure", wanted), indent=1))
