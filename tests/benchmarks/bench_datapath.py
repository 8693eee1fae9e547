"""What a switch hop costs: `python tests/benchmarks/bench_datapath.py`, as root for AF_XDP.

veth -> switch -> veth, data frames of 70 octets (the shortest that there are) and of 1500, in turn
in the same run:

- `switch ...`: the switch of a plan with a QCN congestion point, the loop that drives it in a run;
- `packet`, `xdp ...`: the ports of that loop alone, without a node;
- `bridge`: the Linux bridge, which forwards within the sender's system calls, and so has one core
  whatever there is;
- `ovs ...`: Open vSwitch in user space, where it is installed: its data path spins, as ours does.

By AF_PACKET and by AF_XDP, the program behind the driver (generic) and in it (native). Prints JSON,
frames per second:

- `one_core`: one core sends bursts and forwards them, by its CPU time. `forwarding` is what is left
  when the time that sending alone takes (to an interface behind which nobody listens) is taken off.
- `two_cores`: another core sends as fast as it can; what leaves the switch.
  `two_cores_per_cpu_s`: by the second for which the forwarding process had its core, which is less
  than all of them where others want the core, too.
- `latency_us`: from before the sender's system call until the kernel has the frame behind the
  switch, with frames at half of that rate, and at RATE for all.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

BURST = 32
TRIALS = 7
FRAMES = 40_000
FLOOD_S = 0.3
LATENCY_S = 0.25
SETTLE_S = 0.02
RATE = 100_000
PORTS_ALONE = ("packet", "xdp generic", "xdp native")
NODES = tuple(f"switch {way}" for way in PORTS_ALONE)
LENGTHS = (70, 1500)
MTU = 3000
"""A program in the driver takes no interface whose frames are longer than a page."""
FAST = 10**12
"""bit/s of the links: the switch is what holds frames back."""


def plan() -> Any:
    """A NIC, a switch with a congestion point and room, a sink."""
    from orchestrator.plan import Plan

    room = 4_000_000
    link = {"rate": FAST, "buffer": room}
    return Plan(
        name="hop",
        seed=1,
        duration=60 * 10**12,
        sample_interval=60 * 10**12,
        nodes={
            "nic": {"kind": "nic"},
            "switch": {
                "kind": "switch",
                "buffer": room,
                "congestion_point": {"plugin": "qcn-cp", "preset": "netfpga"},
            },
            "sink": {"kind": "sink"},
        },
        links={
            "up": {"ends": ["nic", "switch"], **link},
            "down": {"ends": ["switch", "sink"], **link},
        },
        traffic={"gen": {"plugin": "cbr", "from": "nic", "to": "sink", "frame": 1500, "rate": 1}},
    )


class Node:
    """The switch of the plan in one of the machines, behind a backend."""

    def __init__(self, resolved: Any, machines: Any, host: str, backend: Any) -> None:
        from orchestrator.engine.datapath import port_backend
        from orchestrator.targets.software.datapath_thread import Thread
        from orchestrator.targets.software.thread_io import Shared

        places = {"switch.nic": ("switch", 0), "switch.sink": ("switch", 1)}
        machines.machines["switch"] = machines.machines[host]  # a node's machine has its name
        shared = Shared.of(1, 10**18)
        self.thread = Thread(resolved, machines, places, ["switch"], 0, shared, backend=backend)
        del machines.machines["switch"]
        self.pool, self.rig = self.thread.assembly.world, self.thread.rig
        self.rig.start_ns[0] = time.monotonic_ns()
        port_backend.begin(self.pool, self.rig)


def frame_of(world: Any, length: int) -> Any:
    """The octets of a data frame of the plan, uint8[length]."""
    import numpy as np

    from orchestrator.engine.frames.descriptor_reset import empty_descriptors, reset_descriptor
    from orchestrator.engine.frames.frame_codec import encode
    from orchestrator.engine.records import DATA

    frame, flow = empty_descriptors(1)[0], world.flows[0]
    reset_descriptor(frame, DATA, length, flow.priority, 0, flow.source, flow.destination)
    octets = np.zeros(max(length, 128), np.uint8)
    encode(world.types, frame, octets)
    return octets[:length]


@dataclass
class Rate:
    """Frames that left in so many seconds, `had_s` of which the forwarding thread had its core."""

    frames: int
    took_s: float
    had_s: float
    sent: int


class Hops:
    """A source, a switch and a sink for every way, and how each is measured."""

    def __init__(
        self, granted: Sequence[Any], peers: Sequence[str], asked: Sequence[str] = ()
    ) -> None:
        import numpy as np
        from pyroute2 import IPRoute

        from orchestrator import python_command
        from orchestrator.engine.datapath.mmsg_batch import sender
        from orchestrator.registry import Registry
        from orchestrator.targets.software.linux_syscalls import die_with_parent
        from orchestrator.targets.software.network_namespaces import Machines
        from orchestrator.targets.software.packet_backends import PACKETS, Backend
        from orchestrator.targets.software.xdp import bpf_program
        from orchestrator.targets.software.xdp.xdp_backend import Xdp
        from tests.orchestrator.targets.software.rigged import End

        resolved = plan().check(Registry.load())
        self.machines = machines = Machines()
        backends: dict[str, Backend] = {"packet": PACKETS, "switch packet": PACKETS}
        modes = (bpf_program.GENERIC, bpf_program.NATIVE) * 2
        ways = [*PORTS_ALONE[1:], *NODES[1:]]
        for name, mode, grant in zip(ways, modes, granted, strict=False):
            backends[name] = Xdp(grant, 2048, mode)
        order = [*NODES, *PORTS_ALONE, "bridge", *peers, "nobody"]
        had = [way for way in order if way in backends or way not in (*NODES, *PORTS_ALONE)]
        kept = ("switch packet", "bridge", "nobody")  # what others are told beside
        self.ways = [way for way in had if not asked or way in asked or way in kept]
        self.near: dict[str, list[str]] = {}
        self.ends: dict[str, Any] = {}
        self.outs: dict[str, Any] = {}
        self.peers = list(peers)
        self.stamp = np.zeros(2, np.int64)
        self.cores = sorted(os.sched_getaffinity(0))
        for number, way in enumerate(self.ways):
            names = self.near[way] = [f"{role}{number}" for role in ("source", "hop", "end")]
            for name in names:
                machines.add(name)
            machines.join(names[0], names[1], MTU)
            machines.join(names[1], names[2], MTU)
            machines.open(names[0])
            self.outs[way] = sender(np.zeros((1, 2048), np.uint8), BURST, [2])
            if way in NODES:
                self.ends[way] = Node(resolved, machines, names[1], backends[way])
            elif way in backends:
                self.ends[way] = End(machines, names[1], backends[way])
            elif way == "bridge":
                with machines.inside(names[1]), IPRoute() as netlink:
                    netlink.link("add", ifname="br0", kind="bridge")
                    bridge = netlink.link_lookup(ifname="br0")[0]
                    netlink.link("set", index=bridge, state="up")
                    for index in (2, 3):
                        netlink.link("set", index=index, master=bridge)
        self.world = self.ends["switch packet"].pool
        self.octets = np.zeros(0, np.uint8)
        self.source = subprocess.Popen(
            python_command.module("tests.benchmarks.datapath_sender", str(self.cores[-1])),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=python_command.environment(OPENBLAS_NUM_THREADS="1"),
            pass_fds=[machines.open(names[0]).fileno() for names in self.near.values()],
            start_new_session=True,
            preexec_fn=lambda: die_with_parent(signal.SIGKILL),
        )

    def network(self, way: str) -> str:
        """The path of the namespace in which a way forwards."""
        return f"/proc/{os.getpid()}/fd/{self.machines.machines[self.near[way][1]].descriptor}"

    def load(self, length: int) -> None:
        """Send frames of a length from now on."""
        octets = self.octets = frame_of(self.world, length)
        for out in self.outs.values():
            out.octets[0, :length] = octets

    def came(self, way: str) -> int:
        """Frames that left the switch so far."""
        return int(self.machines.interface_counters(self.near[way][2])[0]["rx_packets"])

    def settle(self, way: str) -> None:
        """Forward what still waits, until nothing comes any more."""
        from tests.benchmarks import datapath_loops as loops

        before = -1
        while before != (before := self.came(way)):
            if way not in self.ends:
                time.sleep(SETTLE_S)
                continue
            end = self.ends[way]
            forward = loops.forward_node if way in NODES else loops.forward
            until = time.monotonic_ns() + int(SETTLE_S * 1e9)
            if forward(end.pool, end.rig, until, self.stamp) < 0:
                raise RuntimeError(f"{way}: a socket failed")

    def on_one_core(self, way: str, length: int, frames: int) -> float:
        """Frames per second."""
        from tests.benchmarks import datapath_loops as loops

        socket = self.machines.open(self.near[way][0]).fileno()
        before, begun = self.came(way), time.thread_time()
        if way in self.ends:
            end = self.ends[way]
            through = loops.through_node if way in NODES else loops.through
            through(end.pool, end.rig, self.outs[way], socket, frames, length, BURST)
        else:
            loops.alone(self.outs[way], socket, frames, length, BURST)
        took = time.thread_time() - begun
        arrived = self.came(way) - before
        if way != "nobody" and arrived != frames:
            raise RuntimeError(f"{way}: {arrived} of {frames} frames of {length} octets arrived")
        return frames / took

    def beside(self, way: str, seconds: float, interval_ns: int = 0) -> Rate:
        """Forward for so long what another process sends on the other core: a frame every so many
        ns, or (0) all that it can."""
        from tests.benchmarks import datapath_loops as loops

        until = time.monotonic_ns() + int(seconds * 1e9)
        order = {"socket": self.machines.open(self.near[way][0]).fileno(), "until_ns": until}
        order |= {"octets": self.octets.tobytes().hex(), "interval_ns": interval_ns}
        assert self.source.stdin is not None
        assert self.source.stdout is not None
        before, begun, had = self.came(way), time.perf_counter(), time.thread_time()
        self.source.stdin.write(json.dumps(order) + "\n")
        self.source.stdin.flush()
        if way in self.ends:
            end = self.ends[way]
            forward = loops.forward_node if way in NODES else loops.forward
            forward(end.pool, end.rig, until, self.stamp)
        had = time.thread_time() - had
        sent = int(self.source.stdout.readline())
        return Rate(self.came(way) - before, time.perf_counter() - begun, had, sent)

    def on_two_cores(self, way: str) -> Rate:
        """What leaves while another core sends all that it can."""
        rate = self.beside(way, FLOOD_S)
        self.settle(way)
        return rate

    def latency(self, way: str, rate: float) -> Any:
        """Of each frame at a rate, ns."""
        from orchestrator.calibration.packet_observer import Observer, Offset
        from orchestrator.calibration.trial_links import VETH, ObserverPlacement

        room = int(rate * LATENCY_S * 1.2) + 1000
        observer = Observer(
            VETH.ring(self.machines, ObserverPlacement(self.near[way][2], room)), room
        )
        offset = Offset.now().ns
        self.beside(way, LATENCY_S, max(int(1e9 / rate), 1))
        self.settle(way)
        seen = observer.take(offset).data
        return seen.times_ns - seen.created_ps // 1000

    def close(self) -> None:
        """End the process that sends."""
        self.source.communicate()


def measure(
    control: Any, granted: list[Any], peers: list[str], asked: list[str], trials: int
) -> dict[str, Any]:
    """Job of the worker. `peers` are started by its parent, and woken for their turns."""
    import numpy as np

    from orchestrator.targets.software.realtime_scheduling import prepare

    hops = Hops(granted, peers, asked)

    def told(*words: str) -> Any:
        control.report(words)
        return control.orders.get()

    for way in peers:
        told("begin", way, hops.network(way))
    report: dict[str, Any] = {"preparation": prepare()}
    os.sched_setaffinity(0, {hops.cores[0]})
    time.sleep(0.5)
    alone = [way for way in hops.ways if way not in peers]
    measured = [way for way in hops.ways if way != "nobody"]

    def in_turn(ways: Sequence[str], measured: Any, trials: int) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {way: [] for way in ways}
        for _ in range(trials):
            for way in ways:
                if way in peers:
                    told("wake", way)
                found[way].append(measured(way))
                if way in peers:
                    had = told("sleep", way)
                    if isinstance(found[way][-1], Rate):
                        found[way][-1].had_s = had
        return found

    hops.load(LENGTHS[0])
    for way in alone:
        hops.on_one_core(way, LENGTHS[0], 10 * BURST)
    in_turn(measured, hops.on_two_cores, 1)
    for length in LENGTHS:
        hops.load(length)
        frames = FRAMES // BURST * BURST
        one = in_turn(alone, lambda way: hops.on_one_core(way, length, frames), trials)  # noqa: B023
        two = in_turn(measured, hops.on_two_cores, trials)
        sending = statistics.median(one.pop("nobody"))
        whole = {way: statistics.median(rates) for way, rates in one.items()}
        both = {k: statistics.median(r.frames / r.took_s for r in v) for k, v in two.items()}
        per_cpu = {
            k: statistics.median(r.frames / r.had_s for r in v)
            for k, v in two.items()
            if k != "bridge"
        }
        latency: dict[str, Any] = {}
        for what, rate in (("half", lambda way: both[way] / 2), ("same", lambda way: RATE)):  # noqa: B023
            waits = in_turn(measured, lambda way: hops.latency(way, rate(way)), 2)  # noqa: B023
            latency[what] = {
                way: _percentiles(np.concatenate(found)) | {"rate": round(rate(way))}
                for way, found in waits.items()
            }
        report[f"{length}B"] = {
            "one_core": _rounded(whole),
            "forwarding": _rounded({k: 1 / (1 / v - 1 / sending) for k, v in whole.items()}),
            "two_cores": _rounded(both),
            "two_cores_per_cpu_s": _rounded(per_cpu),
            "sending_alone": round(sending),
            "offered_two_cores": {
                k: round(statistics.median(r.sent / r.took_s for r in v)) for k, v in two.items()
            },
            "of_bridge": {k: round(v / whole["bridge"], 2) for k, v in whole.items()},
            "of_bridge_two_cores": {k: round(v / both["bridge"], 2) for k, v in both.items()},
            "latency_us": latency,
        }
    hops.close()
    report["unsent"] = {way: hops.ends[way].rig.outgoing.state.tolist() for way in hops.ends}
    return report


def _percentiles(times: Any) -> dict[str, float]:
    import numpy as np

    found = {f"p{share:g}": np.percentile(times, share) for share in (50, 99, 99.9)}
    return {name: round(float(ns) / 1e3, 1) for name, ns in found.items()}


def _rounded(rates: dict[str, float]) -> dict[str, int]:
    return {way: round(rate) for way, rate in rates.items()}


def main() -> None:
    """Run it in a worker, with what AF_XDP takes and with the peer where they can be had."""
    from orchestrator.targets.software.worker_process import Worker
    from orchestrator.targets.software.xdp import privileged_setup, xdp_probe
    from tests.benchmarks import peer_ovs

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ways", default="", metavar="WAY,WAY", help="these alone")
    parser.add_argument("--trials", type=int, default=TRIALS, help=f"of each, default {TRIALS}")
    told = parser.parse_args()
    asked = [way.strip() for way in told.ways.split(",") if way.strip()]
    known = (*NODES, *PORTS_ALONE, "bridge", *peer_ovs.WAYS)
    if strange := [way for way in asked if way not in known]:
        parser.error(f"{', '.join(strange)}: no such way; {', '.join(known)} are expected")
    lack, no_peer = xdp_probe.xdp_refusal(), peer_ovs.lack()
    granted = [] if lack is not None else [privileged_setup.make(2) for _ in range(4)]
    ways = [way for way in peer_ovs.WAYS if no_peer is None and ("xdp" not in way or granted)]
    ways = [way for way in ways if not asked or way in asked]
    job = "tests.benchmarks.bench_datapath:measure"
    handed = [descriptor for one in granted for descriptor in one.descriptors]
    with suppress(ValueError, OSError):  # the process that sends has a session to raise, too
        resource.setrlimit(resource.RLIMIT_NICE, (40, 40))
    peers: dict[str, peer_ovs.OpenVSwitch] = {}
    try:
        with Worker(job, granted, ways, asked, told.trials, handed=handed, lends=True) as worker:
            for what, way, *more in worker.reports():
                if what == "begin":
                    core = min(os.sched_getaffinity(0))
                    peers[way] = peer_ovs.OpenVSwitch(way, *more, core)
                    peers[way].sleep()
                elif what == "wake":
                    peers[way].wake()
                else:
                    peers[way].sleep()
                worker.order(peers[way].had_s())
            report = worker.result
    finally:
        for peer in peers.values():
            peer.close()
    for one in granted:
        one.close()
    report["xdp"] = str(lack) if lack else "measured"
    report["open_vswitch"] = f"skipped: {no_peer}" if no_peer else peer_ovs.version()
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    main()
