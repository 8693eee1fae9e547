"""Target `simulated`: discrete events over the node core, no privileges, deterministic per seed.

On one core a run can be watched and changed; on several (`orchestrator.targets.parallel`) it gives
the same samples and captures, and shows its progress alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.capability import IN_ENGINE, Capability
from orchestrator.errors import BadInput, Refused
from orchestrator.hookspecs import hookimpl
from orchestrator.progress import Progress, moment
from orchestrator.target import Target

if TYPE_CHECKING:
    from orchestrator.assembly import Assembly, ReusableWorld
    from orchestrator.live.live_session import Session
    from orchestrator.plan import Plan, ResolvedPlan
    from orchestrator.plan.target_options import TargetOptions
    from orchestrator.progress import Report
    from orchestrator.recording import Recording

SPARE_COMMANDS = 4096
"""Writes of live changes that can wait at once."""
EVENTS_PER_REPORT = 500_000
"""How many events are simulated between two reports of progress and Ctrl-C; some 50 ms."""


class Simulated(Target):
    """Discrete events; time jumps from one to the next."""

    name = "simulated"
    summary = "discrete events, no privileges, deterministic"
    capabilities = IN_ENGINE | {
        Capability.LIVE,
        Capability.PACE,
        Capability.CORES,
        Capability.STAND_INS,
    }

    def probe(self) -> Refused | None:
        """Return None: the simulator runs everywhere."""
        return None

    def prepare(
        self, plan: Plan, options: TargetOptions, advise: bool = False
    ) -> tuple[Plan, dict[str, Any]]:
        """The plan with the delays of a machine on every link, where the option `as` names one."""
        from orchestrator.targets.simulated_options import CARRIED_OUT, SimulatedOptions

        if not isinstance(options, SimulatedOptions) or options.as_ is None:
            return plan, {}
        from orchestrator.targets.software.profile_advice import emulated_plan

        rest = plan.without_options(CARRIED_OUT)
        made, profile = emulated_plan(rest, Path(options.as_), options.as_pace)
        return made, {"as": profile}

    def run(
        self, resolved: ResolvedPlan, progress: Report, session: Session | None = None
    ) -> Recording:
        """Simulate the whole plan."""
        from orchestrator.assembly import assemble
        from orchestrator.run.machine_info import free_bytes
        from orchestrator.terminal.engine_watch import watched_engine

        with watched_engine(resolved):
            if session is not None and (session.cores or 1) > 1:
                return _on_cores(resolved, session, progress)
            spare = SPARE_COMMANDS if session else 0
            return _on_single_core(
                lambda: assemble(resolved, spare=spare, memory=free_bytes()), session, progress
            )

    def run_in_world(
        self, resolved: ResolvedPlan, progress: Report, again: ReusableWorld
    ) -> Recording:
        """Simulate a plan that is run with many seeds, in reused arrays and without live feed."""
        from orchestrator.run.machine_info import free_bytes
        from orchestrator.terminal.engine_watch import watched_engine

        with watched_engine(resolved):
            return _on_single_core(lambda: again.world(resolved, free_bytes()), None, progress)


def _reporting(duration: int, progress: Report) -> Callable[[int], None]:
    """Callback that reports the time that a run has reached."""

    def report(now: int) -> None:
        detail = moment(now / 1e12, duration / 1e12)
        progress(Progress("simulating", now / duration, detail))

    return report


def _on_single_core(
    lay_out: Callable[[], Assembly], session: Session | None, progress: Report
) -> Recording:
    """Simulate a whole world on this core."""
    from orchestrator.assembly import record
    from orchestrator.engine import kernel_guards
    from orchestrator.engine.node.event_loop import simulate
    from orchestrator.run import background_compile
    from orchestrator.run.engine_compile import report_compiling

    with report_compiling(progress):
        assembly = lay_out()
        background_compile.wait_for_compile()
        simulate(assembly.world, 0, 0)
    plan, world = assembly.resolved.plan, assembly.world
    report = _reporting(plan.duration, progress)
    wall, cpu = time.perf_counter(), time.process_time()
    if session is not None:
        _watched(assembly, session, report)
    else:  # the last instant belongs to the run: its row of samples closes the last phase
        while simulate(world, plan.duration + 1, EVENTS_PER_REPORT) == EVENTS_PER_REPORT:
            kernel_guards.refuse_fault()
            assembly.refuse_exhausted()
            report(int(world.clock[0].now))
    assembly.refuse_exhausted()
    return record(
        "simulated",
        [(assembly, list(plan.nodes))],
        cpu_s=time.process_time() - cpu,
        wall_s=time.perf_counter() - wall,
        given_up=session is None,  # a watcher still reads the world's samples
    )


def _on_cores(resolved: ResolvedPlan, session: Session, progress: Report) -> Recording:
    """Simulate the whole plan in as many parts as it pays to cut it into, a core for each."""
    from orchestrator.assembly import assemble, record
    from orchestrator.run.engine_compile import report_compiling
    from orchestrator.run.machine_info import free_bytes
    from orchestrator.targets.parallel.parallel_run import ParallelRun
    from orchestrator.targets.parallel.partitioning import partition

    if session.pace is not None:
        raise BadInput("cores", "a run on several cores keeps no pace; leave one of the two out")
    cut = partition(resolved, session.cores or 1)
    if len(cut) == 1:
        return _on_single_core(lambda: assemble(resolved, memory=free_bytes()), None, progress)
    with report_compiling(progress):
        several = ParallelRun(resolved, cut)
        several.advance(0, 0)
    wall, cpu = time.perf_counter(), time.process_time()
    several.run(_reporting(resolved.plan.duration, progress))
    return record(
        "simulated",
        list(zip(several.assemblies, several.nodes, strict=True)),
        cpu_s=time.process_time() - cpu,
        wall_s=time.perf_counter() - wall,
    )


def _watched(assembly: Assembly, session: Session, report: Callable[[int], None]) -> None:
    """The same loop for a run that is watched: it stops for changes and keeps a pace."""
    from orchestrator.engine import kernel_guards
    from orchestrator.engine.node.event_loop import simulate
    from orchestrator.live.paced_loop import PacedLoop

    def loop(until: int) -> bool:
        done = simulate(assembly.world, until, EVENTS_PER_REPORT) < EVENTS_PER_REPORT
        kernel_guards.refuse_fault()
        assembly.refuse_exhausted()
        return bool(done)

    PacedLoop(assembly, session).drive(loop, report)


@hookimpl
def tailback_targets() -> Iterable[Target]:
    """The simulator."""
    return [Simulated()]


@hookimpl
def tailback_target_options() -> Iterable[type[TargetOptions]]:
    """Options of the simulator."""
    from orchestrator.targets.simulated_options import SimulatedOptions

    return [SimulatedOptions]
