"""A target for tailback: the engine, driven a grain of time after the other.

What it shows is all that a target has: a name, options of its own, what it is capable of, why it
may not be had here, and a run that ends in a Recording. One with hardware of its own would read it
where this one simulates; what it is asked for and cannot do is refused by the base class, by name.
"""

from __future__ import annotations

import time

from pydantic import Field

from tailback.plugin import (
    IN_ENGINE,
    Duration,
    Progress,
    Recording,
    Refused,
    Report,
    ResolvedPlan,
    Session,
    Target,
    TargetOptions,
    hookimpl,
)

EVENTS = 500_000


class HourglassOptions(TargetOptions):
    """Options of the hourglass."""

    target = "hourglass"

    grains: int = Field(100, ge=1, le=10_000, description="Parts that the run is cut into.")
    pause: Duration = Field(0, description="Pause of the wall clock after each part.")


class Hourglass(Target):
    """Virtual time in grains."""

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

        options, duration = resolved.options, resolved.plan.duration
        assert isinstance(options, HourglassOptions)
        assembly = assemble(resolved)
        cpu, wall = time.process_time(), time.perf_counter()
        for grain in range(1, options.grains + 1):
            until = duration * grain // options.grains + 1
            while simulate(assembly.world, until, EVENTS) == EVENTS:
                pass
            time.sleep(options.pause / 1e12)
            done = f"grain {grain} of {options.grains}"
            progress(Progress("running", grain / options.grains, done))
        return record_run(
            self.name,
            [(assembly, list(resolved.plan.nodes))],
            cpu_s=time.process_time() - cpu,
            wall_s=time.perf_counter() - wall,
        )


@hookimpl
def tailback_targets():
    """The target."""
    return [Hourglass()]


@hookimpl
def tailback_target_options():
    """Its options."""
    return [HourglassOptions]
