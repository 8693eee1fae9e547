"""A target for tailback: the engine, driven a grain of time after the other.

What it shows is all that a target has: a name, what it is capable of, why it may not be had here,
and a run that ends in a Recording. One with hardware of its own would read it where this one
simulates; what it is asked for and cannot do is refused by the base class, by name.
"""

from __future__ import annotations

import time

from tailback.plugin import (
    IN_ENGINE,
    Progress,
    Recording,
    Refused,
    Report,
    ResolvedPlan,
    Session,
    Target,
    hookimpl,
)

GRAINS = 100
EVENTS = 500_000


class Hourglass(Target):
    """Virtual time in a hundred grains."""

    name = "hourglass"
    summary = "the engine, a grain of time after the other"
    capabilities = IN_ENGINE

    def probe(self) -> Refused | None:
        """It is to be had everywhere."""
        return None

    def run(
        self, resolved: ResolvedPlan, progress: Report, session: Session | None = None
    ) -> Recording:
        """Every grain of the plan."""
        from tailback.plugin import assemble, record_run, simulate

        duration = resolved.plan.duration
        assembly = assemble(resolved)
        cpu, wall = time.process_time(), time.perf_counter()
        for grain in range(1, GRAINS + 1):
            until = duration * grain // GRAINS + 1
            while simulate(assembly.world, until, EVENTS) == EVENTS:
                pass
            progress(Progress("running", grain / GRAINS, f"grain {grain} of {GRAINS}"))
        return record_run(
            self.name,
            [(assembly, list(resolved.plan.nodes))],
            cpu_s=time.process_time() - cpu,
            wall_s=time.perf_counter() - wall,
        )


@hookimpl
def tailback_targets():  # type: ignore[no-untyped-def]
    """The target."""
    return [Hourglass()]
