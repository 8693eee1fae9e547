"""tailback's own software switch as a device of others: in a namespace and a process of its own.

Whoever is at the other ends of its cables knows it by its frames alone. Its processor, so to say,
floods what its data path does not know: the probes that come before a run.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.engine.records import NEVER
from orchestrator.plan import Plan
from orchestrator.targets.software.dut.dut_probing import ETHER_TYPE
from orchestrator.targets.software.dut.rx_sockets import open_receiver
from orchestrator.targets.software.hosted_nodes_job import PACE_WORDS
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.worker_process import Worker
from orchestrator.targets.software.worker_stages import READY, RUNNING
from tests.orchestrator.targets.software.bought import Forwarder

JOB = "orchestrator.targets.software.hosted_nodes_job:host"
LEAD_NS = 100_000_000


@dataclass(frozen=True)
class Box:
    """The process that a device of ours is."""

    process: int
    began_ns: int

    def waited_share(self) -> float:
        """Share of its time for which a thread of it was ready to run and had no core."""
        waited = [0]
        for path in Path(f"/proc/{self.process}/task").glob("*/schedstat"):
            waited.append(int(path.read_text(encoding="ascii").split()[1]))
        return max(waited) / max(time.monotonic_ns() - self.began_ns, 1)


def nothing(number: int, octets: bytes) -> list[tuple[float, bytes]]:
    """Of data frames: those are for the data path."""
    return []


@contextmanager
def standing(
    machines: Machines, device: str, node: str, plan: Plan, ports: dict[str, str]
) -> Iterator[Box]:
    """A node of a plan, which drives `ports` (of the plan -> interface of its namespace) until the
    block is left. The plan has to be long enough, and to have the addresses of those around it."""
    with machines.inside(device):
        ear = open_receiver(list(ports.values()), None)
        indices = {port: socket.if_nametoindex(name) for port, name in ports.items()}
    pace, live = (os.memfd_create(name, os.MFD_CLOEXEC) for name in ("pace", "live"))
    os.ftruncate(pace, 8 * PACE_WORDS)
    with mmap.mmap(pace, 0) as memory:
        memory[8:16] = struct.pack("q", -NEVER)
    punt = Forwarder(machines, device, list(ports.values()), nothing, ETHER_TYPE)
    with tempfile.TemporaryDirectory(prefix="tailback-") as spool:
        spec: dict[str, Any] = {
            "plan": plan.to_toml(),
            "nodes": [node],
            "ports": {node: {"socket": ear.fileno(), "ports": indices}},
            "threads": 1,
            "first": 0,
            "of": 1,
            "pace": pace,
            "live": live,
            "holds": False,
            "crowded": False,
            "core": len(os.sched_getaffinity(0)) - 1,  # others that drive one take the first
            "speed": 10**6,
            "spool": spool,
        }
        worker = Worker(JOB, spec, handed=[ear.fileno(), pace, live])
        try:
            with worker:
                reports = worker.reports()
                assert any(stage == READY for stage, _ in reports)
                punt.start()
                worker.order((time.monotonic_ns() + LEAD_NS, 0))
                assert any(stage == RUNNING for stage, _ in reports)
                yield Box(worker.process.pid, time.monotonic_ns())
                worker.process.kill()
        finally:
            punt.stop.set()
            if punt.ident is not None:
                punt.join()
            ear.close()
            os.close(pace)
            os.close(live)
