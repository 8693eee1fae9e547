"""Ports that one core holds without a lapse, and what others do.

    python tests/benchmarks/bench_storm.py [SECONDS] [RATE] [MOST]

veth pairs, 65 535 quanta at RATE (100Gb/s). First one port, two turns: `tailback storm`'s loop,
loops of Python sockets and one of scapy's `sendp`, as `pfc_gen` of sonic-mgmt has them (one
frame after the other, in a process of its own); the kernel stamps what comes to the far end. Then
more and more ports. Prints JSON; `stalls` is a thread that sleeps and wakes as the loop does and
sends nothing: what it is late by is the machine's. As root it has the scheduler's real-time class,
as `tailback storm` has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

MAC = "02:54:42:00:00:09"
PORTS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256)
PEERS = {
    "python sockets": """
import socket, sys, time
frame = bytes.fromhex(sys.argv[1])
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
raw.bind(("p0", 0))
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    raw.send(frame)
""",
    "python sockets, a frame each quarter": """
import socket, sys, time
frame = bytes.fromhex(sys.argv[1])
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
raw.bind(("p0", 0))
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    raw.send(frame)
    time.sleep(float(sys.argv[3]) / 4)
""",
    "scapy sendp": """
import sys, time
from scapy.all import Ether, conf, sendp
conf.verb = 0
frame = Ether(bytes.fromhex(sys.argv[1]))
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    sendp(frame, iface="p0", verbose=False)
""",
}


def measure(control: Any, seconds: float, rate: int, most: int) -> dict[str, Any]:
    """Job of the worker."""
    from orchestrator.pause_storm import pause_quanta
    from orchestrator.targets.software.network_namespaces import Machines

    machines = Machines()
    hold = pause_quanta.hold_ns(65_535, rate)
    report: dict[str, Any] = {"rate_bps": rate, "hold_s": hold / 1e9, "one port": {}, "ports": []}
    pairs = 0

    def more(count: int) -> None:
        nonlocal pairs
        for number in range(pairs, count):
            machines.add(f"near{number}")
            machines.add(f"far{number}")
            machines.join(f"near{number}", f"far{number}")
        pairs = max(pairs, count)

    more(1)
    of_ours(machines, 1, 0.05, rate)  # compiles
    for turn in range(2):
        report["one port"].setdefault("tailback storm", []).append(
            of_ours(machines, 1, seconds, rate)["far_end"]
        )
        for name, code in PEERS.items():
            found = of_peer(machines, code, seconds, rate)
            report["one port"].setdefault(name, []).append(found)
        control.report(f"turn {turn + 1} of 2")
    for ports in [number for number in PORTS if number <= most]:
        more(ports)
        report["ports"].append(of_ours(machines, ports, seconds, rate) | {"ports": ports})
        control.report(f"{ports} ports")
    report["stalls"] = idle(seconds, hold)
    return report


def of_ours(machines: Any, ports: int, seconds: float, rate: int) -> dict[str, Any]:
    """A storm of so many ports: the sums of what each witness saw of them."""
    import socket

    from orchestrator.engine.histogram import percentile_ps
    from orchestrator.pause_storm import send_loop
    from orchestrator.pause_storm.storm_interfaces import Port, prepare
    from orchestrator.pause_storm.storm_request import StormRequest
    from orchestrator.pause_storm.storm_runner import StormThread, planned_of, state_of
    from orchestrator.pause_storm.storm_state import start

    opened = []
    for number in range(ports):
        with machines.inside(f"near{number}"):
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            raw.bind(("p0", 0))
        prepare(raw)
        opened.append(Port("p0", MAC, "veth", rate, raw))
    asked = StormRequest(("p0",) * ports, seconds, (3, 4), rate_bps=rate)
    desk = state_of(planned_of(asked, opened, 0))
    ends = ears(machines, ports, int(desk.holds[0]["hold_ns"]))
    thread = StormThread(desk)
    begun = time.monotonic_ns()
    start(desk, begun, begun + int(seconds * 1e9))
    thread.start()
    while thread.is_alive():
        thread.join(0.05)
        for end in ends:
            end.take()
    send_loop.drain_stamps(desk)
    for end in ends:
        end.end()
    for port in opened:
        port.raw.close()
    return {
        "own": summed(list(desk.own)),
        "kernel": summed(list(desk.kernel)),
        "far_end": summed([end.ledger[row] for row, end in enumerate(ends)]),
        "scheduled": thread.scheduled,
        "sleeps": bool(desk.control[send_loop.NAP_NS]),
        "lateness_p99_us": percentile_ps(desk.lateness, 0.99) / 1e6,
        "lateness_max_us": percentile_ps(desk.lateness, 1.0) / 1e6,
        "cpu_share": thread.cpu_s / seconds,
        "us_of_core_per_frame": thread.cpu_s * 1e6 / max(int(desk.own["frames"].sum()), 1),
        "taken_s": thread.taken,
    }


def of_peer(machines: Any, code: str, seconds: float, rate: int) -> dict[str, Any]:
    """A process that sends through the first port, with the same far end."""
    from orchestrator.pause_storm import pause_quanta
    from orchestrator.pause_storm.pause_frames import HOLDS, frames_of

    hold = pause_quanta.hold_ns(65_535, rate)
    frame = frames_of(MAC, (3, 4), 65_535)[HOLDS].tobytes().hex()
    ends = ears(machines, 1, hold)
    words = [sys.executable, "-c", code, frame, str(seconds), str(hold / 1e9)]
    with machines.inside("near0"):
        process = subprocess.Popen(words)
    while process.poll() is None:
        time.sleep(0.01)
        ends[0].take()
    ends[0].end()
    if process.returncode != 0:
        return {"failed": process.returncode}
    return summed([ends[0].ledger[0]])


def ears(machines: Any, ports: int, hold: int) -> list[Any]:
    """A far end for each port."""
    from orchestrator.pause_storm.far_end import FarEnd
    from orchestrator.pause_storm.hold_accounting import new_notes
    from orchestrator.targets.software.network_namespaces import FIRST_INTERFACE

    found = []
    for number in range(ports):
        with machines.inside(f"far{number}"):
            found.append(FarEnd(FIRST_INTERFACE, MAC, number, hold, new_notes()))
    return found


def summed(ledgers: list[Any]) -> dict[str, Any]:
    """The books of several ports in one."""
    span = sum(int(one["span_ns"]) for one in ledgers)
    lapsed = sum(int(one["lapsed_ns"]) for one in ledgers)
    return {
        "frames": sum(int(one["frames"]) for one in ledgers),
        "lapses": sum(int(one["lapses"]) for one in ledgers),
        "ports_with_lapses": sum(int(one["lapses"]) > 0 for one in ledgers),
        "lapsed_share": lapsed / span if span else None,
        "longest_us": max(int(one["longest_ns"]) for one in ledgers) / 1e3,
        "worst_margin_us": min(int(one["worst_ns"]) for one in ledgers) / 1e3,
    }


def idle(seconds: float, hold: int) -> dict[str, Any]:
    """How often a thread that sleeps and wakes as the storm's does is late by more than quanta."""
    from orchestrator.engine.histogram import percentile_ps, share_above
    from orchestrator.pause_storm import send_loop
    from orchestrator.pause_storm.pause_frames import frames_of
    from orchestrator.pause_storm.storm_runner import StormThread, state_of
    from orchestrator.pause_storm.storm_state import Planned, start

    desk = state_of([Planned(-1, frames_of(MAC, (3,), 1), hold, hold * 3 // 4)], stamps=False)
    begun = time.monotonic_ns()
    start(desk, begun, begun + int(seconds * 1e9))
    thread = StormThread(desk)
    thread.start()
    thread.join()
    late = desk.lateness
    wakes = int(late[:-1].sum())
    return {
        "wakes": wakes,
        "later_than_the_margin": round(share_above(late, hold * 3 // 4 * 1000) * wakes),
        "max_us": percentile_ps(late, 1.0) / 1e6,
        "sent": int(desk.control[send_loop.SENT]),
    }


class ToStderr:
    """What a worker tells, where there is none."""

    def report(self, news: Any) -> None:
        print(news, file=sys.stderr)


if __name__ == "__main__":
    from orchestrator.plan.units import parse_rate
    from orchestrator.targets.software.worker_process import Worker

    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    bits = parse_rate(sys.argv[2] if len(sys.argv) > 2 else "100Gb/s")
    largest = int(sys.argv[3]) if len(sys.argv) > 3 else PORTS[-1]
    if os.geteuid() == 0:  # in a user namespace root has no real-time class
        print(json.dumps(measure(ToStderr(), wanted, bits, largest), indent=1))
        os._exit(0)
    with Worker("tests.benchmarks.bench_storm:measure", wanted, bits, largest) as worker:
        for news in worker.reports():
            print(news, file=sys.stderr)
        print(json.dumps(worker.result, indent=1))
