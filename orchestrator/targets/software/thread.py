"""Data path thread: its nodes, their world, its sockets."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence

from orchestrator.assembly import Assembly, assemble
from orchestrator.engine.datapath import stalls
from orchestrator.engine.datapath.loop import drive
from orchestrator.plan import ResolvedPlan
from orchestrator.targets.software import realtime
from orchestrator.targets.software.backends import PACKETS, Backend
from orchestrator.targets.software.namespaces import Machines
from orchestrator.targets.software.rig import Rig, Shared, build, wires_of


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
        realtime.prefault(*(getattr(world, field.name) for field in dataclasses.fields(world)))
        realtime.prefault(self.rig.stalls)

    def run(self) -> None:
        """Drive the nodes to the end of the plan."""
        try:
            realtime.pin(self.number if self.core is None else self.core)
            before = realtime.taken()
            with realtime.schedstat() as self.rig.stalled[stalls.FILE]:
                self.outcome = drive(self.assembly.world, self.rig, self.duration)
            after = realtime.taken()
            self.taken = {key: after[key] - before[key] for key in before if key in after}
        finally:
            self.ended()
