"""How punctual two spinning threads are: `python tests/benchmarks/bench_pacing.py [SECONDS]`.

Source, switch and sink in a namespace each; one thread paces full frames at 80 000 a second into
the switch, the other forwards them to the sink, as in the NetFPGA experiment. Prints JSON: how
late departures were, and how long the rounds of the forwarding loop took.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from typing import Any

INTERVAL_NS = 12_500


def measure(control: Any, seconds: float, pinned: bool) -> dict[str, Any]:
    """Job of the worker."""
    import numpy as np

    from orchestrator.engine.datapath.mmsg_batch import receiver, sender
    from orchestrator.engine.histogram import new_histogram, percentile_ps
    from orchestrator.targets.software.network_namespaces import Machines
    from orchestrator.targets.software.realtime_scheduling import pin, prefault, prepare, taken
    from tests.benchmarks import veth_loops as loops

    machines = Machines()
    for name in ("source", "switch", "sink"):
        machines.add(name)
    machines.join("source", "switch")
    machines.join("switch", "sink")
    sockets = {name: machines.open(name).fileno() for name in machines.machines}
    octets = np.zeros((512, 2048), np.uint8)
    octets[:, 12:18] = list(bytes.fromhex("8100 0001 88b5"))
    out = sender(octets, 64, machines.machines["source"].interfaces)
    onward = sender(octets, 64, machines.machines["switch"].interfaces)
    feedback, into, arrived = (receiver(octets, 64) for _ in range(3))
    for number, batch in enumerate((feedback, into, arrived)):
        loops.arm_all(batch, 64 + 64 * number)
    late, gaps = new_histogram(), new_histogram()
    state, received = np.zeros(1, np.int64), []
    lost: dict[str, float] = {}
    stamps = np.zeros((2, 2), np.int64)
    frames = int(seconds * 1e9 / INTERVAL_NS)

    def source(count: int) -> None:
        if pinned:
            pin(0)
        before = taken()
        loops.pace(sockets["source"], out, feedback, state, INTERVAL_NS, count, late, stamps[0])

        after = taken()
        lost.update({name: round(after[name] - before[name], 4) for name in before})

    def switch() -> None:
        if pinned:
            pin(1)
        received.append(
            loops.forward(
                sockets["switch"], into, onward, sockets["sink"], arrived, state, gaps, stamps[1]
            )
        )

    threads = [threading.Thread(target=source, args=(0,)), threading.Thread(target=switch)]
    for thread in threads:  # compiles
        thread.start()
        thread.join()
    state[0] = late[:] = gaps[:] = 0
    prefault(octets)
    report: dict[str, Any] = {"preparation": prepare(), "pinned": pinned, "frames": frames}
    before = resource.getrusage(resource.RUSAGE_SELF)
    threads = [threading.Thread(target=switch), threading.Thread(target=source, args=(frames,))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = resource.getrusage(resource.RUSAGE_SELF)
    report["source_lost_s"] = lost
    report["arrived"] = received[-1]
    for what, histogram in (("late", late), ("round", gaps)):
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)):
            report[f"{what}_{name}_us"] = round(percentile_ps(histogram, share) / 1e6, 2)
    report["involuntary_switches"] = after.ru_nivcsw - before.ru_nivcsw
    report["page_faults"] = after.ru_minflt - before.ru_minflt
    report["drops"] = {name: machines.socket_counters(name)["dropped"] for name in sockets}
    return report


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    from orchestrator.targets.software.worker_process import run_job

    job = "tests.benchmarks.bench_pacing:measure"
    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    print(json.dumps([run_job(job, wanted, pinned) for pinned in (True, False)], indent=1))
