"""What one veth hop costs: `python tests/benchmarks/bench_veth.py`.

One worker, two namespaces, one veth pair. Prints JSON: frames per second that one thread moves
(send and receive in turn, so no second core helps), the cost of a receive that finds nothing, of
reading the clock, and how long a frame takes when both ends spin on a core each.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

BURST = 16
TRIALS = 5


def measure(control: Any) -> dict[str, Any]:
    """Job of the worker."""
    import numpy as np

    from orchestrator.engine.datapath.libc import monotonic_ns
    from orchestrator.engine.datapath.mmsg_batch import receiver, sender
    from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE, Machines
    from orchestrator.targets.software.realtime_scheduling import prepare
    from tests.benchmarks import veth_loops as loops

    machines = Machines()
    for name in ("a", "b"):
        machines.add(name)
    machines.join("a", "b")
    near, far = (machines.open(name).fileno() for name in ("a", "b"))
    octets = np.zeros((256, 2048), np.uint8)
    out, back = (sender(octets, BURST, machines.machines[n].interfaces) for n in ("a", "b"))
    into, home = receiver(octets, 64), receiver(octets, 64)
    loops.arm_all(into, 128)
    loops.arm_all(home, 192)
    octets[:, 12:18] = list(bytes.fromhex("8100 0001 88b5"))
    stamp = np.zeros(2, np.int64)
    report: dict[str, Any] = {"preparation": prepare()}
    loops.hop(near, far, out, into, 10, 64, 64, 1)
    for length, known in ((64, 64), (1500, 1500), (1500, 128)):
        for burst in (1, BURST):
            best = 0.0
            for _ in range(TRIALS):
                begun = time.perf_counter()
                moved = loops.hop(near, far, out, into, 100_000, length, known, burst)
                best = max(best, moved / (time.perf_counter() - begun))
            report[f"hop_{length}B_known{known}_burst{burst}_fps"] = round(best)
    for name, function, arguments in (
        ("empty_receive", loops.empty, (far, into)),
        ("clock", loops.clocks, (stamp,)),
    ):
        function(*arguments, 10)
        begun = time.perf_counter()
        function(*arguments, 1_000_000)
        report[f"{name}_ns"] = round((time.perf_counter() - begun) * 1e3, 1)

    times = np.zeros(20_000, np.int64)
    stop = np.zeros(1, np.int64)
    loops.echo(far, into, back, stop, 0)
    loops.ping(near, out, home, times[:0], stamp)
    echo = threading.Thread(target=loops.echo, args=(far, into, back, stop, 1))
    echo.start()
    loops.ping(near, out, home, times, stamp)
    stop[0] = 1
    echo.join()
    for share in (50, 99, 99.9, 100):
        report[f"round_trip_p{share}_us"] = round(float(np.percentile(times, share)) / 1e3, 2)
    report["clock_now_ns"] = int(monotonic_ns(stamp))
    report["counters"] = machines.interface_counters("a"), machines.socket_counters("b")
    report["first_interface"] = FIRST_INTERFACE
    return report


if __name__ == "__main__":
    from orchestrator.targets.software.worker_process import run_job

    print(json.dumps(run_job("tests.benchmarks.bench_veth:measure"), indent=1))
