"""Data path thread: its nodes, their world, its sockets."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence

from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.datapath import stall_detection
from orchestrator.engine.datapath.realtime_loop import drive
from orchestrator.engine.datapath.rig import Rig
from orchestrator.engine.records import NEVER
from orchestrator.errors import RunFailed
from orchestrator.plan import ResolvedPlan
from orchestrator.targets.software import realtime_scheduling
from orchestrator.targets.software.network_namespaces import Machines
from orchestrator.targets.software.packet_backends import PACKETS, Backend
from orchestrator.targets.software.thread_io import Shared, build, wires_of

UNSCHEDULED_NS = 10**12
"""How far ahead time 0 of a run is kept until every thread has entered its loop."""
READY_S, READY_POLL_S = 600.0, 0.001
"""How long threads may take to enter their loops, which includes compiling them, and how often
that is checked."""


class Thread(threading.Thread):
    """Data path thread: its nodes, its world, its rig."""

    def __init__(
        self,
        resolved: ResolvedPlan,
        machines: Machines,
        local: dict[str, tuple[str, int]],
        nodes: Sequence[str],
        number: int,
        shared: Shared,
        hosts: Sequence[str] = (),
        slots: Sequence[int] = (),
        outside: Sequence[str] = (),
        backend: Backend = PACKETS,
    ) -> None:
        super().__init__(name=f"datapath-{number}", daemon=True)
        self.nodes = list(nodes)
        self.number = number
        self.core: int | None = None
        """Where it is to run; None: on the core of its number."""
        self.outcome = 0
        self.ended: Callable[[], None] = lambda: None
        """Called at the end of the thread, in it."""
        self.taken: dict[str, float] = {}
        self.duration = resolved.plan.duration
        self.hosts = [name for name in hosts if name in self.nodes]
        joined = [*self.nodes, *outside]
        self.wires = wires = wires_of(local, joined)
        armed = backend.armed(len(wires))
        self.assembly: Assembly = assemble(
            resolved, self.nodes, wires, self.hosts, slots=slots, armed=armed
        )
        world = self.assembly.world
        world = self.assembly.world = dataclasses.replace(
            world, octets=backend.octets(world.octets)
        )
        self.rig: Rig = build(
            *(self.assembly, machines, local, joined, number, shared, self.hosts), backend=backend
        )
        realtime_scheduling.prefault(
            *(getattr(world, field.name) for field in dataclasses.fields(world))
        )
        realtime_scheduling.prefault(self.rig.stalls)

    def run(self) -> None:
        """Drive the nodes to the end of the plan."""
        try:
            realtime_scheduling.pin(self.number if self.core is None else self.core)
            before = realtime_scheduling.taken()
            with realtime_scheduling.schedstat() as self.rig.stalled[stall_detection.FILE]:
                self.outcome = drive(self.assembly.world, self.rig, self.duration)
            after = realtime_scheduling.taken()
            self.taken = {key: after[key] - before[key] for key in before if key in after}
        finally:
            self.ended()

    @property
    def ready(self) -> bool:
        """True if the thread has entered its loop (or has left it again)."""
        return int(self.rig.progress[self.number]) != -NEVER


def start(threads: Sequence[Thread], lead_ns: int) -> int:
    """Start threads that share a clock; returns time 0 of the run (ns of CLOCK_MONOTONIC).

    Time 0 is scheduled `lead_ns` ahead once each thread has completed a turn of its loop, so it
    does not depend on how long the machine takes to start, load or compile a thread. Raises
    RunFailed when a thread ends before its loop, or does not enter it within READY_S.
    """
    waiting_ns = time.monotonic_ns() + UNSCHEDULED_NS
    for thread in threads:
        thread.rig.start_ns[0] = waiting_ns
        thread.start()
    deadline = time.monotonic() + READY_S
    while not all(thread.ready for thread in threads):
        if ended := [one for one in threads if not one.is_alive() and not one.ready]:
            raise RunFailed(f"target software: {ended[0].name} ended before it entered its loop")
        if time.monotonic() > deadline:
            raise RunFailed(
                f"target software: a thread has not entered its loop within {READY_S:g} s"
            )
        time.sleep(READY_POLL_S)
    start_ns = time.monotonic_ns() + lead_ns
    for thread in threads:
        thread.rig.start_ns[0] = start_ns
    return start_ns
