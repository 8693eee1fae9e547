"""What a switch hop costs: `python tests/benchmarks/bench_datapath.py`, as root for AF_XDP.

veth -> switch -> veth, 64 and 1500 octets, by AF_PACKET, by AF_XDP (program behind the driver and
in it) and by the Linux bridge, in turn in the same run. Prints JSON, frames per second:

- `one_core`: one core sends bursts and forwards them. `forwarding` is what is left when the time
  that sending alone takes (into an interface behind which nobody listens) is taken off.
- `two_cores`: another core sends as fast as it can; what leaves the switch. The bridge forwards
  within the sender's system calls, and so has one core whatever there is.
"""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from typing import Any

BURST = 32
TRIALS = 7
FRAMES = 40_000
FLOOD_S = 0.3
WAYS = ("packet", "xdp generic", "xdp native", "bridge", "nobody")
LENGTHS = (64, 1500)
MTU = 3000
"""A program in the driver takes no interface whose frames are longer than a page."""


def measure(control: Any, granted: list[Any]) -> dict[str, Any]:
    """Job of the worker."""
    import numpy as np
    from pyroute2 import IPRoute

    from orchestrator.engine.datapath.batch import sender
    from orchestrator.targets.software.backends import PACKETS, Backend
    from orchestrator.targets.software.namespaces import Machines
    from orchestrator.targets.software.realtime import prepare
    from orchestrator.targets.software.xdp import bpf
    from orchestrator.targets.software.xdp.backend import Xdp
    from tests.benchmarks import datapath_loops as loops
    from tests.orchestrator.targets.software.rigged import End

    machines = Machines()
    backends: dict[str, Backend] = {"packet": PACKETS}
    for name, mode, grant in zip(WAYS[1:3], (bpf.GENERIC, bpf.NATIVE), granted, strict=False):
        backends[name] = Xdp(grant, 2048, mode)
    ends, outs, near = {}, {}, {}
    for number, way in enumerate(way for way in WAYS if way in backends or way in WAYS[3:]):
        names = [f"{role}{number}" for role in ("source", "switch", "sink")]
        for name in names:
            machines.add(name)
        machines.join(names[0], names[1], MTU)
        machines.join(names[1], names[2], MTU)
        near[way] = names
        octets = np.zeros((1, 2048), np.uint8)
        octets[0, :18] = list(bytes.fromhex("025442000002 025442000001 8100 0001 88b5"))
        outs[way] = sender(octets, BURST, [2])
        machines.open(names[0])
        if way in backends:
            ends[way] = End(machines, names[1], backends[way])
        elif way == "bridge":
            with machines.inside(names[1]), IPRoute() as netlink:
                netlink.link("add", ifname="br0", kind="bridge")
                bridge = netlink.link_lookup(ifname="br0")[0]
                netlink.link("set", index=bridge, state="up")
                for index in (2, 3):
                    netlink.link("set", index=index, master=bridge)
    time.sleep(0.5)
    stamp = np.zeros(2, np.int64)
    cores = sorted(os.sched_getaffinity(0))

    def came(way: str) -> int:
        return machines.interface_counters(near[way][2])[0]["rx_packets"]

    def on_one_core(way: str, length: int, frames: int) -> float:
        socket = machines.open(near[way][0]).fileno()
        before, begun = came(way), time.perf_counter()
        if way in ends:
            end = ends[way]
            loops.through(end.pool, end.rig, outs[way], socket, frames, length, BURST)
        else:
            loops.alone(outs[way], socket, frames, length, BURST)
        took = time.perf_counter() - begun
        arrived = came(way) - before
        if way != "nobody" and arrived != frames:
            raise RuntimeError(f"{way}: {arrived} of {frames} frames of {length} octets arrived")
        return frames / took

    def on_two_cores(way: str, length: int) -> float:
        socket = machines.open(near[way][0]).fileno()
        until = time.monotonic_ns() + int(FLOOD_S * 1e9)
        arguments = (outs[way], socket, length, BURST, until, np.zeros(2, np.int64))

        def flood() -> None:
            os.sched_setaffinity(0, {cores[-1]})
            loops.flood(*arguments)

        before, begun = came(way), time.perf_counter()
        source = threading.Thread(target=flood)
        source.start()
        if way in ends:
            loops.forward(ends[way].pool, ends[way].rig, until, stamp)
        source.join()
        return (came(way) - before) / (time.perf_counter() - begun)

    report: dict[str, Any] = {"preparation": prepare()}
    os.sched_setaffinity(0, {cores[0]})
    measured = [way for way in near if way != "nobody"]
    for way in near:
        on_one_core(way, 64, 10 * BURST)
        on_two_cores(way, 64)
        while way in ends and loops.turn(ends[way].pool, ends[way].rig):
            pass
    control.report("measuring")
    for length in LENGTHS:
        one: dict[str, list[float]] = {way: [] for way in near}
        two: dict[str, list[float]] = {way: [] for way in measured}
        for _ in range(TRIALS):
            for way in near:
                one[way].append(on_one_core(way, length, FRAMES // BURST * BURST))
        for _ in range(TRIALS):
            for way in measured:
                two[way].append(on_two_cores(way, length))
                while way in ends and loops.turn(ends[way].pool, ends[way].rig):
                    pass
        sending = statistics.median(one["nobody"])
        whole = {way: statistics.median(one[way]) for way in measured}
        both = {way: statistics.median(two[way]) for way in measured}
        report[f"{length}B"] = {
            "one_core": _rounded(whole),
            "forwarding": _rounded({k: 1 / (1 / v - 1 / sending) for k, v in whole.items()}),
            "two_cores": _rounded(both),
            "sending_alone": round(sending),
            "of_bridge": {k: round(v / whole["bridge"], 2) for k, v in whole.items()},
            "of_bridge_two_cores": {k: round(v / both["bridge"], 2) for k, v in both.items()},
            "unsent": {way: ends[way].rig.outgoing.state.tolist() for way in ends},
        }
    return report


def _rounded(rates: dict[str, float]) -> dict[str, int]:
    return {way: round(rate) for way, rate in rates.items()}


def main() -> None:
    """Run it in a worker, with what AF_XDP takes where it can be had."""
    from orchestrator.targets.software.launch import Worker
    from orchestrator.targets.software.xdp import able, grant

    lack = able.lack()
    granted = [] if lack is not None else [grant.make(2), grant.make(2)]
    job = "tests.benchmarks.bench_datapath:measure"
    handed = [descriptor for one in granted for descriptor in one.descriptors]
    with Worker(job, granted, handed=handed, lends=True) as worker:
        for _ in worker.reports():
            pass
        report = worker.result
    for one in granted:
        one.close()
    print(json.dumps(report | {"xdp": str(lack) if lack else "measured"}, indent=1))


if __name__ == "__main__":
    main()
