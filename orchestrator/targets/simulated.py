"""Target `simulated`: discrete events over the node core, no privileges, the same for a seed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from orchestrator.errors import Refused
from orchestrator.hookspecs import hookimpl
from orchestrator.progress import Progress

if TYPE_CHECKING:
    from orchestrator.plan import ResolvedPlan
    from orchestrator.progress import Report
    from orchestrator.recording import Recording
    from orchestrator.targets.target import Target

EVENTS_PER_REPORT = 500_000
"""How many events are simulated between two looks at progress and Ctrl-C; some 50 ms."""


class Simulated:
    """Discrete events; time jumps from one to the next."""

    name = "simulated"
    summary = "discrete events, no privileges, deterministic"

    def probe(self) -> Refused | None:
        """It runs everywhere."""
        return None

    def run(self, resolved: ResolvedPlan, progress: Report) -> Recording:
        """Simulate the whole plan."""
        from orchestrator.assembly import assemble, record
        from orchestrator.compiling import announced
        from orchestrator.node.engine import simulate

        duration = resolved.plan.duration
        with announced(progress):
            assembly = assemble(resolved)
            simulate(assembly.world, 0, 0)
        world = assembly.world
        wall, cpu = time.perf_counter(), time.process_time()
        # The last instant belongs to the run: its row of samples closes the last phase.
        while simulate(world, duration + 1, EVENTS_PER_REPORT) == EVENTS_PER_REPORT:
            now = int(world.clock[0].now)
            progress(
                Progress(
                    "simulating",
                    now / duration,
                    f"t = {now / 1e12:.1f} s of {duration / 1e12:g} s",
                )
            )
        nodes = list(resolved.plan.nodes)
        return record(
            self.name,
            [(assembly, nodes)],
            cpu_s=time.process_time() - cpu,
            wall_s=time.perf_counter() - wall,
        )


@hookimpl
def tailback_targets() -> Iterable[Target]:
    """The simulator."""
    return [Simulated()]
